import { sql } from "kysely";
import { expect, it } from "vitest";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";

onEachDatabase(
  "the sweep of tables",
  (world) => {
    it.runIf(world.database === "PGlite")("gives an embedded table's space back, and counts its rows", async () => {
      const { db } = world.platform;
      await sql`create table worn (id int primary key, beat int not null)`.execute(db);
      await sql`insert into worn select n, 0 from generate_series(1, 1000) n`.execute(db);
      const bytes = async (): Promise<number> => {
        const { rows } = await sql<{ n: number }>`select pg_relation_size('worn') as n`.execute(db);
        return Number(rows[0]?.n);
      };
      const fresh = await bytes();
      for (let beat = 1; beat <= 20; beat += 1) {
        await sql`update worn set beat = ${beat}`.execute(db);
        // Counted at most once a second otherwise.
        await sql`select pg_stat_force_next_flush()`.execute(db);
        await world.platform.sweep();
      }
      expect(await bytes()).toBeLessThan(4 * fresh);
      const { rows } = await sql<{ n: number }>`select reltuples as n from pg_class where relname = 'worn'`.execute(db);
      expect(rows).toEqual([{ n: 1000 }]);
    });
  },
  OWN_PLATFORM,
);
