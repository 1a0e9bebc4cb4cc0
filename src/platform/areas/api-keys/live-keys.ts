import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { Db } from "../../database/db.ts";

/** How long a question waits for others to join it; a part of the 5 s that a poll may outlive its key (§1.1). */
const GATHER_MS = 200;

interface Question {
  readonly ids: Set<string>;
  readonly dead: Promise<ReadonlySet<string>>;
}

/** Tells whether keys still hold, many in one statement: thousands of held polls ask again every few seconds. */
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
      // Not the injected clock: this is about the database's load, not about time.
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
