import pg from "pg";
import { expect, it } from "vitest";
import { findPostgres } from "./postgres.ts";

const { SALLYPORT_TEST_POSTGRES: named } = process.env;
/** A server that a person has named has the passwords that they gave it. */
const start = named ? undefined : findPostgres();

it.skipIf(start === undefined)("lets in nobody without the password: it would run programs for them", async () => {
  const database = await start?.();
  const url = new URL(database?.url ?? "");
  try {
    expect(url.password).not.toBe("");
    for (const password of ["", "postgres"]) {
      url.password = password;
      const client = new pg.Client({ connectionString: url.href });
      await expect(client.connect()).rejects.toThrow(/password/);
      await client.end().catch(() => undefined);
    }
  } finally {
    await database?.stop();
  }
});
