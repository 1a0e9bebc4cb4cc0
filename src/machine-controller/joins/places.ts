import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { holdsPlace, isRefused } from "./decide-join.ts";

/** Joins that were let in before the cache shows it; the oldest is forgotten beyond it. */
const MAX_TAKEN = 4_096;

/**
 * Places of pools and names of nodes that are taken. The cache shows an approval a moment late: two joins that are
 * looked at within that moment must not both get a pool's last place, so each is noted here before it is written. A
 * note outlives a write that failed: its join is still the one that takes the place when it is tried again.
 */
export class Places {
  readonly #taken = new Map<string, string>();

  take({ metadata, spec }: MachineJoin): void {
    this.#taken.set(metadata.uid, spec.pool);
    const [oldest] = this.#taken.keys();
    if (this.#taken.size > MAX_TAKEN && oldest !== undefined) this.#taken.delete(oldest);
  }

  takenWithout(join: MachineJoin, joins: Iterable<MachineJoin>): number {
    let taken = 0;
    for (const other of joins) {
      const isOther = other.metadata.uid !== join.metadata.uid && other.spec.pool === join.spec.pool;
      if (isOther && this.#holds(other)) taken += 1;
    }
    return taken;
  }

  /** Who has the name: a join that holds a place, one whose machine may still have a certificate of it, else the oldest that asks. */
  rivalOf(join: MachineJoin, joins: Iterable<MachineJoin>): MachineJoin | undefined {
    let rival: MachineJoin | undefined;
    for (const other of joins) {
      if (other.metadata.uid === join.metadata.uid || other.spec.nodeName !== join.spec.nodeName) continue;
      const state = other.status?.state ?? "Waiting";
      if (isRefused(other) || this.#holds(other)) return other;
      const isFirst = state === "Waiting" && (rival === undefined || isBefore(other, rival));
      if (isFirst && isBefore(other, join)) rival = other;
    }
    return this.#holds(join) ? undefined : rival;
  }

  #holds(join: MachineJoin): boolean {
    const { state } = join.status ?? {};
    if (state === "Denied" || state === "Expired" || state === "Removed") {
      this.#taken.delete(join.metadata.uid);
      return false;
    }
    return holdsPlace(join) || this.#taken.has(join.metadata.uid);
  }
}

function isBefore({ metadata: one }: MachineJoin, { metadata: other }: MachineJoin): boolean {
  if (one.creationTimestamp !== other.creationTimestamp) return one.creationTimestamp < other.creationTimestamp;
  return one.name < other.name;
}
