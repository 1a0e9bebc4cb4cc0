import type { Pod } from "../projection/shapes.ts";

/**
 * The counters of one Pod's containers at one time. A counter's height says nothing, because it grows for as long as
 * the Pod lives; two observations give a rate.
 */
export interface PodObservation {
  readonly at: Date;
  readonly restarts: ReadonlyMap<string, number>;
}

/** Over which restarts are counted. */
export const RESTART_WINDOW_MS = 600_000;
/** In {@link RESTART_WINDOW_MS}, of one container. */
const MAX_RESTARTS = 3;

export function observePod({ status }: Pod, at: Date): PodObservation {
  const all = [...status.initContainerStatuses, ...status.containerStatuses];
  return { at, restarts: new Map(all.map(({ name, restartCount }) => [name, restartCount])) };
}

/**
 * The most restarts of one container since the earlier observation, when they are three or more in ten minutes. Over a
 * longer time the rate counts.
 */
export function restartsSince(
  before: PodObservation,
  pod: Pod,
  now: Date,
): { readonly restarts: number; readonly ms: number } | undefined {
  const ms = now.getTime() - before.at.getTime();
  if (!(ms > 0)) return undefined;
  let most = 0;
  for (const [name, count] of observePod(pod, now).restarts) {
    most = Math.max(most, count - (before.restarts.get(name) ?? 0));
  }
  const inWindow = ms <= RESTART_WINDOW_MS ? most : (most * RESTART_WINDOW_MS) / ms;
  return inWindow >= MAX_RESTARTS ? { restarts: most, ms } : undefined;
}
