import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { Db } from "../../database/db.ts";

/**
 * How long a check waits for others to join it: a part of the 5 s for which a poll may continue after its key ended
 * (§1.1).
 */
const GATHER_MS = 200;

interface Question {
  readonly ids: Set<string>;
  readonly dead: Promise<ReadonlySet<string>>;
}

/**
 * Checks whether keys are still valid, many in one statement, because thousands of held polls ask every few seconds.
 */
export class LiveKeys {
  readonly #db: Db;
  #open: Question | undefined;

  constructor(db: Db) {
    this.#db = db;
  }

  /** False once the key has been revoked, disabled or has expired. */
  async lives(id: string, now: Date): Promise<boolean> {
    this.#open ??= this.#ask(now);
    const { ids, dead } = this.#open;
    ids.add(id);
    return !(await dead).has(id);
  }

  #ask(now: Date): Question {
    const ids = new Set<string>();
    const answer = async (): Promise<ReadonlySet<string>> => {
      // Real time and not the injected clock: this limits the load on the database.
      await delay(GATHER_MS);
      this.#open = undefined;
      const { rows } = await sql<{ id: string }>`
        select a.id from unnest(${[...ids]}::text[]) as a (id)
        where not exists (
          select from api_keys k
          where k.id = a.id and k.revoked_at is null and k.enabled and (k.expires_at is null or k.expires_at > ${now})
        )`.execute(this.#db);
      return new Set(rows.map((row) => row.id));
    };
    return { ids, dead: answer() };
  }
}
