import { contentDigest } from "../../crds/content-digest.ts";
import type { ReleaseObject } from "../../crds/kinds/release-content.ts";
import type { Intent, Planned, Pruned, WaveApplied, WaveHealth } from "../rollouts/hands/hands.ts";
import { refOf } from "../rollouts/release-rules.ts";

/** How an object behaves in the fake cluster. */
export type Behaviour = "good" | "unhealthy" | "refused" | "busy" | "kept" | "stuck";

export interface ObjectSketch {
  readonly wave?: number;
  readonly frozen?: boolean;
  readonly namespace?: string;
  readonly is?: Behaviour;
  /** Makes two versions of an object differ. */
  readonly version?: string;
}

export function line(name: string, sketch: ObjectSketch = {}): ReleaseObject {
  const { wave = 0, frozen = false, namespace = "shop", is = "good", version = "1" } = sketch;
  const manifest = {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace } },
    spec: { is, version },
  };
  return { wave, frozen, resourceId: name, manifest };
}

/** Objects of a cluster, each with its own behaviour, and what a rollout does to them. */
export class ReleaseCluster {
  /** By ref. */
  readonly objects = new Map<string, { readonly line: ReleaseObject; readonly isOurs: boolean }>();
  /** Looks at a gate before it says more than `waiting`. */
  slowness = 1;
  readonly #looks = new Map<string, number>();

  /** What is there under our labels, as `name=version`. */
  get installed(): readonly string[] {
    const ours = [...this.objects.values()].filter(({ isOurs }) => isOurs);
    return ours.map(({ line: { manifest } }) => `${manifest.metadata.name}=${versionOf(manifest)}`).sort();
  }

  plan(intent: Intent): Planned {
    const refs = new Set(intent.objects.map(({ manifest }) => refOf(manifest)));
    const created = [...refs].filter((ref) => !this.objects.has(ref));
    const pruned = intent.former.map(({ manifest }) => refOf(manifest)).filter((ref) => !refs.has(ref));
    const problems = intent.objects
      .filter(({ manifest }) => !intent.namespaces.includes(manifest.metadata.namespace ?? ""))
      .map(({ manifest }) => ({ ref: refOf(manifest), message: "not accepted there, password=hunter2" }));
    const theirs = intent.objects
      .filter(({ manifest }) => this.objects.get(refOf(manifest))?.isOurs === false)
      .filter(({ manifest }) => !intent.takeOver.some(({ name }) => name === manifest.metadata.name))
      .map(({ manifest }) => ({ ref: refOf(manifest), message: "NotOurs", isAdoptable: true }));
    const awaitsTakeOver = theirs.length > 0 && problems.length === 0;
    const counts = { create: created.length, change: refs.size - created.length, prune: pruned.length, unchanged: 0 };
    const text = [contentDigest(intent.objects), intent.rollout.spec.action, ...created, "-", ...pruned].join(" ");
    const plannedDigest = contentDigest([{ wave: 0, frozen: false, resourceId: text, manifest: {} as never }]);
    return { plan: counts, plannedDigest, problems: [...problems, ...theirs], awaitsTakeOver };
  }

  apply({ objects, formerRef }: Intent, wave: number, half: boolean): WaveApplied {
    const lines = objects.filter((each) => each.wave === wave);
    const failures: { ref: string; message: string; isTemporary: boolean }[] = [];
    for (const each of half ? lines.slice(0, Math.floor(lines.length / 2)) : lines) {
      const ref = refOf(each.manifest);
      if (each.frozen && formerRef !== undefined && this.objects.has(ref)) continue;
      const is = behaviourOf(each);
      const isBusy = is === "busy" && this.#look(`busy ${ref}`) < 2;
      if (is === "refused" || isBusy) failures.push({ ref, message: `webhook says ${is}`, isTemporary: isBusy });
      else this.objects.set(ref, { line: each, isOurs: true });
    }
    return { created: lines.length, changed: 0, unchanged: 0, overrides: [], failures };
  }

  health(round: string, { objects }: Intent, wave: number): WaveHealth {
    const looks = this.#look(`${round} ${wave}`);
    if (looks < this.slowness) return { verdict: "waiting" as const, resources: [], againMs: 2_000 };
    const isBad = objects.some((each) => each.wave === wave && behaviourOf(each) === "unhealthy");
    if (isBad) return { verdict: "failed" as const, message: "ImagePullBackOff", resources: [], againMs: 2_000 };
    return { verdict: "healthy" as const, resources: [], againMs: 2_000 };
  }

  prune({ objects, former, unfinished }: Intent, half: boolean): Pruned {
    const kept = new Set(objects.map(({ manifest }) => refOf(manifest)));
    const going = former.filter(({ manifest }) => !kept.has(refOf(manifest)));
    const left: { ref: string; message: string }[] = [];
    let deleted = 0;
    for (const each of half ? going.slice(0, 1) : going) {
      const ref = refOf(each.manifest);
      if (this.objects.get(ref)?.isOurs !== true) continue;
      const isOfSetup = each.frozen && unfinished?.refs.has(ref) !== true;
      if (isOfSetup || behaviourOf(each) === "kept") left.push({ ref, message: "it is kept" });
      else if (behaviourOf(each) === "stuck") return { deleted, waiting: 1, left };
      else if (this.objects.delete(ref)) deleted += 1;
    }
    return { deleted, waiting: 0, left };
  }

  detach(lines: readonly ReleaseObject[]): WaveApplied {
    for (const each of lines) this.objects.set(refOf(each.manifest), { line: each, isOurs: false });
    return { created: 0, changed: lines.length, unchanged: 0, overrides: [], failures: [] };
  }

  #look(key: string): number {
    const looks = this.#looks.get(key) ?? 0;
    this.#looks.set(key, looks + 1);
    return looks;
  }
}

function behaviourOf({ manifest }: ReleaseObject): string {
  return String((manifest.spec as { is?: unknown } | undefined)?.is);
}

function versionOf({ spec }: ReleaseObject["manifest"]): string {
  return String((spec as { version?: unknown } | undefined)?.version);
}
