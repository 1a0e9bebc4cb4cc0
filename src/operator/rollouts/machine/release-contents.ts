import { contentDigest } from "../../../crds/content-digest.ts";
import type { ReleaseContent, ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { ReadContent } from "./intent.ts";
import type { ContentRef } from "./trail.ts";

/** A content may have 900 KiB. */
const MAX_KEPT = 4;

/**
 * Contents as they are applied: from the API server itself, and with their digest computed from what it has stored. One
 * that was exchanged after the approval has another digest.
 */
export class ReleaseContents {
  readonly #read: (name: string, signal: AbortSignal) => Promise<ReleaseContent | undefined>;
  /** The last ones, by name and digest, for looks between two writes: a gate asks every few seconds. */
  readonly #kept = new Map<string, readonly ReleaseObject[]>();

  /** @param read from the API server */
  constructor(read: (name: string, signal: AbortSignal) => Promise<ReleaseContent | undefined>) {
    this.#read = read;
  }

  /** @param isFresh false: one that was read before will do */
  async read(ref: ContentRef, deploymentId: string, isFresh: boolean, signal: AbortSignal): Promise<ReadContent> {
    const { name, digest } = ref;
    const key = `${deploymentId} ${name} ${digest}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined && !isFresh) return { name, digest, objects: kept };
    this.#kept.delete(key);
    const content = await this.#read(name, signal);
    if (content === undefined) return problem(ref, "ContentMissing", `there is no content ${name}`);
    if (content.spec.deploymentId !== deploymentId) {
      return problem(ref, "ContentChanged", `content ${name} is of another deployment`);
    }
    const { objects } = content.spec;
    if (contentDigest(objects) !== digest) {
      return problem(ref, "ContentChanged", `content ${name} does not have the digest that was asked for`);
    }
    this.#kept.set(key, objects);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return { name, digest, objects };
  }
}

function problem(
  { name, digest }: ContentRef,
  reason: "ContentMissing" | "ContentChanged",
  message: string,
): ReadContent {
  return { name, digest, objects: [], problem: { reason, message } };
}
