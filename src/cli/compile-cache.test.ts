import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const MODULE = join(import.meta.dirname, "../../bin/compile-cache.mjs");
const isRoot = process.geteuid?.() === 0;

/** @returns where code is kept that was compiled once; empty: nowhere */
async function keptIn(cwd: string, XDG_CACHE_HOME: string): Promise<string> {
  const script = `import { keepCompiled } from ${JSON.stringify(MODULE)};
import { getCompileCacheDir } from "node:module";
keepCompiled();
process.stdout.write(getCompileCacheDir() ?? "");`;
  const env = { HOME: join(cwd, "home"), XDG_CACHE_HOME };
  const args = ["--input-type=module", "-e", script];
  return (await promisify(execFile)(process.execPath, args, { cwd, env })).stdout;
}

function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-compiled-")));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  mkdirSync(join(made, "cache/sallyport/compiled"), { recursive: true, mode: 0o700 });
  return made;
}

it("keeps compiled code in a folder of the person's own", async () => {
  const root = folder();
  expect(await keptIn(root, join(root, "cache"))).toContain(join(root, "cache/sallyport/compiled"));
});

it("takes no folder that lies where a command is typed", async () => {
  const root = folder();
  expect(await keptIn(root, "cache")).toContain(join(root, "home/.cache/sallyport/compiled"));
});

const CASES: readonly (readonly [why: string, spoil: (cache: string) => void])[] = [
  ["is open to a group", (cache) => chmodSync(join(cache, "sallyport/compiled"), 0o770)],
  ["lies in a folder that is open to all", (cache) => chmodSync(join(cache, "sallyport"), 0o777)],
  ["lies in one in which all may rename", (cache) => chmodSync(cache, 0o777)],
  [
    "is a link",
    (cache) => {
      mkdirSync(join(cache, "other"), { mode: 0o700 });
      rmSync(join(cache, "sallyport/compiled"), { recursive: true });
      symlinkSync(join(cache, "other"), join(cache, "sallyport/compiled"));
    },
  ],
];

const OF_OTHERS: typeof CASES = [
  ["is another's", (cache) => chownSync(join(cache, "sallyport/compiled"), 65_534, 65_534)],
  ["lies in another's", (cache) => chownSync(join(cache, "sallyport"), 65_534, 65_534)],
  ["lies in a cache of another's", (cache) => chownSync(cache, 65_534, 65_534)],
];

it.each(isRoot ? [...CASES, ...OF_OTHERS] : CASES)("runs nothing of a folder that %s", async (_why, spoil) => {
  const root = folder();
  spoil(join(root, "cache"));
  expect(await keptIn(root, join(root, "cache"))).toBe("");
});
