import { sql } from "kysely";
import type { OpenDatabase } from "../../database/open.ts";
import type { Sweep } from "./sweep.ts";

/**
 * What a PostgreSQL server does by itself and the embedded one does not: it gives the space of old rows back to new ones,
 * and counts, for the planner, where much has changed. When, is the server's own rule (its settings `autovacuum_*`).
 */
export function tableUpkeep(kind: OpenDatabase["kind"]): Sweep {
  if (kind === "postgres") return async () => undefined;
  return async (db) => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_stat_user_tables
      where n_dead_tup > 50 + 0.2 * n_live_tup or n_mod_since_analyze > 50 + 0.1 * n_live_tup`.execute(db);
    // One by one, or every request would wait for all of them.
    for (const { name } of rows) await sql`vacuum (analyze) ${sql.table(name)}`.execute(db);
  };
}
