import type {
  ObservedInventoryBatch,
  ObservedResource,
  RemovedHeartbeat,
  ResourceHeartbeat,
} from "../../contract/resources/resource-heartbeat.ts";
import type { ResourceLevel } from "../../contract/resources/resource-level.ts";
import type { Pending } from "./changes.ts";
import type { Ledger, ToldScope } from "./ledger.ts";
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
  ledger: Ledger<unknown>,
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
  // Of a list that is told whole, what is not in it goes; else what is gone has calls before all others, to make room.
  const isWhole = (scope: string): boolean => full || ledger.isToldWhole(scope);
  const isFirst = (change: Pending): boolean => isGone(change) && !isWhole(change.scope);
  const gone = pending.filter(isFirst);
  const rest = pending.filter((change) => !isFirst(change));
  for (const [scope, changes] of [...byScope(gone, new Set()), ...byScope(rest, untold)]) {
    const cuts = await cut(changes, turns);
    for (const [index, rows] of cuts.entries()) {
      const resources = rows.flatMap(({ row }) => row ?? []);
      const batch: ObservedInventoryBatch = {
        ...{ sourceKind: "operator", inventoryScope: scope, controllerPlatform: "kubernetes", backend: "kubernetes" },
        ...{ observedAt, complete: ledger.isComplete(scope), resources },
        ...(isWhole(scope)
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

function isGone(change: Pending): change is RowChange {
  return change.is === "row" && change.row === undefined;
}

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

/** Where the platform says that a part of a report is wrong. */
const HEARTBEAT = /^body\.resourceHeartbeats\.(\d+)(\.|$)/;
const ROW = /^body\.observedInventoryBatches\.(\d+)\.resources\.(\d+)(\.|$)/;

/** The changes of a part that an answer names as wrong. @param issues of the platform's error object. */
export function refusedIn(part: ReportPart, issues: unknown): readonly Pending[] {
  const wrong = new Set<unknown>();
  for (const each of Array.isArray(issues) ? issues : []) {
    const path = String((each as { readonly path?: unknown } | null)?.path ?? "");
    const [, heartbeat] = HEARTBEAT.exec(path) ?? [];
    if (heartbeat !== undefined) wrong.add(part.resourceHeartbeats[Number(heartbeat)]);
    const [, batch, row] = ROW.exec(path) ?? [];
    if (row !== undefined) wrong.add(part.observedInventoryBatches[Number(batch)]?.resources[Number(row)]);
  }
  wrong.delete(undefined);
  return part.changes.filter((change) => wrong.has(change.is === "row" ? change.row : change.heartbeat));
}

export function withoutRefused(part: ReportPart, refused: readonly Pending[]): ReportPart {
  const wrong = new Set<unknown>(refused.map((change) => (change.is === "row" ? change.row : change.heartbeat)));
  return {
    ...part,
    resourceHeartbeats: part.resourceHeartbeats.filter((each) => !wrong.has(each)),
    observedInventoryBatches: part.observedInventoryBatches.map((batch) => ({
      ...batch,
      resources: batch.resources.filter((each) => !wrong.has(each)),
    })),
    changes: part.changes.filter((change) => !refused.includes(change)),
  };
}
