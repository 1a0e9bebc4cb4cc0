import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { endAllLeases, endLease, homedIn, renewLease } from "../areas/debug-sessions/relay-homes.ts";
import type { Db } from "../database/db.ts";

/** A lease of 5 s that was renewed within this time need not be renewed before it is used. */
const FRESH_MS = 1_000;

/** This process's lease, which makes it the home of its sessions (relay-homes.ts). */
export class Homes {
  readonly replicaId = randomBytes(9).toString("base64url");
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #peerUrl: string | null;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;

  constructor(db: Db, clock: Clock, peerUrl: string | undefined) {
    this.#db = db;
    this.#clock = clock;
    this.#peerUrl = peerUrl ?? null;
  }

  /** Before a socket is admitted: another replica must find a lease that lives. */
  async hold(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#renewedMs >= FRESH_MS) await this.renew();
  }

  /** One statement, however many sockets wait for it. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    await renewLease(this.#db, { id: this.replicaId, peerUrl: this.#peerUrl });
    this.#renewedMs = startedMs;
  }

  /** Those of the sessions that are still at home here. */
  own(sessionIds: readonly string[]): Promise<ReadonlySet<string>> {
    return homedIn(this.#db, this.replicaId, sessionIds);
  }

  /** Ends the leases of earlier processes, where one process alone may open the database. */
  alone(): Promise<void> {
    return endAllLeases(this.#db);
  }

  /** The sessions may have another home at once. */
  leave(): Promise<void> {
    return endLease(this.#db, this.replicaId);
  }
}
