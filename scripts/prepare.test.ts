import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isRunning } from "../src/base/testing/is-running.ts";
import { until } from "../src/base/testing/until.ts";

// Runs the script as a process in its own checkout, with an `npm` that only writes down how it was called.

const WANTED = {
  "": {},
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/b": { version: "2.0.0", integrity: "sha512-b", optional: true },
};
const { "": _, ...INSTALLED } = WANTED;

let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-test-"));
  await mkdir(join(root, "scripts"));
  await cp(join(import.meta.dirname, "prepare.mjs"), join(root, "scripts", "prepare.mjs"));
  await write("package-lock.json", JSON.stringify({ packages: WANTED }));
});
afterEach(() => rm(root, { recursive: true }));

async function write(file: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(join(root, file)), { recursive: true });
  await writeFile(join(root, file), text, { mode });
}

async function installed(packages: object): Promise<void> {
  await write("node_modules/.package-lock.json", JSON.stringify({ packages }));
  await write("node_modules/node/bin/node", "");
}

interface Ended {
  readonly code: number | null;
  readonly said: string;
  readonly called: string;
}

/** @param npm what the fake npm does after it has written down its arguments */
async function prepare(npm = "exit 0"): Promise<Ended> {
  return (await start(npm)).ended;
}

async function start(npm: string) {
  await write("bin/npm", `#!/bin/sh\necho "$@" >> "${root}/called"\n${npm}\n`, 0o755);
  const child = spawn(process.execPath, [join(root, "scripts", "prepare.mjs")], {
    env: { PATH: `${join(root, "bin")}:/usr/bin:/bin` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = once(child, "close").then(
    async ([code]): Promise<Ended> => ({
      ...{ code, said },
      called: await readFile(join(root, "called"), "utf8").catch(() => ""),
    }),
  );
  return { ended, said: () => said, kill: (name: NodeJS.Signals) => child.kill(name) };
}

const INSTALLS = `mkdir -p node_modules/node/bin && touch node_modules/node/bin/node`;

it("says nothing and installs nothing when node_modules is what package-lock.json names", async () => {
  await installed(INSTALLED);
  expect(await prepare()).toEqual({ code: 0, said: "", called: "" });
});

it("does not miss an optional package of another system", async () => {
  await installed({ "node_modules/a": INSTALLED["node_modules/a"] });
  expect(await prepare()).toMatchObject({ code: 0, called: "" });
});

it.each<[string, string, () => Promise<void>]>([
  ["nothing is installed", "nothing is installed yet", async () => undefined],
  ["an installation was cut short", "did not end", () => write("node_modules/node/bin/node", "")],
  [
    "a version changed",
    "package-lock.json has changed",
    () => installed({ ...INSTALLED, "node_modules/a": { version: "0.9.0", integrity: "sha512-a" } }),
  ],
  ["a package is missing", "package-lock.json has changed", () => installed({})],
  [
    "Node 24 is missing",
    "Node 24 is missing",
    () => write("node_modules/.package-lock.json", JSON.stringify({ packages: INSTALLED })),
  ],
])("installs exactly what the lock names when %s, and says why", async (_name, why, arrange) => {
  await arrange();
  const { code, said, called } = await prepare(INSTALLS);
  expect({ code, called }).toEqual({
    code: 0,
    called: "install --no-save --include=dev --no-audit --no-fund --loglevel=error\n",
  });
  expect(said).toContain(why);
  expect(said).toContain("installed in");
});

it("passes on npm's words and its exit code when the installation fails", async () => {
  const { code, said } = await prepare("echo 'npm error network' >&2; exit 7");
  expect(code).toBe(7);
  expect(said).toContain("npm error network");
});

it("fails when npm is content but Node 24 did not come", async () => {
  const { code, said } = await prepare();
  expect(code).toBe(1);
  expect(said).toContain("ignore-scripts");
});

const HANGS = `echo $$ > "${"$"}{0%/*}/../npm.pid"; sleep 600 & echo $! > "${"$"}{0%/*}/../sleep.pid"; wait`;
const pidIn = (file: string) =>
  until(async () => Number(await readFile(join(root, file), "utf8").catch(() => "0")) || undefined);

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("ends npm with all that it has started at %s, and says so", async (name, code) => {
  const first = await start(HANGS);
  const pids = [await pidIn("npm.pid"), await pidIn("sleep.pid")];
  first.kill(name);
  expect(await first.ended).toMatchObject({ code, said: expect.stringContaining("stopping the installation …") });
  for (const pid of pids) await until(async () => !isRunning(pid as number));
  expect(await prepare(INSTALLS)).toMatchObject({ code: 0 });
});

it("waits for another start that installs, and installs nothing again", async () => {
  await write("node_modules/next.json", JSON.stringify({ packages: INSTALLED }));
  const installs = `${INSTALLS}; while [ ! -e go ]; do sleep 0.05; done; mv node_modules/next.json node_modules/.package-lock.json`;
  const first = await start(installs);
  await until(async () => first.said().includes("installing packages"));
  const second = await start(installs);
  await until(async () => second.said().includes("another start installs the packages (process "));
  await write("go", "");
  expect(await first.ended).toMatchObject({ code: 0 });
  const { code, said, called } = await second.ended;
  expect({ code, times: called.split("\n").length - 1 }).toEqual({ code: 0, times: 1 });
  expect(said).not.toContain("installing packages");
});

it("waits for the npm of a start that was killed", async () => {
  const first = await start(HANGS);
  const pid = (await pidIn("npm.pid")) as number;
  await until(async () => (await readlink(join(root, ".installing"))).includes(`+${pid}@`));
  first.kill("SIGKILL");
  const second = await start(INSTALLS);
  await until(async () => second.said().includes("another start installs the packages"));
  process.kill(-pid, "SIGKILL");
  expect(await second.ended).toMatchObject({ code: 0 });
});

it.each(["999999999", "999999999+999999998"])("takes over a lock whose owner %s is gone", async (pids) => {
  await symlink(`${pids}@${hostname()}`, join(root, ".installing"));
  expect(await prepare(INSTALLS)).toMatchObject({ code: 0, said: expect.not.stringContaining("another start") });
  expect((await readdir(root)).filter((name) => name.startsWith(".installing"))).toEqual([]);
});

it("runs before each script of package.json", async () => {
  const { scripts } = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8"));
  const names = Object.keys(scripts).filter((name) => !(name.startsWith("pre") && name.slice(3) in scripts));
  expect(names).toContain("check");
  for (const name of names) expect([name, scripts[`pre${name}`]]).toEqual([name, "node scripts/prepare.mjs"]);
});
