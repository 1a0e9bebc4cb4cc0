import type {
  ObservedResource,
  ResourceHeartbeat,
  ResourceStatus,
} from "../../contract/resources/resource-heartbeat.ts";
import { digestOf, heartbeatHash, type ResourceLevel, rowHash } from "../../contract/resources/resource-level.ts";
import { HEALTHS } from "../../kube/workload-state/words.ts";
import { hashWithoutUsage } from "../lookups/pod-usage.ts";

export type Health = ResourceStatus["health"];

/** One workload as it is told: a row, and a heartbeat while there is room for one. */
export interface Observation {
  readonly row: ObservedResource;
  /** Undefined: this object can have none. */
  readonly heartbeat: ResourceHeartbeat | undefined;
}

/** What waits to be told of one object; undefined parts are gone. */
export type Pending =
  | { readonly is: "row"; readonly scope: string; readonly id: string; readonly row: ObservedResource | undefined }
  | {
      readonly is: "heartbeat";
      readonly id: string;
      readonly resourceType: string;
      readonly heartbeat: ResourceHeartbeat | undefined;
    };

/** A list as a part of a report told it. */
export interface ToldScope {
  readonly name: string;
  readonly complete: boolean;
}

interface Scope {
  complete: boolean;
  /** Whether the platform was told so. */
  toldComplete: boolean | undefined;
  /** To be told whole, not as changes. */
  isWhole: boolean;
  /** Of each row: what it is, and what the platform was sent. */
  readonly rows: Map<string, { hash: bigint; health: Health; sent: bigint | undefined }>;
  joined: bigint;
  sent: number;
}

interface KnownHeartbeat {
  readonly hash: bigint;
  /** Without cpu and memory. */
  readonly stable: bigint;
  readonly rank: number;
  readonly type: string;
  sent: bigint | undefined;
}

/** Resources with a heartbeat of their own; beyond, the worst have one and the inventory has them all. */
const MAX_HEARTBEATS = 500;

/** 0 is the worst. */
export const severityOf = (health: Health): number => HEALTHS.indexOf(health);

/**
 * What the platform has been told of one deployment, as hashes, and what waits to be told. In memory: after a restart it is
 * empty, and the first report is full.
 */
export class Ledger {
  readonly #scopes = new Map<string, Scope>();
  readonly #heartbeats = new Map<string, KnownHeartbeat>();
  readonly #pending = new Map<string, Pending>();
  #joined = 0n;
  #sentHeartbeats = 0;

  /** Changes that wait, worst first. */
  pending(): readonly Pending[] {
    return [...this.#pending.values()].toSorted((a, b) => rankOf(a) - rankOf(b));
  }

  get waiting(): number {
    return this.#pending.size;
  }

  /** Lists whose completeness the platform does not know yet. */
  untoldScopes(): readonly string[] {
    const untold = [...this.#scopes].filter(([, scope]) => scope.complete !== scope.toldComplete || scope.isWhole);
    return untold.map(([name]) => name);
  }

  isComplete(scope: string): boolean {
    return this.#scopes.get(scope)?.complete ?? false;
  }

  /** A list as it stands: complete, or refused. Without this the list does not exist. */
  scope(name: string, complete: boolean): void {
    const known = this.#scopes.get(name);
    if (known === undefined) {
      this.#scopes.set(name, {
        complete,
        toldComplete: undefined,
        isWhole: false,
        rows: new Map(),
        joined: 0n,
        sent: 0,
      });
      return;
    }
    if (complete && !known.complete) {
      // What went from it before is not known, also what went before this ledger was made: it is told whole.
      known.rows.clear();
      known.joined = 0n;
      known.sent = 0;
      known.isWhole = true;
    }
    known.complete = complete;
  }

  /** Whether the list is complete again, and the platform has not got it yet. */
  isToldWhole(name: string): boolean {
    const scope = this.#scopes.get(name);
    return scope?.isWhole === true && scope.complete;
  }

  /** @returns whether the object is worse than it was known to be; a new one that is well is not. */
  observe(scopeName: string, { row, heartbeat }: Observation): boolean {
    const scope = this.#scopeOf(scopeName);
    const hash = rowHash({ sourceKind: "operator", inventoryScope: scopeName }, row);
    const known = scope.rows.get(row.rawIdentity);
    const isWorse = severityOf(row.health) < severityOf(known?.health ?? "healthy");
    if (known?.hash !== hash) {
      scope.rows.set(row.rawIdentity, { hash, health: row.health, sent: known?.sent });
      this.#wait({ is: "row", scope: scopeName, id: row.rawIdentity, row });
    }
    if (heartbeat !== undefined) this.beat(heartbeat, importanceOf(row));
    return isWorse;
  }

  /** The object is gone. */
  forget(scopeName: string, rawIdentity: string, resourceId: string): void {
    const scope = this.#scopeOf(scopeName);
    const known = scope.rows.get(rawIdentity);
    scope.rows.delete(rawIdentity);
    const change: Pending = { is: "row", scope: scopeName, id: rawIdentity, row: undefined };
    if (known?.sent === undefined) this.#pending.delete(keyOf(change));
    else {
      scope.joined ^= known.sent;
      scope.sent -= 1;
      this.#wait(change);
    }
    this.#endHeartbeat(resourceId);
  }

  /**
   * What is sent counts as told from before the answer: a level goes with the last part. A part that fails stays pending,
   * and is sent again before the next level.
   */
  sending(changes: readonly Pending[]): void {
    for (const change of changes) {
      if (change.is === "heartbeat") this.#sendingHeartbeat(change.id);
      else if (change.row !== undefined) this.#sendingRow(change.scope, change.id);
    }
  }

  /** The platform has stored them. */
  acknowledge(changes: readonly Pending[], scopes: readonly ToldScope[]): void {
    for (const { name, complete } of scopes) this.#told(name, complete);
    for (const change of changes) {
      const key = keyOf(change);
      if (this.#pending.get(key) === change) this.#pending.delete(key);
    }
  }

  /** The platform does not take them as they are: they are not told until they are others. */
  refused(changes: readonly Pending[]): void {
    for (const change of changes) {
      this.#pending.delete(keyOf(change));
      if (change.is === "heartbeat") this.#unsendHeartbeat(change.id);
      else this.#unsendRow(change.scope, change.id);
    }
  }

  /** All that has been sent, as one digest. */
  level(observedAt: string): Omit<ResourceLevel, "full"> {
    const scopes = [...this.#scopes.values()].filter(({ complete }) => complete);
    const joined = scopes.reduce((sum, scope) => sum ^ scope.joined, this.#joined);
    return {
      observedAt,
      digest: digestOf(joined),
      heartbeats: this.#sentHeartbeats,
      rows: scopes.reduce((sum, { sent }) => sum + sent, 0),
      complete: scopes.length === this.#scopes.size,
    };
  }

  #scopeOf(name: string): Scope {
    const scope = this.#scopes.get(name);
    if (scope === undefined) throw new Error(`no list ${name}`);
    return scope;
  }

  /** @param rank 0 is the worst; below 0 no other takes its room. */
  beat(heartbeat: ResourceHeartbeat, rank: number): void {
    const { resourceId: id, resourceType: type } = heartbeat;
    if (!this.#heartbeats.has(id) && !this.#makeRoom(rank)) return;
    const before = this.#heartbeats.get(id);
    const stable = hashWithoutUsage(heartbeat) ?? heartbeatHash(heartbeat);
    if (before?.stable === stable) return;
    this.#heartbeats.set(id, { hash: heartbeatHash(heartbeat), stable, rank, sent: before?.sent, type });
    this.#wait({ is: "heartbeat", id, resourceType: type, heartbeat });
  }

  /** One that was told stays told, but for a worse one without room the least of them gives way. */
  #makeRoom(rank: number): boolean {
    if (this.#heartbeats.size < MAX_HEARTBEATS) return true;
    let least: readonly [id: string, rank: number] | undefined;
    for (const [id, told] of this.#heartbeats) {
      if (told.rank <= (least?.[1] ?? rank)) continue;
      least = [id, told.rank];
      if (told.rank === ENDED) break;
    }
    if (least !== undefined) this.#endHeartbeat(least[0]);
    return least !== undefined;
  }

  #endHeartbeat(id: string): void {
    const known = this.#heartbeats.get(id);
    if (known === undefined) return;
    this.#heartbeats.delete(id);
    const change: Pending = { is: "heartbeat", id, resourceType: known.type, heartbeat: undefined };
    if (known.sent === undefined) {
      this.#pending.delete(keyOf(change));
      return;
    }
    this.#joined ^= known.sent;
    this.#sentHeartbeats -= 1;
    this.#wait(change);
  }

  #told(name: string, complete: boolean): void {
    const scope = this.#scopeOf(name);
    scope.toldComplete = complete;
    if (complete) scope.isWhole = false;
  }

  #wait(change: Pending): void {
    this.#pending.set(keyOf(change), change);
  }

  #sendingHeartbeat(id: string): void {
    const told = this.#heartbeats.get(id);
    if (told === undefined || told.sent === told.hash) return;
    if (told.sent === undefined) this.#sentHeartbeats += 1;
    this.#joined ^= (told.sent ?? 0n) ^ told.hash;
    told.sent = told.hash;
  }

  #unsendHeartbeat(id: string): void {
    const told = this.#heartbeats.get(id);
    if (told?.sent === undefined) return;
    this.#joined ^= told.sent;
    this.#sentHeartbeats -= 1;
    told.sent = undefined;
  }

  #unsendRow(scopeName: string, id: string): void {
    const scope = this.#scopeOf(scopeName);
    const told = scope.rows.get(id);
    if (told?.sent === undefined) return;
    scope.joined ^= told.sent;
    scope.sent -= 1;
    told.sent = undefined;
  }

  #sendingRow(scopeName: string, id: string): void {
    const scope = this.#scopeOf(scopeName);
    const told = scope.rows.get(id);
    if (told === undefined || told.sent === told.hash) return;
    if (told.sent === undefined) scope.sent += 1;
    scope.joined ^= (told.sent ?? 0n) ^ told.hash;
    told.sent = told.hash;
  }
}

/** What is well and has ended, as a Job of last week, gives way to all that runs. */
const ENDED = HEALTHS.length;

function importanceOf({ health, lifecycle }: ObservedResource): number {
  return health === "healthy" && lifecycle === "stopped" ? ENDED : severityOf(health);
}

function keyOf(change: Pending): string {
  return change.is === "row" ? `row ${change.scope} ${change.id}` : `heartbeat ${change.resourceType} ${change.id}`;
}

function rankOf(change: Pending): number {
  const health = change.is === "row" ? change.row?.health : change.heartbeat?.data.data.status.health;
  return health === undefined ? 0 : severityOf(health);
}
