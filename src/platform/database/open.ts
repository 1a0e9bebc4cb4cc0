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

/** Where the data lies: embedded, in memory or in one folder that one process may open; or a PostgreSQL server. */
export type DatabaseLocation =
  | {
      readonly pglite: "memory" | (string & {});
      /** What it begins with, as PGlite dumps it. Much sooner there than an empty database with all its migrations. */
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
  /** A connection of the pool was cut, as when the server restarts; the next query opens another. */
  readonly onLost?: (error: Error) => void;
  /** About to run these; on tables of millions of rows they take minutes. */
  readonly onMigrations?: (names: readonly string[]) => void;
}

/**
 * Opens and migrates. Migrations only go forward, under a lock, so several replicas may start at once.
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

/** Of one process, when nothing else is configured. */
const MAX_CONNECTIONS = 10;

type OnLost = NonNullable<DatabaseEvents["onLost"]>;

function onServer(location: { readonly postgres: string; readonly maxConnections?: number }, onLost: OnLost): Dialect {
  const pool = new pg.Pool({
    ...ASKING,
    connectionString: location.postgres,
    stream: corkedSocket,
    max: location.maxConnections ?? MAX_CONNECTIONS,
    // A full pool answers 503 rather than holding the caller until its own limit.
    connectionTimeoutMillis: 5_000,
    // The request's own limit is 30 s; what runs longer has nobody to answer to.
    statement_timeout: 30_000,
  });
  return pooled(async () => listened(pool, onLost));
}

/** One connection, which is lent to one borrower at a time, in order. */
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

/** One connection needs no isolation: a transaction is over before the next begins, and tracking what it reads costs. */
function alone(driver: Driver): Driver {
  const begin = driver.beginTransaction.bind(driver);
  driver.beginTransaction = (connection, { accessMode }) =>
    begin(connection, accessMode === undefined ? {} : { accessMode });
  return driver;
}

/** `bigint`, which pg gives as text: counts and sequences stay far under 2^53. */
const INT8 = 20;

const ASKING: pg.PoolConfig = {
  pipeline: true,
  types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
};

/**
 * Without a listener a cut connection ends the process. The pool listens to idle ones only; a lent one is told by its own
 * event, and whoever borrowed it by the query that fails.
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
