import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { timestamp } from "../../kube/objects/conditions.ts";

/** `[from, until)`: nothing starts at `until`, not even in the same millisecond. */
export interface GrantWindow {
  readonly from: Date;
  readonly until: Date;
}

type Decided = Pick<AccessGrant, "spec" | "status">;

/**
 * The window that status shows, as far as spec bears it out. Undefined: none was opened yet, or what is there makes no
 * sense. A forged end beyond the approved minutes counts as the approved minutes.
 */
export function openedWindow({ spec, status }: Decided): GrantWindow | undefined {
  if (spec.approvedForMinutes === undefined || status?.approvedAt === undefined) return undefined;
  const from = Date.parse(status.approvedAt);
  const longest = from + spec.approvedForMinutes * 60_000;
  const until = status.approvedUntil === undefined ? longest : Math.min(Date.parse(status.approvedUntil), longest);
  // Written so that an unreadable instant fails: no comparison with NaN is true.
  if (!(from < until && from <= Date.parse(spec.decideBefore))) return undefined;
  return { from: new Date(from), until: new Date(until) };
}

/**
 * The window of an approval that is seen for the first time at `now`. Computed once: afterwards it is read back, so
 * that no restart, no edit and no changed policy moves it.
 */
export function newWindow(
  { spec, status }: Decided,
  maxMinutes: number | undefined,
  now: Date,
): GrantWindow | undefined {
  if (spec.approvedForMinutes === undefined) return undefined;
  const minutes = Math.min(spec.approvedForMinutes, maxMinutes ?? Number.POSITIVE_INFINITY);
  // Whole seconds, as Kubernetes writes times, so that the stored window is the computed one.
  const from = new Date(status?.approvedAt ?? timestamp(now));
  return { from, until: new Date(from.getTime() + minutes * 60_000) };
}

/** Whether a decision first seen at `now` comes too late. At the very instant of `decideBefore` it is still in time. */
export function isTooLate({ spec }: Decided, now: Date): boolean {
  return !(now.getTime() <= Date.parse(spec.decideBefore));
}
