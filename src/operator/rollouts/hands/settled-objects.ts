import { createHash } from "node:crypto";
import type { ReleaseManifest } from "../../../crds/kinds/release-content.ts";
import type { LiveObject } from "./release-api.ts";

/** As many as rollouts that have an account. */
const MAX_KEPT = 256;

/**
 * Objects on which the dry run of a plan changed nothing. While such an object is in the version that it had then, and the
 * same is wished for, the apply would change nothing either, and is left out.
 */
export class SettledObjects {
  readonly #marks = new Map<string, ReadonlyMap<string, string>>();

  /** @param marks by ref */
  planned(rolloutUid: string, marks: ReadonlyMap<string, string>): void {
    if (this.#marks.size >= MAX_KEPT) this.#marks.clear();
    this.#marks.set(rolloutUid, marks);
  }

  isSettled(rolloutUid: string, ref: string, manifest: ReleaseManifest, live: LiveObject | undefined): boolean {
    const mark = this.#marks.get(rolloutUid)?.get(ref);
    return mark !== undefined && live !== undefined && mark === markOf(manifest, live);
  }

  forget(rolloutUid: string): void {
    this.#marks.delete(rolloutUid);
  }
}

/** Of what is wished for, and of what is there. */
export function markOf(manifest: ReleaseManifest, { metadata }: LiveObject): string {
  const text = JSON.stringify([manifest, metadata.uid, metadata.resourceVersion]);
  return createHash("sha256").update(text).digest("hex");
}
