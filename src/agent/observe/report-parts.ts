import type {
  ObservedInventoryBatch,
  ObservedResource,
  RemovedHeartbeat,
  ResourceHeartbeat,
} from "../../contract/resources/resource-heartbeat.ts";
import type { ResourceLevel } from "../../contract/resources/resource-level.ts";
import type { Ledger, Pending, ToldScope } from "./ledger.ts";
import type { Turns } from "./turns.ts";

/** One call of `sync/reconcile` carries one of these. */
export interface ReportPart {
  readonly resourceHeartbeats: readonly ResourceHeartbeat[];
  readonly removedHeartbeats: readonly RemovedHeartbeat[];
  readonly observedInventoryBatches: readonly ObservedInventoryBatch[];
  /** With the last part alone. */
  readonly resourceLevel?: ResourceLevel;
  /** What the ledger takes for told once this part is. */
  readonly changes: readonly Pending[];
  readonly scopes: readonly ToldScope[];
}

/** Nothing of resources: the deployment's state alone. */
export const EMPTY_PART: ReportPart = {
  ...{ resourceHeartbeats: [], removedHeartbeats: [], observedInventoryBatches: [] },
  ...{ changes: [], scopes: [] },
};

// Bounds of the contract (§11.6), and of a body: 1 MiB with room for the rest of the call.
const MAX_HEARTBEATS = 100;
const MAX_BATCHES = 20;
const MAX_ROWS = 500;
const MAX_PART_BYTES = 786_432;

interface Draft {
  resourceHeartbeats: ResourceHeartbeat[];
  removedHeartbeats: RemovedHeartbeat[];
  observedInventoryBatches: ObservedInventoryBatch[];
  changes: Pending[];
  scopes: ToldScope[];
}

const emptyDraft = (): Draft => ({
  resourceHeartbeats: [],
  removedHeartbeats: [],
  observedInventoryBatches: [],
  changes: [],
  scopes: [],
});

/**
 * What the ledger has to tell, cut into calls that the platform takes; the caller adds the level to the last one.
 *
 * @param full all lists whole, so that what they do not name is removed.
 */
export async function reportParts(
  ledger: Ledger,
  scopes: readonly string[],
  { full, observedAt }: { readonly full: boolean; readonly observedAt: string },
  turns: Pick<Turns, "next">,
): Promise<readonly Draft[]> {
  let part = emptyDraft();
  let bytes = 0;
  const all = [part];
  const makeRoom = (size: number, taken: number, bound: number): void => {
    if (taken < bound && (bytes === 0 || bytes + size <= MAX_PART_BYTES)) return;
    part = emptyDraft();
    bytes = 0;
    all.push(part);
  };
  const pending = ledger.pending();
  for (const change of pending) {
    if (change.is !== "heartbeat") continue;
    const { id: resourceId, resourceType, heartbeat } = change;
    const size = sizeOf(heartbeat ?? { resourceType, resourceId });
    makeRoom(size, Math.max(part.resourceHeartbeats.length, part.removedHeartbeats.length), MAX_HEARTBEATS);
    bytes += size;
    if (heartbeat === undefined) part.removedHeartbeats.push({ resourceType, resourceId });
    else part.resourceHeartbeats.push(heartbeat);
    part.changes.push(change);
    await turns.next();
  }
  const untold = new Set(full ? scopes : ledger.untoldScopes());
  for (const [scope, changes] of byScope(pending, untold)) {
    const cuts = await cut(changes, turns);
    const isWhole = full || ledger.isToldWhole(scope);
    for (const [index, rows] of cuts.entries()) {
      const resources = rows.flatMap(({ row }) => row ?? []);
      const batch: ObservedInventoryBatch = {
        ...{ sourceKind: "operator", inventoryScope: scope, controllerPlatform: "kubernetes", backend: "kubernetes" },
        ...{ observedAt, complete: ledger.isComplete(scope), resources },
        ...(isWhole
          ? { part: { index, count: cuts.length } }
          : { mode: "delta", removed: rows.filter(({ row }) => row === undefined).map(({ id }) => id) }),
      };
      const size = sizeOf(batch);
      makeRoom(size, part.observedInventoryBatches.length, MAX_BATCHES);
      bytes += size;
      part.observedInventoryBatches.push(batch);
      part.changes.push(...rows);
      part.scopes.push({ name: scope, complete: batch.complete });
      await turns.next();
    }
  }
  return all;
}

type RowChange = Extract<Pending, { is: "row" }>;

/** Scopes without a change have an entry too when they have to be told. */
function byScope(pending: readonly Pending[], untold: ReadonlySet<string>): ReadonlyMap<string, readonly RowChange[]> {
  const found = new Map<string, RowChange[]>([...untold].map((scope) => [scope, []]));
  for (const change of pending) {
    if (change.is !== "row") continue;
    const known = found.get(change.scope);
    if (known === undefined) found.set(change.scope, [change]);
    else known.push(change);
  }
  return found;
}

/** At least one cut: an empty list is told as one. Each is within the rows and within the bytes of a call. */
async function cut(
  changes: readonly RowChange[],
  turns: Pick<Turns, "next">,
): Promise<readonly (readonly RowChange[])[]> {
  const cuts: RowChange[][] = [[]];
  let bytes = 0;
  for (const change of changes) {
    const size = sizeOf<ObservedResource | string>(change.row ?? change.id);
    const last = cuts.at(-1) ?? [];
    if (last.length >= MAX_ROWS || (last.length > 0 && bytes + size > MAX_PART_BYTES / 2)) {
      cuts.push([change]);
      bytes = size;
    } else {
      last.push(change);
      bytes += size;
    }
    await turns.next();
  }
  return cuts;
}

function sizeOf<T extends object | string>(value: T): number {
  return Buffer.byteLength(JSON.stringify(value));
}
