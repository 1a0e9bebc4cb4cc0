import type { WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import { homeOf, type Replica, takeHome } from "../areas/debug-sessions/relay-homes.ts";
import type { Admission } from "../areas/debug-sessions/tickets.ts";
import { type Offered, redeemTicket, requireTicket } from "../areas/debug-sessions/tickets.ts";
import type { Budgets } from "../kernel/budgets/budgets.ts";
import { PlatformError } from "../kernel/errors.ts";
import { kept } from "../kernel/tenancy/stored-error.ts";
import type { Homes } from "./homes.ts";
import { type Ending, Pairing } from "./pairing.ts";
import type { SessionLog } from "./session-log.ts";

/**
 * Kill switches, revoked keys, ended sign-ins and withdrawn grants must end a session within 5 s (§1.1). The relay
 * checks more often than that.
 */
const CHECK_EVERY_MS = 1_000;
/**
 * When no check succeeds for so many seconds, the database is away: nothing tells that a session must end, and this
 * process's lease lapses. With the time between two checks it is those 5 s. Counted one by one, so that a process that
 * stood still looks at the database before it sends its sessions away.
 */
const CHECK_WITHIN_SECONDS = 4;

export interface Joining extends Admission {
  /** Of the socket in its session, over all processes. */
  readonly number: number;
}

/** Where a socket goes: to a pairing here, or to the process where the other side of its session is. */
export type Entry = { readonly joining: Joining } | { readonly peerUrl: string };

/** The debug sessions whose two sides are connected in this process. */
export class Relay {
  readonly #log: SessionLog;
  readonly #homes: Homes;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #budgets: Budgets;
  readonly #pairings = new Map<string, Pairing>();
  /** Writes of each session, one after the other. */
  readonly #writes = new Map<string, Promise<void>>();
  #closing = false;
  #cancelCheck: () => void;
  #checking: Promise<void> = Promise.resolve();
  /** There from the first check that has not succeeded to the next success. */
  #cancelLapse: (() => void) | undefined;
  /** No check succeeded for so long that every session was sent away. */
  #isLapsed = false;

  constructor(log: SessionLog, homes: Homes, clock: Clock, logger: Logger, budgets: Budgets) {
    this.#log = log;
    this.#homes = homes;
    this.#clock = clock;
    this.#logger = logger;
    this.#budgets = budgets;
    this.#cancelCheck = this.#scheduleCheck();
  }

  get size(): number {
    return this.#pairings.size;
  }

  /**
   * Checks a ticket, and finds out where the session's sides meet: here, when they meet nowhere yet. Only the place where
   * they meet uses up the ticket.
   *
   * @param isForwarded by another process: it is not sent on again.
   * @throws TICKET_INVALID, INVALID_STATE_TRANSITION. The ticket can be used again after RATE_LIMITED, when a tenant has no
   * seat left, and after SERVICE_UNAVAILABLE, when the place where they meet cannot be reached.
   */
  async admit(offered: Offered, isForwarded: boolean): Promise<Entry> {
    if (this.#closing) throw new PlatformError("SERVICE_UNAVAILABLE");
    await this.#homes.hold();
    const { replicaId } = this.#homes;
    return this.#log.transact(async (db, now) => {
      const home = await homeOf(db, offered.sessionId);
      if (home !== undefined && home.id !== replicaId) {
        await requireTicket(db, now, offered);
        return { peerUrl: peerUrlOf(home, isForwarded) };
      }
      const admission = await redeemTicket(db, now, offered);
      // Only checks that a seat is free. The pairing takes it after the handshake.
      if (!this.#pairings.has(offered.sessionId)) this.#seat(admission)();
      return { joining: { ...admission, number: await takeHome(db, offered.sessionId, replicaId) } };
    });
  }

  #seat({ session, deploymentGroupId }: Admission): () => void {
    return this.#budgets.take(
      ["deployment-relay-seats", session.deployment_id],
      ["group-relay-seats", deploymentGroupId],
      ["workspace-relay-seats", session.workspace_id],
      ["relay-seats", "process"],
    );
  }

  join(joining: Joining, socket: WebSocket): void {
    const { session, side, holder, number } = joining;
    // A ticket that was taken before the database went away.
    const pairing = this.#isLapsed ? undefined : (this.#pairings.get(session.id) ?? this.#begin(joining));
    // Another session took the last seat between the ticket and the handshake: the client may retry.
    if (pairing === undefined) socket.close(RELAY_CLOSE_CODES.restart);
    else pairing.join(side, socket, holder, number);
  }

  #begin(admission: Admission): Pairing | undefined {
    try {
      return this.#open(admission.session.id, admission.session.expires_at, this.#seat(admission));
    } catch (error) {
      if (error instanceof PlatformError) return undefined;
      throw error;
    }
  }

  #open(id: string, expiresAt: Date, leave: () => void): Pairing {
    const pairing = new Pairing({
      expiresAt,
      clock: this.#clock,
      onPaired: () => this.#write(id, () => this.#log.move(id, "running")),
      onEnded: (ending, tunnelled, traffic) => {
        leave();
        if (this.#pairings.get(id) === pairing) this.#pairings.delete(id);
        this.#write(id, () => this.#log.addTraffic(id, traffic));
        this.#write(id, () => this.#record(id, ending, tunnelled));
      },
    });
    this.#pairings.set(id, pairing);
    return pairing;
  }

  /**
   * Records the end of a session. When the tunnel never connected, the session stays `stopping`, and the manager, which
   * is told so, ends it.
   */
  async #record(id: string, ending: Ending, tunnelled: boolean): Promise<void> {
    if (ending === "restart") return;
    if (ending === "tunnel-lost") {
      const error = kept({ code: "DEBUG_TUNNEL_LOST", message: "the tunnel did not come back", internal: false });
      return this.#log.move(id, "failed", { closeReason: ending, error });
    }
    // Of a session whose time is over the move is refused, and `expired` is stored. A tunnel's end may come before ours.
    await this.#log.move(id, "stopping", { closeReason: ending });
    if (tunnelled) await this.#log.move(id, "stopped");
  }

  #write(id: string, work: () => Promise<void>): void {
    const done = (this.#writes.get(id) ?? Promise.resolve()).then(work).catch((error: unknown) => {
      this.#logger.error({ err: error, debugSessionId: id }, "a debug session's state could not be written");
    });
    this.#writes.set(id, done);
    void done.then(() => {
      if (this.#writes.get(id) === done) this.#writes.delete(id);
    });
  }

  #scheduleCheck(): () => void {
    return this.#clock.after(CHECK_EVERY_MS, () => {
      if (this.#cancelLapse === undefined) this.#watchLapse(CHECK_WITHIN_SECONDS);
      this.#checking = this.#check()
        .then(() => this.#checked())
        .catch((error: unknown) => this.#logger.error({ err: error }, "debug sessions could not be checked"))
        .then(() => {
          if (!this.#closing) this.#cancelCheck = this.#scheduleCheck();
        });
    });
  }

  #checked(): void {
    this.#cancelLapse?.();
    this.#cancelLapse = undefined;
    this.#isLapsed = false;
  }

  #watchLapse(seconds: number): void {
    this.#cancelLapse = this.#clock.after(1_000, () => (seconds > 1 ? this.#watchLapse(seconds - 1) : this.#lapse()));
  }

  /** Kill switches are not heard: both sides come back once the database does, and are admitted anew. */
  #lapse(): void {
    this.#isLapsed = true;
    this.#logger.error({ sessions: this.size }, "debug sessions could not be checked for 5 s and are sent away");
    for (const pairing of this.#pairings.values()) void pairing.end("restart");
  }

  /**
   * Ends sessions that were stopped, or of which one side's key, sign-in or grant is no longer valid. Sends away those that
   * another process took while this one did not renew its lease.
   */
  async #check(): Promise<void> {
    const pairings = [...this.#pairings];
    if (pairings.length === 0) return;
    await this.#homes.renew();
    const own = await this.#homes.own(pairings.map(([id]) => id));
    const open = await this.#log.open(pairings.map(([id]) => id));
    const held = pairings.flatMap(([sessionId, { holders }]) => holders.map((holder) => ({ sessionId, holder })));
    const lost = await this.#log.withoutHolder(held);
    for (const [id, pairing] of pairings) {
      const expiresAt = open.get(id);
      if (!own.has(id)) void pairing.end("restart");
      else if (expiresAt === undefined) void pairing.end(await this.#whyNotOpen(id));
      else if (lost.has(id)) void pairing.end("revoked");
      else pairing.expireAt(expiresAt);
    }
  }

  async #whyNotOpen(id: string): Promise<CloseReason> {
    const state = await this.#log.stateOf(id);
    if (state === "pending" || state === "running") return "revoked";
    return state === "expired" ? "expired" : "killed";
  }

  /** Both sides may reconnect: to another process, or to the next one here. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelCheck();
    await this.#checking;
    this.#cancelLapse?.();
    // First, so that a side which comes back at once finds another home.
    await this.#homes.leave().catch((error: unknown) => this.#logger.warn({ err: error }, "a lease was not ended"));
    await Promise.all([...this.#pairings.values()].map((pairing) => pairing.end("restart")));
    await Promise.all(this.#writes.values());
  }
}

function peerUrlOf({ peerUrl }: Replica, isForwarded: boolean): string {
  if (isForwarded)
    throw new PlatformError("SERVICE_UNAVAILABLE", { message: "the sides of this session meet elsewhere now" });
  if (peerUrl !== null) return peerUrl;
  throw new PlatformError("SERVICE_UNAVAILABLE", {
    message: "the other side of this session is in a replica of the platform that this one cannot reach",
    hint: "set SALLYPORT_PLATFORM_PEER_URL in every replica of the platform",
  });
}
