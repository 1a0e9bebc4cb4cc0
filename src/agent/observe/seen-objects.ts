import { DEPLOYMENT_ID_LABEL, RESOURCE_ID_LABEL } from "../../crds/release-names.ts";
import type { Health } from "../../kube/workload-state/words.ts";
import { OBSERVED, OBSERVED_KINDS } from "../kernel/observed-kinds.ts";
import type { ListState, ResourceMetrics } from "../kernel/resource-metrics.ts";
import { count as countOf, imageName } from "../kernel/told-words.ts";
import type { ListOfKind, ReleaseMember, Seen } from "./summary.ts";
import type { Workload } from "./workload.ts";

const MAX_IMAGE_BYTES = 1_000;

/** An object that a release has installed. */
export type SeenMember = Seen & { readonly member: ReleaseMember };

/** Every object that is told, of the served namespaces, as it was last seen. */
export class SeenObjects {
  readonly #metrics: Pick<ResourceMetrics, "resources" | "collection">;
  readonly #seen = new Map<string, Seen>();

  constructor(metrics: Pick<ResourceMetrics, "resources" | "collection">) {
    this.#metrics = metrics;
  }

  set(key: string, seen: Seen): void {
    this.#seen.set(key, seen);
  }

  delete(key: string): void {
    this.#seen.delete(key);
  }

  in(namespaces: readonly string[]): readonly Seen[] {
    return [...this.#seen.values()].filter(({ namespace }) => namespaces.includes(namespace));
  }

  /** By their labels, which others could write as well: only in namespaces that the deployment is accepted for. */
  membersOf(deploymentId: string, namespaces: readonly string[]): readonly SeenMember[] {
    return this.in(namespaces).flatMap((seen) => {
      const { member } = seen;
      return member?.deploymentId === deploymentId ? [{ ...seen, member }] : [];
    });
  }

  forgetAllBut(served: ReadonlySet<string>): void {
    for (const [key, { namespace }] of this.#seen) if (!served.has(namespace)) this.#seen.delete(key);
  }

  /** @param lists of the served namespaces */
  measure(lists: readonly ListOfKind[]): void {
    const healths = new Map<string, Partial<Record<Health, number>>>();
    const states = new Map<string, Partial<Record<ListState, number>>>();
    for (const { kind, health } of this.#seen.values()) count(healths, kind, health);
    for (const { kind, state } of lists) count(states, kind, state);
    for (const kind of OBSERVED_KINDS) {
      this.#metrics.resources(kind, healths.get(kind) ?? {});
      this.#metrics.collection(kind, states.get(kind) ?? {});
    }
  }
}

function count<W extends string>(map: Map<string, Partial<Record<W, number>>>, kind: string, word: W): void {
  const found: Partial<Record<W, number>> = map.get(kind) ?? {};
  found[word] = (found[word] ?? 0) + 1;
  map.set(kind, found);
}

/** @param workload with the names under which it is told */
export function memberOf({ kind, metadata, counts, images }: Workload): ReleaseMember | undefined {
  const { [DEPLOYMENT_ID_LABEL]: deploymentId, [RESOURCE_ID_LABEL]: resourceId } = metadata.labels;
  if (deploymentId === undefined || resourceId === undefined || !OBSERVED[kind].beats) return undefined;
  const [image] = images;
  const { desired, ready } = counts;
  return {
    ...{ deploymentId, resourceId },
    replicas: desired === undefined ? undefined : countOf(desired),
    ready: ready === undefined ? undefined : countOf(ready),
    image: image === undefined ? undefined : imageName(image, MAX_IMAGE_BYTES),
  };
}
