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

it("ends a run that the limit has overtaken, and says loudly which were left out", async () => {
  const { code, last } = await run([FILE, "--times", "4", "--load", "0", "--limit", "1s"], "exec sleep 600");
  expect({ code, last }).toEqual({ code: 0, last: `${FILE}: 0 of 0 runs passed under a load of 0, LEFT OUT: 4 runs` });
});

it.each([[[]], [["no/such.test.ts"]], [[FILE, "--times", "0"]], [[FILE, "--limit", "soon"]]])(
  "refuses the arguments %j and says how it is called",
  async (args) => {
    const { code, last } = await run(args, "exit 0");
    expect({ code, last }).toMatchObject({ code: 2, last: expect.stringMatching(/^usage: /) });
  },
);
