import type { WebSocket } from "ws";
import type { CloseReason } from "../../contract/debug-sessions.ts";
import type { RelaySide } from "../areas/debug-sessions/store.ts";
import type { Admission } from "../areas/debug-sessions/tickets.ts";
import { redeemTicket } from "../areas/debug-sessions/tickets.ts";
import type { Clock } from "../clock.ts";
import { PlatformError } from "../kernel/errors.ts";
import type { Logger } from "../log.ts";
import { type Ending, Pairing } from "./pairing.ts";
import type { SessionLog } from "./session-log.ts";

/** Kill switches, revoked keys and withdrawn grants end a session within 5 s (§1.1); this is a good deal sooner. */
const CHECK_EVERY_MS = 1_000;
/** Sessions of one process: two sockets and at most 2 MiB each. */
const MAX_SESSIONS = 1_000;

/** The debug sessions that meet in this process. */
export class Relay {
  readonly #log: SessionLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pairings = new Map<string, Pairing>();
  /** A session's writes, one after the other. */
  readonly #writes = new Map<string, Promise<void>>();
  #closing = false;
  #cancelCheck: () => void;
  #checking: Promise<void> = Promise.resolve();

  constructor(log: SessionLog, clock: Clock, logger: Logger) {
    this.#log = log;
    this.#clock = clock;
    this.#logger = logger;
    this.#cancelCheck = this.#scheduleCheck();
  }

  get size(): number {
    return this.#pairings.size;
  }

  /** @throws TICKET_INVALID, INVALID_STATE_TRANSITION; SERVICE_UNAVAILABLE when there is no room. */
  async admit(sessionId: string, side: RelaySide, ticket: string): Promise<Admission> {
    if (this.#closing || (!this.#pairings.has(sessionId) && this.#pairings.size >= MAX_SESSIONS)) {
      throw new PlatformError("SERVICE_UNAVAILABLE");
    }
    return this.#log.transact((db, now) => redeemTicket(db, now, { sessionId, side, ticket }));
  }

  join({ session, side, apiKeyId }: Admission, socket: WebSocket): void {
    const { id } = session;
    const pairing = this.#pairings.get(id) ?? this.#open(id, session.expires_at);
    pairing.join(side, socket, apiKeyId, session.state === "running");
  }

  #open(id: string, expiresAt: Date): Pairing {
    const pairing = new Pairing({
      expiresAt,
      clock: this.#clock,
      onPaired: () => this.#write(id, () => this.#log.move(id, "running")),
      onEnded: (ending, tunnelled) => {
        if (this.#pairings.get(id) === pairing) this.#pairings.delete(id);
        this.#write(id, () => this.#record(id, ending, tunnelled));
      },
    });
    this.#pairings.set(id, pairing);
    return pairing;
  }

  /** What an ending leaves in the record. A tunnel that never came is the manager's to end: it is told to. */
  async #record(id: string, ending: Ending, tunnelled: boolean): Promise<void> {
    if (ending === "restart") return;
    if (ending === "tunnel-lost") {
      const error = { code: "DEBUG_TUNNEL_LOST", message: "the tunnel was lost for 60 s", internal: false };
      return this.#log.move(id, "failed", { closeReason: ending, error });
    }
    if (ending !== "expired") await this.#log.move(id, "stopping", { closeReason: ending });
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

  /** Ends what has been stopped, or whose key or grant is gone. */
  async #check(): Promise<void> {
    const pairings = [...this.#pairings];
    if (pairings.length === 0) return;
    const open = await this.#log.open(pairings.map(([id]) => id));
    const keys = await this.#log.liveKeys([...new Set(pairings.flatMap(([, { apiKeyIds }]) => apiKeyIds))]);
    for (const [id, pairing] of pairings) {
      const expiresAt = open.get(id);
      if (expiresAt === undefined) void pairing.end(await this.#whyNotOpen(id));
      else if (!pairing.apiKeyIds.every((key) => keys.has(key))) void pairing.end("revoked");
      else pairing.expireAt(expiresAt);
    }
  }

  async #whyNotOpen(id: string): Promise<CloseReason> {
    const state = await this.#log.stateOf(id);
    if (state === "pending" || state === "running") return "revoked";
    return state === "expired" ? "expired" : "killed";
  }

  /** Both sides may come back: to another process, or to the next one here. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelCheck();
    await this.#checking;
    await Promise.all([...this.#pairings.values()].map((pairing) => pairing.end("restart")));
    await Promise.all(this.#writes.values());
  }
}
