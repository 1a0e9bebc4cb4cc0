import { sql } from "kysely";
import type { Db } from "../../../src/platform/database/db.ts";

interface Column {
  readonly table: string;
  readonly columns: readonly string[];
}

/**
 * Copies the rows of all tables aside.
 *
 * @returns what puts them back in one transaction, as they were: the database is that of before, as after a restore.
 */
export async function backUp(db: Db): Promise<() => Promise<void>> {
  const { rows: tables } = await sql<Column>`
    select c.table_name as table, array_agg(c.column_name::text) as columns
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
    group by c.table_name`.execute(db);
  await db.transaction().execute(async (trx) => {
    await sql`create schema backup`.execute(trx);
    for (const { table } of tables) {
      await sql`create table ${sql.id("backup", table)} as table ${sql.id("public", table)}`.execute(trx);
    }
  });
  return () =>
    db.transaction().execute(async (trx) => {
      // Neither foreign keys nor triggers: what they have written is among the rows.
      await sql`set local session_replication_role = replica`.execute(trx);
      for (const { table, columns } of tables) {
        const names = sql.join(columns.map((name) => sql.id(name)));
        await sql`delete from ${sql.id("public", table)}`.execute(trx);
        await sql`
          insert into ${sql.id("public", table)} (${names}) overriding system value
          select ${names} from ${sql.id("backup", table)}`.execute(trx);
      }
      await sql`drop schema backup cascade`.execute(trx);
    });
}
