import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { type Dialect, type Driver, Kysely, PGliteDialect, PostgresDialect } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import pg from "pg";
import type { AccessRequestTables } from "./areas/access-requests/store.ts";
import type { ApiKeyTables } from "./areas/api-keys/store.ts";
import type { CommandTables } from "./areas/commands/store.ts";
import type { DebugSessionTables } from "./areas/debug-sessions/store.ts";
import type { DeploymentGroupTables } from "./areas/deployment-groups/store.ts";
import type { DeploymentTables } from "./areas/deployments/store.ts";
import type { EventTables } from "./areas/events/store.ts";
import type { GitNamespaceTables } from "./areas/git-namespaces/store.ts";
import type { InvitationTables } from "./areas/invitations/store.ts";
import type { MachineTables } from "./areas/machines/store.ts";
import type { ManagerTables } from "./areas/managers/store.ts";
import type { OperationTables } from "./areas/operations/store.ts";
import type { PackageTables } from "./areas/packages/store.ts";
import type { ProjectTables } from "./areas/projects/store.ts";
import type { ReleaseTables } from "./areas/releases/store.ts";
import type { SyncTables } from "./areas/sync/store.ts";
import type { WorkFeedTables } from "./areas/work-feed/store.ts";
import type { WorkspaceTables } from "./areas/workspaces/store.ts";
import { type CountedDialect, counted } from "./connection-count.ts";
import { lockFolder } from "./folder-lock.ts";
import type { IdentityTables } from "./identity/tables.ts";
import type { KernelTables } from "./kernel/tables.ts";
import { migrations } from "./migrations/all.ts";
import { pipelined } from "./pipelined-driver.ts";
import { preparing } from "./prepared-pool.ts";

/** Every table, composed of the areas' own. Columns are the SQL names. An area adds its line. */
export interface Database
  extends KernelTables,
    ApiKeyTables,
    MachineTables,
    ManagerTables,
    EventTables,
    WorkFeedTables,
    ProjectTables,
    DebugSessionTables,
    DeploymentGroupTables,
    DeploymentTables,
    ReleaseTables,
    PackageTables,
    SyncTables,
    CommandTables,
    OperationTables,
    AccessRequestTables,
    IdentityTables,
    WorkspaceTables,
    InvitationTables,
    GitNamespaceTables {}

/** The pool or a transaction: store functions cannot tell and need not. */
export type Db = Kysely<Database>;

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

/**
 * Opens and migrates. Migrations only go forward, under a lock, so several replicas may start at once.
 *
 * @param onLost a connection of the pool was cut, as when the server restarts; the next query opens another.
 * @throws FolderInUseError while another process has the folder open.
 */
export async function openDatabase(
  location: DatabaseLocation,
  onLost: (error: Error) => void = () => undefined,
): Promise<OpenDatabase> {
  const kind = "pglite" in location ? "pglite" : "postgres";
  const { dialect, connections } =
    "pglite" in location
      ? counted(embedded(location), 1)
      : counted(server(location, onLost), location.maxConnections ?? MAX_CONNECTIONS);
  const inFolder = "pglite" in location && location.pglite !== "memory";
  const release = inFolder ? await lockFolder(location.pglite) : () => undefined;
  const db = new Kysely<Database>({ dialect });
  try {
    await migrate(db, migrations);
  } catch (error) {
    await db.destroy();
    release();
    throw error;
  }
  return { db, kind, connections, close: () => db.destroy().finally(release) };
}

async function migrate(db: Db, all: Readonly<Record<string, Migration>>): Promise<void> {
  const provider = { getMigrations: async () => ({ ...all }) };
  const { error } = await new Migrator({ db, provider }).migrateToLatest();
  if (error !== undefined) throw new Error("a migration failed", { cause: error });
}

/** Of one process, when nothing else is configured. */
const MAX_CONNECTIONS = 10;

function server(
  location: { readonly postgres: string; readonly maxConnections?: number },
  onLost: (error: Error) => void,
): Dialect {
  const parsers = { getTypeParser: pg.types.getTypeParser };
  const pool = new pg.Pool({
    connectionString: location.postgres,
    max: location.maxConnections ?? MAX_CONNECTIONS,
    // A full pool answers 503 rather than holding the caller until its own limit.
    connectionTimeoutMillis: 5_000,
    // The request's own limit is 30 s; what runs longer has nobody to answer to.
    statement_timeout: 30_000,
    pipeline: true,
    types: { getTypeParser: (oid: number, format) => (oid === INT8 ? Number : parsers.getTypeParser(oid, format)) },
  });
  // Without a listener a cut connection ends the process. The pool listens to idle ones only; a lent one is told by
  // its own event, and whoever borrowed it by the query that fails.
  pool.on("error", onLost);
  pool.on("connect", (client) => void client.on("error", () => undefined));
  return withDriver(new PostgresDialect({ pool: preparing(pool) }), pipelined);
}

/** `bigint`: pg gives text, PGlite a number; counts and sequences stay far under 2^53. */
const INT8 = 20;

/**
 * Kysely's PGlite dialect hands the one connection to everybody at once, so a query would run inside another's
 * transaction. Here a connection is lent to one borrower at a time, in order.
 */
function embedded({ pglite: folder, dump }: Extract<DatabaseLocation, { pglite: string }>): Dialect {
  let opened: PGlite | undefined;
  const open = async (): Promise<PGlite> => {
    opened = await PGlite.create({
      ...(folder !== "memory" && { dataDir: join(folder, "database") }),
      ...(dump !== undefined && { loadDataDir: dump }),
      extensions: { pg_trgm },
    });
    return opened;
  };
  return withDriver(new PGliteDialect({ pglite: open }), (driver) => lendOnce(driver, (text) => opened?.exec(text)));
}

function withDriver(dialect: Dialect, changed: (driver: Driver) => Driver): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => changed(dialect.createDriver()),
  };
}

/**
 * A driver whose connection is held by one borrower at a time; the others wait in order.
 *
 * @param say runs a statement without parameters, in one step of the protocol in place of a query's five. Begins and ends
 * what only reads, for the inner driver knows of no settings; alone on the database, any transaction is isolated.
 */
function lendOnce(driver: Driver, say: (text: string) => Promise<unknown> | undefined): Driver {
  let readOnly = false;
  let free: Promise<void> = Promise.resolve();
  let giveBack = (): void => undefined;
  return {
    init: (options) => driver.init(options),
    async acquireConnection(options) {
      const mine = Promise.withResolvers<void>();
      const before = free;
      free = mine.promise;
      await before;
      giveBack = mine.resolve;
      return driver.acquireConnection(options);
    },
    async beginTransaction(connection, settings) {
      readOnly = settings.accessMode === "read only";
      await (readOnly ? say("begin read only") : driver.beginTransaction(connection, settings));
    },
    async commitTransaction(connection) {
      await (readOnly ? say("commit") : driver.commitTransaction(connection));
    },
    async rollbackTransaction(connection) {
      await (readOnly ? say("rollback") : driver.rollbackTransaction(connection));
    },
    async releaseConnection() {
      giveBack();
    },
    destroy: (options) => driver.destroy(options),
  };
}
