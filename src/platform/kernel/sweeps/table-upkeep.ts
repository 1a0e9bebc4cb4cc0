import { sql } from "kysely";
import type { OpenDatabase } from "../../database/open.ts";
import type { Sweep } from "./sweep.ts";

/**
 * Vacuums and analyses tables. A PostgreSQL server does it by itself, the embedded database does not. It frees the
 * space of old rows and updates the planner's statistics of tables that changed much, by the server's own thresholds
 * (settings `autovacuum_*`).
 */
export function tableUpkeep(kind: OpenDatabase["kind"]): Sweep {
  if (kind === "postgres") return async () => undefined;
  return async (db) => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_stat_user_tables
      where n_dead_tup > 50 + 0.2 * n_live_tup or n_mod_since_analyze > 50 + 0.1 * n_live_tup`.execute(db);
    // One table at a time, or every request would wait for all of them.
    for (const { name } of rows) await sql`vacuum (analyze) ${sql.table(name)}`.execute(db);
  };
}
