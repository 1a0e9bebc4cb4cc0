import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

export interface TestPostgres {
  /** Of a database of its own. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * How to get a PostgreSQL on this machine, if there is a way: `SALLYPORT_TEST_POSTGRES` names a server where databases
 * may be created, or Debian's programs are installed and one is started for the caller.
 */
export function findPostgres(): (() => Promise<TestPostgres>) | undefined {
  // biome-ignore lint/style/noProcessEnv: the one setting of the tests.
  const named = process.env.SALLYPORT_TEST_POSTGRES;
  if (named !== undefined && named !== "") return () => onNamedServer(named);
  const programs = debianPrograms();
  return programs === undefined ? undefined : () => startOwn(programs);
}

function debianPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const newestFirst = readdirSync(root).sort((a, b) => Number(b) - Number(a));
  return newestFirst.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

async function onNamedServer(server: string): Promise<TestPostgres> {
  const database = `sallyport_test_${randomBytes(6).toString("hex")}`;
  await query(server, `create database ${database}`);
  const url = new URL(server);
  url.pathname = `/${database}`;
  return { url: url.href, stop: () => dropped(server, database) };
}

/** A pool says that it is closed before its sockets are; dropping by force then would tell a test of lost connections. */
async function dropped(server: string, database: string): Promise<void> {
  const deadline = performance.now() + 5_000;
  for (;;) {
    try {
      return await query(server, `drop database ${database}`);
    } catch (error) {
      const isInUse = error instanceof pg.DatabaseError && error.code === "55006";
      if (!isInUse || performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function startOwn(programs: string): Promise<TestPostgres> {
  const owner = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "sallyport-pg-"));
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, "data");
  // initdb and postgres refuse to run as root, and must not inherit a working directory they cannot read.
  const options = { cwd: folder, stdio: "ignore", ...owner } as const;
  execFileSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
    options,
  );
  const port = await freePort();
  const settings = ["fsync=off", "full_page_writes=off", "listen_addresses=127.0.0.1", `port=${port}`];
  const flags = [...settings, `unix_socket_directories=${folder}`].flatMap((setting) => ["-c", setting]);
  const server = spawn(join(programs, "postgres"), ["-D", data, ...flags], options);
  // A test runner that is killed must not leave a server behind.
  const onExit = (): void => {
    server.kill("SIGQUIT");
  };
  process.once("exit", onExit);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
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

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
