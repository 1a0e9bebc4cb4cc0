/** With the shipped limit of 384 MiB, which gives Node.js a heap of 312, 53,000 pods: 50,000 were measured to fit (docs/benchmarks.md). */
const PODS_A_MEBIBYTE = 170;
/** More would be more than one agent was made for. */
export const MOST_PODS = 200_000;

/** How many pods an agent holds, by what Node.js may use. */
export function podsFor(heapBytes: number): number {
  return Math.min(MOST_PODS, Math.floor((heapBytes / 2 ** 20) * PODS_A_MEBIBYTE));
}
