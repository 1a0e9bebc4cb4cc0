import type { ObservedResource, ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { digestOf, type ResourceLevel, rowHash } from "../../contract/resources/resource-level.ts";
import type { Health } from "../../kube/workload-state/words.ts";
import { Changes, importanceOf, type Pending, severityOf } from "./changes.ts";
import { type Candidate, choiceOf, placeOf, type Room } from "./row-choice.ts";
import { ToldHeartbeats } from "./told-heartbeats.ts";

/** One workload as it is told: a row, and a heartbeat while there is room for one. */
export interface Observation {
  readonly row: ObservedResource;
  /** Undefined: this object can have none. */
  readonly heartbeat: ResourceHeartbeat | undefined;
}

/** A list as a part of a report told it. */
export interface ToldScope {
  readonly name: string;
  readonly complete: boolean;
}

/** What the platform keeps of one deployment, with a margin: what is new is stored before all that it replaces has gone. */
const ROOM: Room = { rows: 9_500, bytes: 15 * 1024 * 1024 };
/** Of the bytes, for heartbeats; what they leave is for rows. */
const HEARTBEAT_SHARE = 2 / 3;
/** Rows have a little less room when heartbeats have a little more: in steps, or each report would move the limit. */
const STEPS = 60;
/** Rows without room are dropped this often while all are looked at, or all would be in memory at once. */
const CHOOSE_EVERY = 2_500;

interface KnownRow<K> extends Candidate {
  /** Undefined: it is left out, and what it says is not kept. */
  readonly hash: bigint | undefined;
  readonly health: Health;
  readonly object: K;
  sent: bigint | undefined;
  /** The platform may have it. */
  mayBeStored: boolean;
  isLeftOut: boolean;
}

interface Scope<K> {
  complete: boolean;
  /** Whether the platform was told so. */
  toldComplete: boolean | undefined;
  /** To be told whole, not as changes. */
  isWhole: boolean;
  /** Of each row: what it is, and what the platform was sent. */
  readonly rows: Map<string, KnownRow<K>>;
  joined: bigint;
  sent: number;
}

/**
 * What the platform has been told of one deployment, as hashes, and what waits to be told. In memory: after a restart it is
 * empty, and the first report is full. Of more rows than the platform keeps the healthiest are left out.
 *
 * K: what the caller finds an object by.
 */
export class Ledger<K> {
  readonly #scopes = new Map<string, Scope<K>>();
  readonly #changes = new Changes();
  readonly #heartbeats: ToldHeartbeats;
  readonly #room: Room;
  /** Rows that are new, gone, better, worse, longer or shorter since the last choice. */
  #moved = 0;
  #leftOut = 0;
  #heartbeatBytes = 0;

  /** @param share of the room that is used: a platform may keep less. */
  constructor(share = 1) {
    this.#room = { rows: Math.floor(ROOM.rows * share), bytes: ROOM.bytes * share };
    this.#heartbeats = new ToldHeartbeats(this.#changes, this.#room.bytes * HEARTBEAT_SHARE);
  }

  /** Changes that wait: what is gone, then the worst. */
  pending(): readonly Pending[] {
    return this.#changes.inOrder();
  }

  get waiting(): number {
    return this.#changes.size;
  }

  /** Rows that are not told for want of room. */
  get leftOut(): number {
    return this.#leftOut;
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
      this.#changes.dropRows(name);
      known.joined = 0n;
      known.sent = 0;
      known.isWhole = true;
      this.#moved += 1;
    }
    known.complete = complete;
  }

  /** Whether the list is complete again, and the platform has not got it yet. */
  isToldWhole(name: string): boolean {
    const scope = this.#scopes.get(name);
    return scope?.isWhole === true && scope.complete;
  }

  /** @returns whether the object is worse than it was known to be; a new one that is well is not. */
  observe(scopeName: string, object: K, { row, heartbeat }: Observation): boolean {
    const scope = this.#scopeOf(scopeName);
    const id = row.rawIdentity;
    const known = scope.rows.get(id);
    const isWorse = severityOf(row.health) < severityOf(known?.health ?? "healthy");
    const rank = importanceOf(row);
    const isLeftOut = known?.isLeftOut ?? false;
    const hash = isLeftOut ? undefined : rowHash({ sourceKind: "operator", inventoryScope: scopeName }, row);
    if (isLeftOut || known?.hash !== hash) {
      const change: Pending = { is: "row", scope: scopeName, id, row };
      const bytes = Buffer.byteLength(JSON.stringify(row));
      const mayBeStored = known?.mayBeStored ?? this.#changes.has(change);
      const place = known?.place ?? placeOf(`${scopeName} ${id}`);
      const { health } = row;
      scope.rows.set(id, { hash, health, rank, bytes, place, object, sent: known?.sent, mayBeStored, isLeftOut });
      if (known?.rank !== rank || known.bytes !== bytes) this.#moved += 1;
      if (!isLeftOut) this.#changes.set(change);
    }
    if (heartbeat !== undefined) this.beat(heartbeat, rank);
    return isWorse;
  }

  /** The object is gone. */
  forget(scopeName: string, rawIdentity: string, resourceId: string): void {
    const scope = this.#scopeOf(scopeName);
    const known = scope.rows.get(rawIdentity);
    if (known !== undefined) {
      this.#withdraw(scopeName, rawIdentity, known);
      scope.rows.delete(rawIdentity);
      this.#moved += 1;
    }
    this.#heartbeats.end(resourceId);
  }

  /** @param rank 0 is the worst; below 0 no other takes its room. */
  beat(heartbeat: ResourceHeartbeat, rank: number): void {
    this.#heartbeats.beat(heartbeat, rank);
  }

  /** Whether so many objects were looked at since the last choice that what has no room should go. */
  get isCrowded(): boolean {
    return this.#moved >= CHOOSE_EVERY;
  }

  /**
   * Decides which rows are told.
   *
   * @returns objects that were left out and have room now: what they say is not kept, so they have to be observed again.
   */
  choose(): readonly K[] {
    const stepBytes = this.#room.bytes / STEPS;
    const heartbeatBytes = Math.ceil(this.#heartbeats.bytes / stepBytes) * stepBytes;
    if (this.#moved === 0 && heartbeatBytes === this.#heartbeatBytes) return [];
    [this.#moved, this.#heartbeatBytes] = [0, heartbeatBytes];
    const all = [...this.#scopes.values()].flatMap(({ rows }) => [...rows.values()]);
    const chosen = choiceOf(all, { rows: this.#room.rows, bytes: this.#room.bytes - heartbeatBytes });
    this.#leftOut = all.length - chosen.size;
    const returning: K[] = [];
    for (const [name, { rows }] of this.#scopes) {
      for (const [id, row] of rows) {
        if (chosen.has(row) !== row.isLeftOut) continue;
        if (row.isLeftOut) returning.push(row.object);
        else this.#withdraw(name, id, row);
        rows.set(id, { ...row, isLeftOut: !row.isLeftOut, hash: undefined, sent: undefined });
      }
    }
    return returning;
  }

  /**
   * What is sent counts as told from before the answer: a level goes with the last part. A part that fails stays pending,
   * and is sent again before the next level.
   */
  sending(changes: readonly Pending[]): void {
    for (const change of changes) {
      if (change.is === "heartbeat") this.#heartbeats.sending(change.id);
      else if (change.row !== undefined) this.#sendingRow(change.scope, change.id);
    }
  }

  /** The platform has stored them. */
  acknowledge(changes: readonly Pending[], scopes: readonly ToldScope[]): void {
    for (const { name, complete } of scopes) this.#told(name, complete);
    for (const change of changes) this.#changes.told(change);
  }

  /** The platform does not take them as they are: they are not told until they are others. */
  refused(changes: readonly Pending[]): void {
    for (const change of changes) {
      this.#changes.drop(change);
      if (change.is === "heartbeat") this.#heartbeats.unsend(change.id);
      else this.#unsendRow(change.scope, change.id);
    }
  }

  /** All that has been sent, as one digest. */
  level(observedAt: string): Omit<ResourceLevel, "full"> {
    const scopes = [...this.#scopes.values()].filter(({ complete }) => complete);
    const joined = scopes.reduce((sum, scope) => sum ^ scope.joined, this.#heartbeats.joined);
    return {
      observedAt,
      digest: digestOf(joined),
      heartbeats: this.#heartbeats.sent,
      rows: scopes.reduce((sum, { sent }) => sum + sent, 0),
      complete: scopes.length === this.#scopes.size && this.#leftOut === 0,
    };
  }

  #scopeOf(name: string): Scope<K> {
    const scope = this.#scopes.get(name);
    if (scope === undefined) throw new Error(`no list ${name}`);
    return scope;
  }

  #told(name: string, complete: boolean): void {
    const scope = this.#scopeOf(name);
    scope.toldComplete = complete;
    if (complete) scope.isWhole = false;
  }

  /** The row is not told any more. */
  #withdraw(scopeName: string, id: string, row: KnownRow<K>): void {
    this.#takeBack(scopeName, row);
    const change: Pending = { is: "row", scope: scopeName, id, row: undefined };
    if (row.mayBeStored) this.#changes.set(change);
    else this.#changes.drop(change);
  }

  #unsendRow(scopeName: string, id: string): void {
    const row = this.#scopeOf(scopeName).rows.get(id);
    if (row !== undefined) this.#takeBack(scopeName, row);
  }

  #takeBack(scopeName: string, row: KnownRow<K>): void {
    if (row.sent === undefined) return;
    const scope = this.#scopeOf(scopeName);
    scope.joined ^= row.sent;
    scope.sent -= 1;
    row.sent = undefined;
  }

  #sendingRow(scopeName: string, id: string): void {
    const scope = this.#scopeOf(scopeName);
    const row = scope.rows.get(id);
    if (row?.hash === undefined || row.sent === row.hash) return;
    if (row.sent === undefined) scope.sent += 1;
    scope.joined ^= (row.sent ?? 0n) ^ row.hash;
    row.sent = row.hash;
    row.mayBeStored = true;
  }
}
