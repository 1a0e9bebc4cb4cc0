import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isFull } from "../../src/base/testing/full.ts";

const ROOT = join(import.meta.dirname, "../..");

type Script = readonly [name: string, ...command: string[]];

const SCRIPTS: readonly Script[] = [
  ["npm test", "scripts/test.ts", "default"],
  ["npm run test:rest", "scripts/test.ts", "rest"],
  ["npm run test:full", "scripts/test.ts", "full"],
  ["npm run programs", "scripts/programs.ts"],
  ["npm run check", "scripts/check.ts"],
  ["npm run test:again", "scripts/test-run/again.ts"],
  ["npm run test:api-fuzz", "test/api-fuzz/main.ts"],
  ["npm run test:versions", "test/versions/main.ts"],
  ["npm run oracle", "test/oracle/workload-state/main.ts"],
  ["npm run image", "deploy/image/build.ts"],
  ["npm run build", "scripts/build.ts"],
  ["npm run release", "scripts/release.ts"],
];

/** They load most of the source first. */
const SLOW: readonly Script[] = [
  ["npm run generate", "scripts/generate.ts"],
  ["npm run bench", "test/bench/main.ts"],
];

function run([, file = "", ...args]: Script, ...more: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-options-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const options = { cwd: folder, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, file), ...args, ...more], options);
  return { status, stdout, stderr, written: readdirSync(folder) };
}

it.each([...SCRIPTS, ...(isFull ? SLOW : [])])(
  "%s says how it is called, and refuses what it does not know",
  (name, ...command) => {
    const script: Script = [name, ...command];
    expect(run(script, "--help")).toEqual({
      ...{ status: 0, stderr: "", written: [] },
      stdout: expect.stringMatching(new RegExp(`^usage: ${name}\\b`)),
    });
    expect(run(script, "--bogus")).toEqual({
      ...{ status: 2, stdout: "", written: [] },
      stderr: `${name}: Unknown option '--bogus'. See ${name} -- --help\n`,
    });
  },
);

it.each<[readonly string[], string]>([
  [
    ["default", "src/base/clock.test.ts"],
    "npm test: npm test takes no files; one file: npm run test:unit|test:chart|test:integration -- FILE; at full length: npm run test:again -- FILE",
  ],
  [["full", "src"], "npm run test:full: npm run test:full takes no files; one file: "],
  [["default", "--budget", "5m"], "npm test: only npm run test:rest has a --budget"],
  [["rest", "--budget", "soon"], "npm run test:rest: --budget is a time such as 45m, not soon"],
])("a run of the tests refuses %j in one line", (args, why) => {
  const { status, stdout, stderr } = run(["npm test", "scripts/test.ts", ...args]);
  expect({ status, stdout, lines: stderr.split("\n").length }).toEqual({ status: 2, stdout: "", lines: 2 });
  expect(stderr).toContain(why);
});
