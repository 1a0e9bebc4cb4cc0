import { PGlite } from "@electric-sql/pglite";
import { Kysely, PGliteDialect } from "kysely";
import { migrations } from "../database/migrations/all.ts";
import { withoutTables } from "./empty-database.ts";

/** A PGlite as it was before a migration, and that migration. */
export async function schemaBefore(
  name: string,
): Promise<{ readonly db: Kysely<unknown>; readonly migrate: () => Promise<void> }> {
  const db = new Kysely<unknown>({
    dialect: new PGliteDialect({ pglite: await PGlite.create(await withoutTables()) }),
  });
  const run = (each: string) => db.transaction().execute(async (transaction) => migrations[each]?.up(transaction));
  for (const each of Object.keys(migrations)) if (each < name) await run(each);
  return { db, migrate: () => run(name) };
}
