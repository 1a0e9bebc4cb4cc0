/** What the pods of a node ask for: milli CPU, bytes of memory, bytes of storage, and how many pods there are. */
export type Load = readonly [milliCpu: number, memory: number, storage: number, pods: number];

/** As the machine controller writes it: `{"m-1":[1500,268435456,0,12]}`. What is not that is left out. */
export function readLoads(text: string): readonly (readonly [nodeName: string, load: Load])[] {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return [];
  }
  if (typeof found !== "object" || found === null) return [];
  return Object.entries(found).flatMap(([name, load]) => (isLoad(load) ? [[name, load] as const] : []));
}

function isLoad(load: unknown): load is Load {
  return (
    Array.isArray(load) &&
    load.length === 4 &&
    load.every((amount) => typeof amount === "number" && Number.isFinite(amount) && amount >= 0) &&
    Number.isInteger(load[3])
  );
}
