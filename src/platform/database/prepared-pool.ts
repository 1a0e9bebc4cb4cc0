import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import pg from "pg";

/** A statement seen this often is prepared: the server keeps its plan on each connection that uses it. */
const WORTH_A_NAME = 5;
/** Limit for the server's memory, since each connection keeps every prepared statement. The API's routes use fewer. */
const MAX_NAMES = 256;
/** Rare texts, such as those with lists of many lengths, are forgotten above this number. */
const MAX_RARE = 1000;

/**
 * Statements with this text are not prepared. The best plan of a search depends on the text: a frequent one is found
 * among the newest rows, a rare one by an index. For a prepared statement the server may choose one plan for all texts.
 */
const SEARCH = " like ";

/** Decides which statements are prepared and under which names; the same for all connections of a pool. */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #rare = new Map<string, number>();
  #generation = 0;

  /** Undefined: not to be prepared. */
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

  /** Forces every statement to be prepared again, under another name. */
  renew(): void {
    this.#generation += 1;
    this.#names.clear();
  }
}

/**
 * A pool whose connections prepare frequent statements: parsing and planning is half of the server's work for a short
 * statement.
 */
export function preparing(pool: pg.Pool): PostgresPool {
  const names = new StatementNames();
  // Kysely identifies a connection by its client, so each connection keeps the same wrapper.
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
        // In a transaction the second query fails only because the first one aborted it: report the first error.
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
 * The table has changed since the statement was prepared: another replica, of a later version, has migrated. Checks the
 * server's routine name (plancache.c), because the message is in the server's language.
 */
export function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.routine === "RevalidateCachedQuery";
}

function isAborted(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "25P02";
}
