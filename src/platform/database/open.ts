import { join } from "node:path";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { createPgConfig } from "@electric-sql/pglite/node-postgres";
import { type Dialect, type Driver, Kysely, PostgresDialect, type PostgresPool } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import pg from "pg";
import { BatchingPGlite, corkedSocket } from "./batching.ts";
import { type CountedDialect, counted } from "./connection-count.ts";
import type { Database, Db } from "./db.ts";
import { lockFolder } from "./folder-lock.ts";
import { migrations } from "./migrations/all.ts";
import { pipelined } from "./pipelined-driver.ts";
import { preparing } from "./prepared-pool.ts";

/**
 * Where the data is: an embedded database, in memory or in a folder that only one process may open; or a PostgreSQL
 * server.
 */
export type DatabaseLocation =
  | {
      readonly pglite: "memory" | (string & {});
      /**
       * Initial content, as PGlite dumps it. Loading it is much faster than running all migrations on an empty
       * database.
       */
      readonly dump?: Blob;
    }
  | { readonly postgres: string; readonly maxConnections?: number };

export interface OpenDatabase {
  readonly db: Db;
  readonly kind: "pglite" | "postgres";
  readonly connections: CountedDialect["connections"];
  close(): Promise<void>;
}

export interface DatabaseEvents {
  /** A connection of the pool was lost, for example because the server restarted. The next query opens another. */
  readonly onLost?: (error: Error) => void;
  /** Called before these migrations run; on tables of millions of rows they take minutes. */
  readonly onMigrations?: (names: readonly string[]) => void;
}

/**
 * Opens and migrates the database. Migrations only go forward and run under a lock, so several replicas may start at
 * once.
 *
 * @throws FolderInUseError while another process has the folder open.
 */
export async function openDatabase(
  location: DatabaseLocation,
  { onLost = () => undefined, onMigrations = () => undefined }: DatabaseEvents = {},
): Promise<OpenDatabase> {
  const kind = "pglite" in location ? "pglite" : "postgres";
  const { dialect, connections } =
    "pglite" in location
      ? counted(embedded(location, onLost), 1)
      : counted(onServer(location, onLost), location.maxConnections ?? MAX_CONNECTIONS);
  const inFolder = "pglite" in location && location.pglite !== "memory";
  const release = inFolder ? await lockFolder(location.pglite) : () => undefined;
  const db = new Kysely<Database>({ dialect });
  try {
    await migrate(db, migrations, onMigrations);
  } catch (error) {
    await db.destroy();
    release();
    throw error;
  }
  return { db, kind, connections, close: () => db.destroy().finally(release) };
}

async function migrate(
  db: Db,
  all: Readonly<Record<string, Migration>>,
  onMigrations: (names: readonly string[]) => void,
): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...all }) } });
  const wanted = (await migrator.getMigrations()).filter(({ executedAt }) => executedAt === undefined);
  if (wanted.length > 0) onMigrations(wanted.map(({ name }) => name));
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw new Error("a migration failed", { cause: error });
}

/** Connections of one process, unless configured. */
const MAX_CONNECTIONS = 10;

type OnLost = NonNullable<DatabaseEvents["onLost"]>;

function onServer(location: { readonly postgres: string; readonly maxConnections?: number }, onLost: OnLost): Dialect {
  const pool = new pg.Pool({
    ...ASKING,
    connectionString: location.postgres,
    stream: corkedSocket,
    max: location.maxConnections ?? MAX_CONNECTIONS,
    // When all connections are busy, the request gets a 503 after this time and not only at its own limit.
    connectionTimeoutMillis: 5_000,
    // A request ends after 30 s; no caller waits for a statement that runs longer.
    statement_timeout: 30_000,
  });
  return pooled(async () => listened(pool, onLost));
}

/** One connection, lent to one borrower at a time, in order of request. */
function embedded({ pglite: folder, dump }: Extract<DatabaseLocation, { pglite: string }>, onLost: OnLost): Dialect {
  return pooled(async () => {
    const pglite = new BatchingPGlite({
      ...(folder !== "memory" && { dataDir: join(folder, "database") }),
      ...(dump !== undefined && { loadDataDir: dump }),
      extensions: { pg_trgm },
    });
    await pglite.waitReady;
    const pool = listened(new pg.Pool({ ...ASKING, ...createPgConfig(pglite), max: 1, idleTimeoutMillis: 0 }), onLost);
    return { ...pool, end: () => pool.end().finally(() => pglite.close()) };
  }, alone);
}

/**
 * Removes the isolation level: with one connection transactions never overlap, and tracking what they read costs time.
 */
function alone(driver: Driver): Driver {
  const begin = driver.beginTransaction.bind(driver);
  driver.beginTransaction = (connection, { accessMode }) =>
    begin(connection, accessMode === undefined ? {} : { accessMode });
  return driver;
}

/** `bigint`, which pg returns as text. Counts and sequences stay far below 2^53. */
const INT8 = 20;

const ASKING: pg.PoolConfig = {
  pipeline: true,
  types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
};

/**
 * Without a listener, a lost connection ends the process. The pool reports only idle connections. For a lent one the
 * failing query rejects at its borrower, and the connection's own error event is ignored.
 */
function listened(pool: pg.Pool, onLost: OnLost): PostgresPool {
  pool.on("error", onLost);
  pool.on("connect", (client) => void client.on("error", () => undefined));
  return preparing(pool);
}

function pooled(open: () => Promise<PostgresPool>, changed = (driver: Driver): Driver => driver): Dialect {
  const dialect = new PostgresDialect({ pool: open });
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => pipelined(changed(dialect.createDriver())),
  };
}
