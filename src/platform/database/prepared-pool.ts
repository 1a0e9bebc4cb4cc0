import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import pg from "pg";

/** Seen this often, a statement is worth a name: the server keeps its plan, on each connection that said it. */
const WORTH_A_NAME = 5;
/** More would burden the server: it keeps every one on every connection. The table's routes say fewer. */
const MAX_NAMES = 256;
/** Rare texts, as those with lists of many lengths, are forgotten in the end. */
const MAX_RARE = 1000;

/**
 * A search is planned for what it looks for: what is everywhere is soon found among the newest rows, what is rare by an
 * index. Of a prepared statement the server may settle on one way for all.
 */
const SEARCH = " like ";

/** Which statements are prepared, by which names; the same on all connections of a pool. */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #rare = new Map<string, number>();
  #generation = 0;

  /** Undefined: not worth one. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_NAMES || text.includes(SEARCH)) return known;
    const seen = (this.#rare.get(text) ?? 0) + 1;
    if (seen < WORTH_A_NAME) {
      if (this.#rare.size >= MAX_RARE) this.#rare.clear();
      this.#rare.set(text, seen);
      return undefined;
    }
    this.#rare.delete(text);
    const name = `s${this.#generation}_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }

  /** Every statement is prepared anew, under another name. */
  renew(): void {
    this.#generation += 1;
    this.#names.clear();
  }
}

/**
 * A pool whose connections prepare what they say often: half of the server's work for a short statement is to read and
 * to plan it.
 */
export function preparing(pool: pg.Pool): PostgresPool {
  const names = new StatementNames();
  // Kysely knows a connection by its client, so each has one of ours for life.
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect();
      const known = clients.get(client) ?? preparingClient(client, names);
      clients.set(client, known);
      return known;
    },
    end: () => pool.end(),
  };
}

function preparingClient(client: pg.PoolClient, names: StatementNames): PostgresPoolClient {
  const query = async (text: string, parameters: readonly unknown[]): Promise<unknown> => {
    const values = [...parameters];
    const name = values.length > 0 ? names.nameOf(text) : undefined;
    if (name === undefined) return client.query(text, values);
    try {
      return await client.query({ name, text, values });
    } catch (error) {
      if (!isStalePlan(error)) throw error;
      names.renew();
      return await client.query(text, values).catch((second: unknown) => {
        // Within a transaction, which is lost: what lost it is the news.
        throw isAborted(second) ? error : second;
      });
    }
  };
  return {
    query: query as <R>(text: unknown, parameters?: readonly unknown[]) => Promise<PostgresQueryResult<R>> & never,
    release: (destroy) => client.release(destroy),
  };
}

/**
 * The table has changed since the statement was prepared: another replica, of a later version, has migrated. The
 * routine is the server's (plancache.c); its message is in the server's language.
 */
export function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.routine === "RevalidateCachedQuery";
}

function isAborted(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "25P02";
}
