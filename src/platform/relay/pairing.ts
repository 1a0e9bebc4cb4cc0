import type { WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import type { RelayFrame, SideFrame } from "../../contract/debug-sessions/relay-frames.ts";
import type { Holder } from "../areas/debug-sessions/holders.ts";
import type { RelaySide } from "../database/tables/debug-sessions.ts";
import { Flow } from "./flow.ts";
import { Side, type SideEvents } from "./side.ts";

/** §19.3: limit without a byte from the client, whichever side is there. A side that is away has no other limit. */
const IDLE_MS = 15 * 60_000;

/** Why a session's sockets are closed: the close code, and the reason in the record. */
export type Ending = CloseReason | "restart";

const CODES: Readonly<Partial<Record<Ending, number>>> = {
  idle: RELAY_CLOSE_CODES.idle,
  expired: RELAY_CLOSE_CODES.expired,
  killed: RELAY_CLOSE_CODES.killed,
  revoked: RELAY_CLOSE_CODES.killed,
  "tunnel-lost": RELAY_CLOSE_CODES.lost,
  restart: RELAY_CLOSE_CODES.restart,
};

/** What passed the relay: towards the cluster, and back. */
export interface Traffic {
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface PairingOptions {
  readonly expiresAt: Date;
  readonly clock: Clock;
  /** Both sides are connected for the first time. */
  onPaired(): void;
  /** Called once, after both sockets have closed. `tunnelled`: the cluster's side was connected. */
  onEnded(ending: Ending, tunnelled: boolean, traffic: Traffic): void;
}

const other = (side: RelaySide): RelaySide => (side === "attach" ? "tunnel" : "attach");

/**
 * The two sockets of one session. Copies bytes between them and closes them together. Each time that both are there a
 * new epoch begins: both sides begin anew, so a byte that was lost with a socket is an error at its receiver and never a
 * gap.
 */
export class Pairing {
  readonly #options: PairingOptions;
  readonly #sides = new Map<RelaySide, Side>();
  /** By the side that they come from; there while both sides are. */
  readonly #flows = new Map<RelaySide, Flow>();
  readonly #timers = new Map<string, () => void>();
  readonly #bytesFrom = { attach: 0, tunnel: 0 };
  #expiresAt: Date;
  /** Of the newest socket of each side; 0 before the first. */
  readonly #newest = { attach: 0, tunnel: 0 };
  #epoch = 0;
  #lastClientMs: number;
  #tunnelled = false;
  #isPaired = false;
  #ending: Promise<void> | undefined;
  #code: number = RELAY_CLOSE_CODES.done;

  constructor(options: PairingOptions) {
    this.#options = options;
    this.#lastClientMs = options.clock.monotonicMs();
    this.#expiresAt = options.expiresAt;
    this.#watchExpiry();
    this.#watchIdle(IDLE_MS);
  }

  get holders(): readonly Holder[] {
    return [...this.#sides.values()].map(({ holder }) => holder);
  }

  expireAt(at: Date): void {
    if (at.getTime() === this.#expiresAt.getTime()) return;
    this.#expiresAt = at;
    this.#tell({ type: "until", at: at.toISOString() });
    this.#watchExpiry();
  }

  /**
   * Connects a socket. A second socket of the same side replaces the first.
   *
   * @param number of the socket in the session, over all processes (areas/debug-sessions/relay-homes.ts).
   */
  join(name: RelaySide, socket: WebSocket, holder: Holder, number: number): void {
    if (this.#ending !== undefined) {
      socket.close(this.#code);
      return;
    }
    // Admitted before a socket that is here already: with it the epoch would not grow.
    if (number <= Math.max(this.#epoch, this.#newest[name])) {
      socket.close(RELAY_CLOSE_CODES.restart);
      return;
    }
    this.#newest[name] = number;
    this.#part();
    const before = this.#sides.get(name);
    this.#sides.delete(name);
    void before?.close(RELAY_CLOSE_CODES.replaced);
    const side = new Side(socket, holder, this.#options.clock, this.#eventsOf(name));
    this.#sides.set(name, side);
    if (name === "tunnel") this.#tunnelled = true;
    else this.#lastClientMs = this.#options.clock.monotonicMs();
    side.tell({ type: "until", at: this.#expiresAt.toISOString() });
    const peer = this.#sides.get(other(name));
    if (peer !== undefined) this.#pair(name, side, peer);
  }

  /** Closes both sockets and resolves when both are closed. Only the first reason counts. */
  end(ending: Ending): Promise<void> {
    this.#ending ??= this.#end(ending);
    return this.#ending;
  }

  async #end(ending: Ending): Promise<void> {
    this.#code = CODES[ending] ?? RELAY_CLOSE_CODES.done;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    if (ending !== "restart") this.#tell({ type: "close", reason: ending });
    this.#part();
    await Promise.all([...this.#sides.values()].map((side) => side.close(this.#code)));
    this.#sides.clear();
    const { attach: bytesIn, tunnel: bytesOut } = this.#bytesFrom;
    this.#options.onEnded(ending, this.#tunnelled, { bytesIn, bytesOut });
  }

  #pair(name: RelaySide, side: Side, peer: Side): void {
    this.#epoch = Math.max(this.#newest.attach, this.#newest.tunnel);
    this.#flows.set(name, new Flow(side.socket, peer.socket));
    this.#flows.set(other(name), new Flow(peer.socket, side.socket));
    this.#tell({ type: "peer", epoch: this.#epoch });
    if (!this.#isPaired) this.#options.onPaired();
    this.#isPaired = true;
  }

  /** Ends the epoch: nothing of it goes to a socket that comes later. */
  #part(): void {
    for (const flow of this.#flows.values()) flow.end();
    this.#flows.clear();
  }

  #eventsOf(name: RelaySide): SideEvents {
    const isCurrent = (side: Side): boolean => this.#ending === undefined && this.#sides.get(name) === side;
    return {
      onBytes: (side, data) => {
        // Before its word for this epoch it still sends what belongs to the one before.
        if (!isCurrent(side) || side.epoch !== this.#epoch) return;
        this.#bytesFrom[name] += data.length;
        if (name === "attach") this.#lastClientMs = this.#options.clock.monotonicMs();
        this.#flows.get(name)?.push(data);
      },
      onFrame: (side, frame) => {
        if (isCurrent(side)) this.#onFrame(name, side, frame);
      },
      onClose: (side, code) => {
        if (isCurrent(side)) this.#onClose(name, code);
      },
    };
  }

  #onFrame(name: RelaySide, side: Side, frame: SideFrame): void {
    if (frame.type === "ready") side.epoch = frame.epoch;
    else void this.end(reasonOf(name, frame.reason));
  }

  #onClose(name: RelaySide, code: number): void {
    this.#part();
    this.#sides.delete(name);
    if (code === RELAY_CLOSE_CODES.done) {
      void this.end(name === "attach" ? "client" : "agent");
      return;
    }
    this.#tell({ type: "gone" });
  }

  #tell(frame: RelayFrame): void {
    for (const side of this.#sides.values()) side.tell(frame);
  }

  #watchExpiry(): void {
    const { clock } = this.#options;
    const leftMs = this.#expiresAt.getTime() - clock.wallNow().getTime();
    // Timers may fire early, and reach at most 24 days: so the time is compared again here.
    this.#timer("expiry", Math.max(leftMs, 0), () => {
      if (clock.wallNow() >= this.#expiresAt) void this.end("expired");
      else this.#watchExpiry();
    });
  }

  #watchIdle(delayMs: number): void {
    this.#timer("idle", delayMs, () => {
      const leftMs = this.#lastClientMs + IDLE_MS - this.#options.clock.monotonicMs();
      if (leftMs <= 0) void this.end(this.#isWaitedFor() ? "tunnel-lost" : "idle");
      else this.#watchIdle(leftMs);
    });
  }

  /** The client was silent because it waits for a tunnel that was there and is not. */
  #isWaitedFor(): boolean {
    return this.#tunnelled && this.#sides.has("attach") && !this.#sides.has("tunnel");
  }

  #timer(name: string, delayMs: number, task: () => void): void {
    this.#cancel(name);
    if (this.#ending !== undefined) return;
    const run = (): void => {
      this.#timers.delete(name);
      task();
    };
    this.#timers.set(name, this.#options.clock.after(delayMs, run));
  }

  #cancel(name: string): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }
}

/** What each side may claim as the reason. A client cannot say that the cluster killed it, nor a tunnel the platform. */
function reasonOf(name: RelaySide, said: CloseReason): CloseReason {
  if (said === "pin-mismatch") return said;
  if (name === "attach") return "client";
  return TUNNEL_REASONS.has(said) ? said : "agent";
}

const TUNNEL_REASONS: ReadonlySet<CloseReason> = new Set([
  ...(["idle", "expired", "revoked", "policy-stale", "audit-failed", "audit-mismatch", "refused"] as const),
]);
