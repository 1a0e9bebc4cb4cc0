import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import pg from "pg";

export interface TestPostgres {
  /** Of a database of its own. */
  readonly url: string;
  stop(): Promise<void>;
}

/** What a database begins with. Made once on the server of a run; databases of it are copies. */
export interface Content {
  readonly name: string;
  fill(url: string): Promise<void>;
}

/**
 * How to get a PostgreSQL on this machine, if there is a way: `SALLYPORT_TEST_POSTGRES` names a server where databases
 * may be created, shared-databases.ts offers the one of the run, or Debian's programs are installed and one is started
 * for the caller.
 */
export function findPostgres(): ((content?: Content) => Promise<TestPostgres>) | undefined {
  // biome-ignore lint/style/noProcessEnv: settings of the tests.
  const { SALLYPORT_TEST_POSTGRES: named, SALLYPORT_TEST_POSTGRES_SOCKET: offered } = process.env;
  if (named !== undefined && named !== "") return filled(() => onServer(named));
  if (offered !== undefined) return (content) => onServerOfRun(offered, content);
  const programs = debianPrograms();
  return programs === undefined ? undefined : filled(() => startOwn(programs));
}

function filled(start: () => Promise<TestPostgres>): (content?: Content) => Promise<TestPostgres> {
  return async (content) => {
    const server = await start();
    await content?.fill(server.url);
    return server;
  };
}

function debianPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const newestFirst = readdirSync(root).sort((a, b) => Number(b) - Number(a));
  return newestFirst.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

async function onServer(server: string, template?: string): Promise<TestPostgres> {
  const database = `sallyport_test_${randomBytes(6).toString("hex")}`;
  const create = `create database ${database}`;
  await (template === undefined ? query(server, create) : onceUnused(server, `${create} template ${template}`));
  return { url: urlOf(server, database), stop: () => onceUnused(server, `drop database ${database}`) };
}

/** @param socket where it is offered */
async function onServerOfRun(socket: string, content: Content | undefined): Promise<TestPostgres> {
  const server = await text(connect(socket));
  if (!server.startsWith("postgres:")) throw new Error(`PostgreSQL did not start: ${server}`);
  if (content !== undefined) await makeOnce(server, content);
  return onServer(server, content?.name);
}

/** Other workers wait until it is there. */
async function makeOnce(server: string, { name, fill }: Content): Promise<void> {
  await connected(server, async (client) => {
    // Held until the connection ends.
    await client.query("select pg_advisory_lock(1)");
    const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
    if (rowCount !== 0) return;
    await client.query(`create database ${name}`);
    await fill(urlOf(server, name));
  });
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Of a database that its last user has closed. A pool says that it is closed before its sockets are; dropping by force
 * then would tell a test of lost connections.
 */
async function onceUnused(server: string, statement: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await query(server, statement);
    } catch (error) {
      const isInUse = error instanceof pg.DatabaseError && error.code === "55006";
      if (!isInUse || performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Nothing outlives the run, and no table lives long enough to be worth compiled queries or a vacuum. */
const CHEAP = [
  ...["fsync=off", "full_page_writes=off", "synchronous_commit=off", "wal_level=minimal", "max_wal_senders=0"],
  ...["autovacuum=off", "jit=off"],
];

async function startOwn(programs: string): Promise<TestPostgres> {
  const owner = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "sallyport-pg-"));
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const [data, passwordFile] = [join(folder, "data"), join(folder, "password")];
  // Who may connect as its owner may run programs: `copy … from program`. The port is open to each user of this machine.
  const password = randomBytes(16).toString("hex");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (owner !== undefined) chownSync(passwordFile, owner.uid, owner.gid);
  // initdb and postgres refuse to run as root, and must not inherit a working directory they cannot read.
  const options = { cwd: folder, stdio: "ignore", ...owner } as const;
  execFileSync(
    join(programs, "initdb"),
    [
      ...["-D", data, "-U", "postgres", "-A", "scram-sha-256", `--pwfile=${passwordFile}`],
      ...["--no-sync", "-E", "UTF8", "--locale=C"],
    ],
    options,
  );
  rmSync(passwordFile);
  const port = await freePort();
  const settings = [...CHEAP, "listen_addresses=127.0.0.1", `port=${port}`, `unix_socket_directories=${folder}`];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  const server = spawn(join(programs, "postgres"), ["-D", data, ...flags], options);
  // A test runner that is killed must not leave a server behind.
  const onExit = (): void => {
    server.kill("SIGQUIT");
  };
  process.once("exit", onExit);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  await answering(url, server);
  return {
    url,
    async stop() {
      const gone = new Promise((resolve) => server.once("exit", resolve));
      // Immediate shutdown: nothing in it is worth keeping.
      server.kill("SIGQUIT");
      await gone;
      process.off("exit", onExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Undefined when this process is not root and so may run PostgreSQL itself. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string): number => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch (error) {
      if (user === "nobody") throw new Error("no unprivileged user to run PostgreSQL as", { cause: error });
    }
  }
  return undefined;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === "object" ? resolve(address.port) : reject(address)));
    });
  });
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      return await query(url, "select 1");
    } catch (error) {
      if (server.exitCode !== null) throw new Error("PostgreSQL ended at its start", { cause: error });
      if (performance.now() > deadline) throw new Error("PostgreSQL does not answer", { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function query(url: string, statement: string): Promise<void> {
  await connected(url, (client) => client.query(statement));
}

async function connected(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
