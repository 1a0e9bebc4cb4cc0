import type { ListState } from "./resource-metrics.ts";

/** All that is known of a list, of one kind in one namespace or of the nodes. */
export interface ListFacts {
  /** False: the agent was not told to read this namespace, or this kind. */
  readonly isOpened: boolean;
  /** By the agent's own look at its rights: a watch that is open goes on for minutes after a right was taken. */
  readonly mayRead: boolean;
  /** There are more objects than the agent holds. */
  readonly isTooLarge?: boolean;
  /** The server has answered that the agent may not, and nothing else since. */
  readonly isRefused: boolean;
  readonly isSynced: boolean;
  /** When the server last said that the cache is what it has; undefined: not yet. */
  readonly currentAtMs: number | undefined;
}

/** As long as the platform takes a report for fresh. Three bookmarks of the server, and more than one broken watch, fit in. */
export const STALE_AFTER_MS = 180_000;

/**
 * What the agent can see of a list. Pure. Without the last rule a watch that the server has refused for an hour, for other
 * reasons than rights, would be confirmed to the platform as observed now.
 */
export function listStateOf(facts: ListFacts, nowMs: number): ListState {
  const { isOpened, mayRead, isRefused, isTooLarge = false, isSynced, currentAtMs } = facts;
  if (!isOpened || !mayRead || isRefused) return "unreadable";
  if (isTooLarge) return "too-large";
  if (!isSynced || currentAtMs === undefined) return "starting";
  return nowMs - currentAtMs > STALE_AFTER_MS ? "stale" : "read";
}
