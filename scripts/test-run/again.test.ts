import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

// Runs again.ts as a process, with a fake `vitest`.

let root = "";
const FILE = "scripts/test-run/again.test.ts";
const OTHER = "scripts/test-run/tiers.test.ts";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-again-"));
  await mkdir(join(root, "bin"));
});
afterEach(() => rm(root, { recursive: true }));

async function run(args: readonly string[], vitest: string) {
  await writeFile(
    join(root, "bin/vitest"),
    `#!/bin/sh\necho "$@" >> ${root}/called\nruns=$(wc -l < ${root}/called)\n${vitest}\n`,
    { mode: 0o755 },
  );
  const child = spawn(process.execPath, [join(import.meta.dirname, "again.ts"), ...args], {
    env: { PATH: `${join(root, "bin")}:/usr/bin:/bin` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (out += text));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const called = await readFile(join(root, "called"), "utf8").catch(() => "");
  return { code, out, last: out.trim().split("\n").at(-1), called: called.trim().split("\n") };
}

it("runs a file as often as asked, and ends in one line", async () => {
  expect(await run([FILE, "--times", "3", "--load", "1"], "exit 0")).toMatchObject({
    code: 0,
    last: `${FILE}: 3 of 3 runs passed under a load of 1`,
    called: Array.from({ length: 3 }, () => `run ${FILE}`),
  });
});

it("fails when one run of many failed, shows what that one printed, and goes on", async () => {
  const failing = "if [ $runs = 2 ]; then echo it broke; exit 1; fi";
  const { code, out, last } = await run([FILE, OTHER, "--times", "2", "--load", "0"], failing);
  expect({ code, last }).toEqual({ code: 1, last: `${OTHER}: 2 of 2 runs passed under a load of 0` });
  expect(out).toContain(`it broke\n\n${FILE}: run 2 of 2 FAILED\n`);
  expect(out).toContain(`${FILE}: 1 of 2 runs passed under a load of 0\n`);
});

it("fails when the limit suffices for no run, and says loudly which were left out", async () => {
  const { code, out, last } = await run([FILE, "--times", "1", "--load", "0", "--limit", "1s"], "exec sleep 600");
  expect({ code, last }).toEqual({
    code: 1,
    last: "nothing is shown: the limit of 1s did not suffice for one run",
  });
  expect(out).toMatch(`${FILE}: run 1 of 1 …\n`);
  expect(out).toContain(`${FILE}: 0 of 0 runs passed under a load of 0, LEFT OUT: 1 run\n`);
});

it("says of --changed how many files, since when and for how long", async () => {
  const { out } = await run(["--changed", "--times", "2", "--load", "0", "--limit", "0s"], "exit 0");
  expect(out).toMatch(
    /^(no test file has changed since .+|\d+ test files? ha(s|ve) changed since .+: 2 runs of .+ under a load of 0, for 0s at most)\n/,
  );
});

it.each<[readonly string[], string]>([
  [[], "name test files, or --changed alone"],
  [["--changed", FILE], "name test files, or --changed alone"],
  [["no/such.test.ts"], "no/such.test.ts: no such file"],
  [["scripts/test-run"], "scripts/test-run is no test file"],
  [["scripts/test-run/again.ts"], "scripts/test-run/again.ts is no test file"],
  [["test/e2e/story.test.ts"], "npm run test:e2e -- test/e2e/story.test.ts"],
  [[FILE, "--times", "0"], "--times is a whole number from 1 on, not 0"],
  [[FILE, "--load", "some"], "--load is a whole number from 0 on, not some"],
  [[FILE, "--limit", "soon"], "--limit is a time such as 10m, not soon"],
  [[FILE, "--bogus"], "Unknown option '--bogus'"],
])("refuses the arguments %j in one line", async (args, why) => {
  const { code, out, called } = await run(args, "exit 0");
  expect({ code, called }).toEqual({ code: 2, called: [""] });
  expect(out).toMatch(/^npm run test:again: [^\n]+\. See npm run test:again -- --help\n$/);
  expect(out).toContain(why);
});

it("says how it is called", async () => {
  expect(await run([FILE, "--bogus", "--help"], "exit 1")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^usage: npm run test:again -- /),
  });
});
