import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

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

/** @param npm what the fake npm does after it has written down its arguments */
async function prepare(
  npm = "exit 0",
): Promise<{ readonly code: number | null; readonly said: string; readonly called: string }> {
  await write("bin/npm", `#!/bin/sh\necho "$@" >> "${root}/called"\n${npm}\n`, 0o755);
  const child = spawn(process.execPath, [join(root, "scripts", "prepare.mjs")], {
    env: { PATH: `${join(root, "bin")}:/usr/bin:/bin` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, said, called: await readFile(join(root, "called"), "utf8").catch(() => "") };
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

it("runs before each script of package.json", async () => {
  const { scripts } = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8"));
  const names = Object.keys(scripts).filter((name) => !(name.startsWith("pre") && name.slice(3) in scripts));
  expect(names).toContain("check");
  for (const name of names) expect([name, scripts[`pre${name}`]]).toEqual([name, "node scripts/prepare.mjs"]);
});
