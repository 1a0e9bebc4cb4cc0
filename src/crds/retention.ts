import type { MachineDrain } from "./kinds/machine-drain.ts";
import type { MachineJoin } from "./kinds/machine-join.ts";

/** How long machine joins and drains that came to nothing more are kept, for people to look up. */
export const ENDED_KEPT_MS = 7 * 86_400_000;

/** When an object that has ended last said something. */
export function endedAt({ metadata, status }: Pick<MachineDrain | MachineJoin, "metadata" | "status">): Date {
  const told = (status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime);
  return new Date([metadata.creationTimestamp, ...told].toSorted((a, b) => Date.parse(b) - Date.parse(a))[0] ?? "");
}

/** How far the clock that a drain's start was read from may be behind the API server's, with which nodes and pods are born. */
const SKEW_MS = 30_000;

/** Whether a node or a pod came to be after a drain had begun. */
export function isBornAfter(startedAt: string, bornAt: string): boolean {
  return Date.parse(bornAt) > Date.parse(startedAt) + SKEW_MS;
}

/**
 * Whether a drain was over, or at least begun, before the node that is there came to be: it was of an earlier one of that name, and what it did
 * says nothing about this one.
 *
 * @param bornAt when the node that is there, or the machine that is to become it, came to be
 */
export function isOfEarlierNode(drain: Pick<MachineDrain, "metadata" | "status">, bornAt: string | undefined): boolean {
  const isOver = drain.status?.state === "Drained" || drain.status?.state === "Failed";
  if (!isOver || bornAt === undefined) return false;
  const { startedAt } = drain.status ?? {};
  return endedAt(drain).getTime() < Date.parse(bornAt) || (startedAt !== undefined && isBornAfter(startedAt, bornAt));
}
