import type { Clock } from "../../base/clock.ts";
import type { CloseReason, DebugSessionState } from "../../contract/debug-sessions/debug-sessions.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import { storeChange } from "../areas/debug-sessions/change.ts";
import { type Held, withoutHolder } from "../areas/debug-sessions/holders.ts";
import { asOf, moved } from "../areas/debug-sessions/state.ts";
import { addTraffic, stateOf } from "../areas/debug-sessions/store.ts";
import type { Db } from "../database/db.ts";
import type { Kept } from "../database/tables/kept.ts";
import { inTransaction } from "../kernel/call/transaction.ts";
import { unrequested } from "../kernel/call/unrequested.ts";
import type { Traffic } from "./pairing.ts";

/** Reads and writes the relay's sessions in the database. */
export class SessionLog {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #onRetry: () => void;

  constructor(db: Db, clock: Clock, onRetry: () => void) {
    this.#db = db;
    this.#clock = clock;
    this.#onRetry = onRetry;
  }

  transact<T>(work: (db: Db, now: Date) => Promise<T>): Promise<T> {
    const options = { readOnly: false, signal: new AbortController().signal, onRetry: this.#onRetry };
    return inTransaction(this.#db, options, (db) => work(db, this.#clock.wallNow()));
  }

  /**
   * Stores a change of state. If the session has already ended, the change is not allowed and the earlier end stays.
   */
  async move(
    id: string,
    to: DebugSessionState,
    why: { readonly closeReason?: CloseReason; readonly error?: Kept<StoredError> } = {},
  ): Promise<void> {
    await this.transact(async (db, now) => {
      const row = await db.selectFrom("debug_sessions").selectAll().where("id", "=", id).executeTakeFirst();
      if (row === undefined) return;
      const stored = stateOf(row);
      const before = asOf(stored, now);
      const next = moved(before, to, why) ?? before;
      if (next !== stored) await storeChange(unrequested(db, now), row, next);
    });
  }

  /** Adds what one pairing of both sides carried. */
  async addTraffic(id: string, { bytesIn, bytesOut }: Traffic): Promise<void> {
    await this.transact((db) => addTraffic(db, id, bytesIn, bytesOut));
  }

  /** The sessions among `ids` that may continue, with the time of their end. */
  async open(ids: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const now = this.#clock.wallNow();
    const rows = await this.#db
      .selectFrom("debug_sessions as s")
      .leftJoin("access_requests as a", "a.id", "s.access_request_id")
      .select(["s.id", "s.expires_at"])
      .where("s.id", "in", ids)
      .where("s.state", "in", ["pending", "running"])
      .where((eb) =>
        eb.or([
          eb("s.access_request_id", "is", null),
          eb.and([eb("a.status", "=", "customer-approved"), eb("a.approved_until", ">", now)]),
        ]),
      )
      .execute();
    return new Map(rows.map(({ id, expires_at }) => [id, expires_at]));
  }

  async stateOf(id: string): Promise<DebugSessionState | undefined> {
    const found = this.#db.selectFrom("debug_sessions").select("state").where("id", "=", id);
    return (await found.executeTakeFirst())?.state;
  }

  /** The sessions in which the key, sign-in or grant of a side is no longer valid. */
  withoutHolder(held: readonly Held[]): Promise<ReadonlySet<string>> {
    return withoutHolder(this.#db, held, this.#clock.wallNow());
  }
}
