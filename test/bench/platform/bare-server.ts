import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import Fastify, { type FastifyInstance } from "fastify";
import pg from "pg";
import type { DatabaseLocation } from "../../../src/platform/database/open.ts";
import { ownUsage, serveCommands } from "./child.ts";
import type { Blank, Replay, ReplayStep } from "./replay.ts";

/** Runs statements: a connection of the pool, or the embedded database, inside or outside a transaction. */
interface Session {
  query(text: string, values: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

interface Store {
  alone(step: ReplayStep, given: Given): Promise<unknown[]>;
  together(steps: readonly ReplayStep[], begin: string, given: Given): Promise<unknown[][]>;
  close(): Promise<void>;
}

/** The values for the blanks of a statement. */
interface Given {
  readonly id: string;
  readonly name: string;
  readonly fresh: Map<string, string>;
}

let app: FastifyInstance | undefined;
let store: Store | undefined;

const commands = {
  /** Fastify without additions: JSON in and out, no validation. It sends the database the platform's statements. */
  async start({ database, replays }: { readonly database: DatabaseLocation; readonly replays: readonly Replay[] }) {
    const opened = "postgres" in database ? onServer(database.postgres) : await embedded(database.pglite);
    const server = Fastify();
    for (const replay of replays) serve(server, opened, replay);
    await server.listen({ host: "127.0.0.1", port: 0 });
    app = server;
    store = opened;
    const address = server.server.address();
    return { port: typeof address === "object" && address !== null ? address.port : 0 };
  },
  usage: ownUsage,
};

export type BareCommands = typeof commands;
serveCommands(commands, async () => {
  await app?.close();
  await store?.close();
});

function serve(server: FastifyInstance, opened: Store, replay: Replay): void {
  server.route<{ Params: { id?: string }; Body: { name?: string } | undefined }>({
    method: replay.method,
    url: replay.url,
    handler: async (request, reply) => {
      const given = { id: request.params.id ?? "", name: request.body?.name ?? "", fresh: new Map() };
      const answers: unknown[][] = [];
      for (const part of replay.parts) {
        if (part.begin === undefined) for (const step of part.steps) answers.push(await opened.alone(step, given));
        else answers.push(...(await opened.together(part.steps, part.begin, given)));
      }
      const rows = answers[replay.answer] ?? [];
      reply.code(replay.status);
      return replay.isList ? { items: rows, nextCursor: null } : rows[0];
    },
  });
}

function onServer(url: string): Store {
  // Reads types as the platform's pool does, with the same number of connections.
  const parse = pg.types.getTypeParser;
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    statement_timeout: 30_000,
    types: { getTypeParser: (oid: number, format) => (oid === 20 ? Number : parse(oid, format)) },
  });
  const once = async (steps: readonly ReplayStep[], begin: string, given: Given): Promise<unknown[][]> => {
    const client = await pool.connect();
    try {
      await client.query(begin);
      const rows = await each(client, steps, given);
      await client.query("commit");
      return rows;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  };
  return {
    alone: async ({ text, blanks }, given) => (await pool.query(text, values(blanks, given))).rows,
    async together(steps, begin, given) {
      for (;;) {
        try {
          return await once(steps, begin, given);
        } catch (error) {
          const lost = error instanceof pg.DatabaseError && (error.code === "40001" || error.code === "40P01");
          if (!lost) throw error;
        }
      }
    },
    close: () => pool.end(),
  };
}

async function embedded(folder: string): Promise<Store> {
  const db = await PGlite.create({ dataDir: join(folder, "database"), extensions: { pg_trgm } });
  return {
    alone: async ({ text, blanks }, given) => (await db.query(text, values(blanks, given))).rows,
    together: (steps, _begin, given) => db.transaction((transaction) => each(transaction, steps, given)),
    close: () => db.close(),
  };
}

async function each(session: Session, steps: readonly ReplayStep[], given: Given): Promise<unknown[][]> {
  const rows: unknown[][] = [];
  for (const { text, blanks } of steps) rows.push((await session.query(text, values(blanks, given))).rows);
  return rows;
}

function values(blanks: readonly Blank[], given: Given): unknown[] {
  return blanks.map((blank) => filled(blank, given));
}

function filled(blank: Blank, given: Given): unknown {
  switch (blank.from) {
    case "constant":
      return blank.value;
    case "id":
      return blank.template.replace("{}", given.id);
    case "name":
      return blank.template.replace("{}", given.name);
    case "now":
      return new Date();
    case "fresh": {
      const known = given.fresh.get(blank.which) ?? `${blank.prefix}${randomBytes(14).toString("hex")}`;
      given.fresh.set(blank.which, known);
      return known;
    }
  }
}
