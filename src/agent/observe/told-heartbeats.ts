import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { heartbeatHash } from "../../contract/resources/resource-level.ts";
import { hashWithoutUsage } from "../lookups/pod-usage.ts";
import { type Changes, ENDED, type Pending } from "./changes.ts";

interface KnownHeartbeat {
  readonly hash: bigint;
  /** Without cpu and memory. */
  readonly stable: bigint;
  readonly rank: number;
  readonly bytes: number;
  readonly type: string;
  sent: bigint | undefined;
}

/** Resources with a heartbeat of their own; beyond, the worst have one and the inventory has them all. */
const MAX_HEARTBEATS = 500;

/** Which resources have a heartbeat, within a number and within bytes, and what the platform was sent of them. */
export class ToldHeartbeats {
  readonly #changes: Changes;
  readonly #maxBytes: number;
  readonly #known = new Map<string, KnownHeartbeat>();
  #bytes = 0;
  #joined = 0n;
  #sent = 0;

  constructor(changes: Changes, maxBytes: number) {
    this.#changes = changes;
    this.#maxBytes = maxBytes;
  }

  /** Of all that has one, as they are sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The hashes of what was sent, joined. */
  get joined(): bigint {
    return this.#joined;
  }

  get sent(): number {
    return this.#sent;
  }

  /** @param rank 0 is the worst; below 0 no other takes its room. */
  beat(heartbeat: ResourceHeartbeat, rank: number): void {
    const { resourceId: id, resourceType: type } = heartbeat;
    const before = this.#known.get(id);
    const stable = hashWithoutUsage(heartbeat) ?? heartbeatHash(heartbeat);
    if (before?.stable === stable) return;
    const bytes = Buffer.byteLength(JSON.stringify(heartbeat));
    if (!this.#makeRoom(id, rank, bytes)) {
      this.end(id);
      return;
    }
    this.#known.set(id, { hash: heartbeatHash(heartbeat), stable, rank, bytes, sent: before?.sent, type });
    this.#bytes += bytes - (before?.bytes ?? 0);
    this.#changes.set({ is: "heartbeat", id, resourceType: type, heartbeat });
  }

  end(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    this.#known.delete(id);
    this.#bytes -= known.bytes;
    const change: Pending = { is: "heartbeat", id, resourceType: known.type, heartbeat: undefined };
    if (known.sent === undefined) {
      this.#changes.drop(change);
      return;
    }
    this.#joined ^= known.sent;
    this.#sent -= 1;
    this.#changes.set(change);
  }

  sending(id: string): void {
    const told = this.#known.get(id);
    if (told === undefined || told.sent === told.hash) return;
    if (told.sent === undefined) this.#sent += 1;
    this.#joined ^= (told.sent ?? 0n) ^ told.hash;
    told.sent = told.hash;
  }

  unsend(id: string): void {
    const told = this.#known.get(id);
    if (told?.sent === undefined) return;
    this.#joined ^= told.sent;
    this.#sent -= 1;
    told.sent = undefined;
  }

  /** One that was told stays told, but for a worse one without room the least of the others give way. */
  #makeRoom(id: string, rank: number, bytes: number): boolean {
    const before = this.#known.get(id);
    while (
      this.#known.size + (before === undefined ? 1 : 0) > MAX_HEARTBEATS ||
      this.#bytes - (before?.bytes ?? 0) + bytes > this.#maxBytes
    ) {
      const least = this.#leastBelow(rank, id);
      if (least === undefined) return false;
      this.end(least);
    }
    return true;
  }

  #leastBelow(rank: number, but: string): string | undefined {
    let least: readonly [id: string, rank: number] | undefined;
    for (const [id, told] of this.#known) {
      if (id === but || told.rank <= (least?.[1] ?? rank)) continue;
      least = [id, told.rank];
      if (told.rank === ENDED) break;
    }
    return least?.[0];
  }
}
