import type { Requests } from "../drains/shapes.ts";

/** What a load is counted from. */
interface LoadedPod {
  readonly spec: { readonly nodeName: string; readonly containers: Requests };
  readonly status: { readonly phase: string };
}

/** As the agent reads it: cores in thousandths, bytes of memory, bytes of storage, pods. */
type Load = readonly [milliCpu: number, memory: number, storage: number, pods: number];

/** Nodes in one ConfigMap: far below its MiB, and few enough that a change rewrites little. */
const NODES_A_PAGE = 500;

/**
 * What the pods of each node ask for together, those that are over left out. Of a pod its containers count, as the
 * scheduler counts them; one whose init containers ask for more is counted too low.
 */
export function loadsOf(pods: Iterable<LoadedPod>): ReadonlyMap<string, Load> {
  const loads = new Map<string, Load>();
  for (const { spec, status } of pods) {
    if (spec.nodeName === "" || status.phase === "Succeeded" || status.phase === "Failed") continue;
    const [milliCpu, memory, storage, count] = loads.get(spec.nodeName) ?? [0, 0, 0, 0];
    const { containers: asked } = spec;
    const sums = [milliCpu + asked.milliCpu, memory + asked.memory, storage + asked.storage] as const;
    loads.set(spec.nodeName, [...sums, count + 1]);
  }
  return loads;
}

/** The texts of the ConfigMaps, by node's name, so that the same loads are always the same texts. */
export function pagesOf(loads: ReadonlyMap<string, Load>): readonly string[] {
  const sorted = [...loads].sort(([one], [other]) => (one < other ? -1 : 1));
  const rounded = sorted.map(([name, load]) => [name, load.map((amount) => Math.round(amount))] as const);
  return Array.from({ length: Math.ceil(rounded.length / NODES_A_PAGE) }, (_, index) =>
    JSON.stringify(Object.fromEntries(rounded.slice(index * NODES_A_PAGE, (index + 1) * NODES_A_PAGE))),
  );
}
