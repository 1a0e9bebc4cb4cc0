import type { WebSocket } from "ws";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { RELAY_CLOSE_CODES } from "../../contract/debug-sessions/debug-relay.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import type { Admission } from "../areas/debug-sessions/tickets.ts";
import { redeemTicket } from "../areas/debug-sessions/tickets.ts";
import type { RelaySide } from "../database/tables/debug-sessions.ts";
import type { Budgets } from "../kernel/budgets/budgets.ts";
import { PlatformError } from "../kernel/errors.ts";
import { kept } from "../kernel/tenancy/stored-error.ts";
import { type Ending, Pairing } from "./pairing.ts";
import type { SessionLog } from "./session-log.ts";

/**
 * Kill switches, revoked keys, ended sign-ins and withdrawn grants must end a session within 5 s (§1.1). The relay
 * checks more often than that.
 */
const CHECK_EVERY_MS = 1_000;
/** The debug sessions whose two sides are connected in this process. */
export class Relay {
  readonly #log: SessionLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #budgets: Budgets;
  readonly #pairings = new Map<string, Pairing>();
  /** Writes of each session, one after the other. */
  readonly #writes = new Map<string, Promise<void>>();
  #closing = false;
  #cancelCheck: () => void;
  #checking: Promise<void> = Promise.resolve();

  constructor(log: SessionLog, clock: Clock, logger: Logger, budgets: Budgets) {
    this.#log = log;
    this.#clock = clock;
    this.#logger = logger;
    this.#budgets = budgets;
    this.#cancelCheck = this.#scheduleCheck();
  }

  get size(): number {
    return this.#pairings.size;
  }

  /**
   * Checks a ticket.
   * @throws TICKET_INVALID, INVALID_STATE_TRANSITION; RATE_LIMITED when a tenant has no seat left: the ticket can be
   * used again.
   */
  async admit(sessionId: string, side: RelaySide, ticket: string): Promise<Admission> {
    if (this.#closing) throw new PlatformError("SERVICE_UNAVAILABLE");
    return this.#log.transact(async (db, now) => {
      const admission = await redeemTicket(db, now, { sessionId, side, ticket });
      // Only checks that a seat is free. The pairing takes it after the handshake.
      if (!this.#pairings.has(sessionId)) this.#seat(admission)();
      return admission;
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

  join(admission: Admission, socket: WebSocket): void {
    const { session, side, holder } = admission;
    const pairing = this.#pairings.get(session.id) ?? this.#begin(admission);
    // Another session took the last seat between the ticket and the handshake: the client may retry.
    if (pairing === undefined) socket.close(RELAY_CLOSE_CODES.restart);
    else pairing.join(side, socket, holder);
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
      this.#checking = this.#check()
        .catch((error: unknown) => this.#logger.error({ err: error }, "debug sessions could not be checked"))
        .then(() => {
          if (!this.#closing) this.#cancelCheck = this.#scheduleCheck();
        });
    });
  }

  /** Ends sessions that were stopped, or of which one side's key, sign-in or grant is no longer valid. */
  async #check(): Promise<void> {
    const pairings = [...this.#pairings];
    if (pairings.length === 0) return;
    const open = await this.#log.open(pairings.map(([id]) => id));
    const held = pairings.flatMap(([sessionId, { holders }]) => holders.map((holder) => ({ sessionId, holder })));
    const lost = await this.#log.withoutHolder(held);
    for (const [id, pairing] of pairings) {
      const expiresAt = open.get(id);
      if (expiresAt === undefined) void pairing.end(await this.#whyNotOpen(id));
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
    await Promise.all([...this.#pairings.values()].map((pairing) => pairing.end("restart")));
    await Promise.all(this.#writes.values());
  }
}
