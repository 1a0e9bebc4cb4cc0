import { execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

// Runs test.ts as a process, with a fake `npm` and a fake `vitest`.

let root = "";
/** The npm script that has the run interrupted, as a Ctrl-C there does. */
let stopsAt = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-test-"));
  await mkdir(join(root, "bin"));
  await mkdir(join(root, "tmp"));
  stopsAt = "";
});
afterEach(() => rm(root, { recursive: true }));

interface Part {
  /** What vitest's JSON reporter writes; undefined: vitest dies before. */
  readonly report?: object;
  readonly code: number;
}

const passing = (numPassedTests: number): Part => ({
  report: { numPassedTests, testResults: [] },
  code: 0,
});
const ALL = "unit+chart+integration+faults";
const ALL_WELL: Readonly<Record<string, Part>> = {
  [ALL]: passing(16),
  e2e: passing(3),
};

/** @param npm exit codes by script, 0 when not named */
async function run(
  parts: Readonly<Record<string, Part>>,
  npm: Readonly<Record<string, number>> = {},
  tier = "full",
  ...args: readonly string[]
) {
  for (const [title, part] of Object.entries(parts)) {
    if (part.report !== undefined) await writeFile(join(root, `${title}.json`), JSON.stringify(part.report));
    await writeFile(join(root, `${title}.code`), String(part.code));
  }
  for (const [name, code] of Object.entries(npm)) await writeFile(join(root, `npm-${name}.code`), String(code));
  await writeFile(
    join(root, "bin/npm"),
    `#!/bin/sh\necho "$TMPDIR" >> ${root}/temp-folders\nmktemp > /dev/null\necho "says $3"\necho "$3" >> ${root}/called\n[ "$3" != "$STOPS_AT" ] || { kill -INT $PPID; exec sleep 600; }\nexit $(cat ${root}/npm-"$3".code 2>/dev/null || echo 0)\n`,
    { mode: 0o755 },
  );
  await writeFile(
    join(root, "bin/vitest"),
    `#!/bin/sh
for arg in "$@"; do case $arg in
--project=*) title="\${title:+$title+}\${arg#*=}" ;;
--outputFile.json=*) cp ${root}/"$title".json "\${arg#*=}" 2>/dev/null ;;
esac; done
cp ${root}/"$title".times.json "$SALLYPORT_TEST_TIMES" 2>/dev/null
[ -n "$title" ] || title=once-more
[ ! -e ${root}/coverage.json ] || { mkdir -p "$SALLYPORT_TEST_COVERAGE/a-children"; cp ${root}/coverage.json "$SALLYPORT_TEST_COVERAGE/a.json"; }
echo "$title $SALLYPORT_TEST_TIER $SALLYPORT_TEST_FULL $SALLYPORT_FAULT_POINTS" >> ${root}/called
exit $(cat ${root}/"$title".code)\n`,
    { mode: 0o755 },
  );
  // The script that runs before vitest, replaced here.
  await writeFile(
    join(root, "bin/node"),
    `#!/bin/sh\necho "says $1"\necho "$1" >> ${root}/called
for arg in "$@"; do case $arg in --outputFile.json=*) cp ${root}/e2e.json "\${arg#*=}" 2>/dev/null ;; esac; done
exit $(cat ${root}/e2e.code)\n`,
    { mode: 0o755 },
  );
  const child = spawn(process.execPath, [join(import.meta.dirname, "../test.ts"), tier, ...args], {
    // A folder without git: what a run records of itself is of no commit, and is not written.
    cwd: root,
    env: {
      ...{ PATH: `${join(root, "bin")}:/usr/bin:/bin`, XDG_CACHE_HOME: join(root, "cache") },
      ...{ TMPDIR: join(root, "tmp"), STOPS_AT: stopsAt },
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const called = await readFile(join(root, "called"), "utf8");
  return { code, last: out.trim().split("\n").at(-1), out, called: called.trim().split("\n") };
}

it("says when it is interrupted what has not run, calls that no failure, and leaves no temporary file", async () => {
  stopsAt = "programs";
  const { code, last, out } = await run({ "unit+chart+integration": passing(10) }, {}, "default");
  expect({ code, last }).toEqual({
    code: 130,
    last: "stopped by SIGINT: 0 passed, 0 failed; cut short: programs; not run: unit+chart+integration",
  });
  expect(out).toMatch(/\n── programs: stopped, [\d.]+ s ──\n/);
  expect(await readFile(join(root, "temp-folders"), "utf8")).toMatch(/^(.*\/tmp\/sp-\w{6}\n){2}$/);
  expect(await readdir(join(root, "tmp"))).toEqual([]);
});

it("runs every part, the faults shortened, and ends in the totals of all of them", async () => {
  const { code, last, called } = await run(ALL_WELL);
  expect({ code, last }).toEqual({ code: 0, last: "19 passed, 0 failed" });
  expect(called.slice(0, 2)).toEqual(["check", "programs"]);
  // At the same time.
  expect(called.slice(2).toSorted()).toEqual(["test/e2e/main.ts", "test:api-fuzz", `${ALL} full 1 6`]);
});

it("runs the default tier without the parts that take long, and the rest with all that it left out", async () => {
  const short = await run({ "unit+chart+integration": passing(10) }, {}, "default");
  expect(short).toMatchObject({ code: 0, last: "10 passed, 0 failed" });
  expect(short.called).toEqual(["check", "programs", "unit+chart+integration default 0 6"]);
  await rm(join(root, "called"));
  const rest = await run({ [ALL]: passing(8), e2e: passing(3) }, {}, "rest");
  expect(rest).toMatchObject({ code: 0, last: "11 passed, 0 failed" });
  expect(rest.called[0]).toBe("programs");
  expect(rest.called).toContain(`${ALL} rest 1 6`);
});

/** As times-reporter.ts writes it. */
const times = (isCut: boolean, ...files: readonly [file: string, state: string][]) =>
  JSON.stringify({ isCut, files: files.map(([file, state]) => ({ file, seconds: 1, state })), errors: [] });

it("runs of the rest what the budget suffices for, first what waited longest, and names what is left out", async () => {
  await writeFile(join(root, `${ALL}.times.json`), times(false, ["test/faults/story.test.ts", "passed"]));
  const rest = { [ALL]: passing(8), e2e: passing(3) };
  const { code, out, called } = await run(rest, {}, "rest", "--budget", "0s");
  expect({ code, called }).toEqual({ code: 0, called: ["scripts/test-run/again.ts"] });
  expect(out).toMatch(/LEFT OUT, the budget of 0 s does not suffice for \d+ test files:\n {2}\S+\.test\.ts \(/);
  expect(out).toMatch(
    /\nLEFT OUT, the budget of 0s did not suffice: .*test\/faults\/story\.test\.ts.*\n0 passed, 0 failed\n$/,
  );
  const all = await run(rest, {}, "rest", "--budget", "9h");
  expect(all).toMatchObject({ code: 0, last: "11 passed, 0 failed" });
  expect(all.out).not.toContain("LEFT OUT");
});

it("says what ended a run in which no test failed", async () => {
  const errors = ["Worker exited unexpectedly while running test file a.test.ts"];
  await writeFile(join(root, `${ALL}.times.json`), JSON.stringify({ isCut: false, files: [], errors }));
  const { code, out, last } = await run({ ...ALL_WELL, [ALL]: { ...passing(16), code: 1 } });
  expect({ code, last }).toEqual({ code: 1, last: "19 passed, 1 failed" });
  expect(out).toContain(`failed: ${ALL}\n  ${errors[0]}\n`);
});

it("is red when the changed test files fail when they run again", async () => {
  const rest = { [ALL]: passing(8), e2e: { ...passing(3), code: 1 } };
  expect(await run(rest, {}, "rest", "--budget", "0s")).toMatchObject({ code: 1, last: "0 passed, 1 failed" });
});

it("says of a file that failed whether it fails again, with the settings of its tier", async () => {
  const failing: Part = { report: { numPassedTests: 16, testResults: [] }, code: 1 };
  for (const [again, words] of [
    [1, "fails again"],
    [0, "is FLAKY: it passed when it ran once more"],
  ] as const) {
    await writeFile(
      join(root, `${ALL}.times.json`),
      times(false, ["src/a.test.ts", "failed"], ["src/b.test.ts", "passed"]),
    );
    const { code, out, called } = await run({ ...ALL_WELL, [ALL]: failing, "once-more": { code: again } });
    expect({ code, called: called.at(-1) }).toEqual({ code: 1, called: "once-more  1 6" });
    expect(out).toContain(`\n  src/a.test.ts ${words}\n`);
    expect(out).not.toContain("src/b.test.ts");
  }
});

it("records a green full run of a commit, and of no other tree", async () => {
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.test", ...args], { cwd: root });
  await writeFile(
    join(root, `${ALL}.times.json`),
    times(false, ["src/a.test.ts", "passed"], ["src/b.test.ts", "skipped"]),
  );
  git("init", "--quiet");
  await writeFile(join(root, ".gitignore"), "*\n");
  expect((await run({ ...ALL_WELL, e2e: { code: 77 } })).out).toContain("full run: not recorded, it lacks e2e\n");
  expect((await run({ ...ALL_WELL, e2e: { code: 1 } })).out).toContain("full run: not recorded, it failed\n");
  git("commit", "--quiet", "--allow-empty", "--message=one");
  expect((await run(ALL_WELL)).out).toContain(
    "full run: test/full-run.json is written, commit it; no coverage was taken\n",
  );
  const functions = { "src/a.ts": ["read"] };
  await writeFile(join(root, "coverage.json"), JSON.stringify([{ test: "src/a.test.ts", functions }]));
  expect((await run(ALL_WELL)).out).toContain(
    "full run: test/full-run.json and test/coverage.json are written, commit them\n",
  );
  const coverage = JSON.parse(await readFile(join(root, "test/coverage.json"), "utf8"));
  expect(coverage).toEqual({ tests: ["src/a.test.ts"], sources: { "src/a.ts": { read: 0 } }, sets: ["0"] });
  const record = JSON.parse(await readFile(join(root, "test/full-run.json"), "utf8"));
  expect(record).toMatchObject({ passed: 19, failed: 0, files: { "src/a.test.ts": 1 } });
  await rm(join(root, ".gitignore"));
  expect((await run(ALL_WELL)).out).toContain("full run: not recorded, there are changes that are not committed\n");
});

it("says how many tests were left out or skipped, before the totals", async () => {
  const seven = { report: { numPassedTests: 3, numPendingTests: 7, testResults: [] }, code: 0 };
  const short = await run({ "unit+chart+integration": seven }, {}, "default");
  expect(short.out).toMatch(/LEFT OUT, only npm run test:full runs them: 7 tests\n3 passed, 0 failed\n$/);
  const full = await run({ ...ALL_WELL, e2e: seven });
  expect(full.out).toMatch(/skipped by themselves, as they say above: 7 tests\n19 passed, 0 failed\n$/);
});

it("counts what failed before a run was cut, and not what had not begun", async () => {
  const failed = { status: "failed", fullName: "t", failureMessages: ["it broke"] };
  const file = (name: string, assertionResults: object[]) => ({
    ...{ name: join(root, name), status: "failed", message: "", startTime: 0, endTime: 1, assertionResults },
  });
  const testResults = [file("a.test.ts", [failed]), file("b.test.ts", [])];
  await writeFile(join(root, `${ALL}.times.json`), times(true, ["a.test.ts", "failed"], ["b.test.ts", "pending"]));
  const rest = { [ALL]: { report: { numPassedTests: 8, testResults }, code: 1 }, e2e: passing(3) };
  const { code, last } = await run(rest, {}, "rest", "--budget", "9h");
  expect({ code, last }).toEqual({ code: 1, last: "11 passed, 1 failed" });
});

it("tells where the time went: each part, and its ten slowest files", async () => {
  const testResults = Array.from({ length: 12 }, (_, n) => ({
    name: join(root, `src/${n}.test.ts`),
    startTime: 1_000,
    endTime: 1_000 + n * 500,
    assertionResults: [],
  }));
  const { out } = await run({ ...ALL_WELL, [ALL]: { report: { numPassedTests: 16, testResults }, code: 0 } });
  const [, times = ""] = out.split("── where the time went ──\n");
  expect(times).toMatch(
    /^ +[\d.]+ s {2}check\n +[\d.]+ s {2}programs\n +[\d.]+ s {2}unit\+chart\+integration\+faults\n +5\.5 s {2}src\/11\.test\.ts\n/,
  );
  expect(times.match(/src\/\d+\.test\.ts/g)).toHaveLength(10);
});

it("shows of two parts that run at the same time one after the other", async () => {
  const { out } = await run(ALL_WELL, { "test:api-fuzz": 1 });
  expect(out).toMatch(
    /── e2e ──\nsays test\/e2e\/main\.ts\n── e2e: ok, .* s ──\n\n── api-fuzz ──\nsays test:api-fuzz\n── api-fuzz: FAILED, .* s ──\n/,
  );
});

it("goes on after a failure, counts it once, and exits with 1", async () => {
  const failing: Part = {
    report: {
      numPassedTests: 16,
      testResults: [
        {
          name: join(root, "src/a.test.ts"),
          status: "failed",
          assertionResults: [
            { status: "passed", fullName: "a stays" },
            { status: "failed", fullName: "a comes", failureMessages: ["\u001b[31mexpected 1\u001b[39m\n  at a.ts"] },
            { status: "failed", fullName: "a goes", failureMessages: [] },
          ],
        },
      ],
    },
    code: 1,
  };
  const { code, last, out } = await run({ ...ALL_WELL, [ALL]: failing });
  expect({ code, last }).toEqual({ code: 1, last: "19 passed, 2 failed" });
  expect(out).toContain(
    "failed: unit+chart+integration+faults\n  src/a.test.ts > a comes\n    expected 1\n      at a.ts\n  src/a.test.ts > a goes\n",
  );
});

it("counts a file that does not load as a failure", async () => {
  const unloaded: Part = {
    report: {
      numPassedTests: 16,
      testResults: [{ name: join(root, "a.ts"), status: "failed", message: "no module", assertionResults: [] }],
    },
    code: 1,
  };
  const { code, last, out } = await run({ ...ALL_WELL, [ALL]: unloaded });
  expect({ code, last }).toEqual({ code: 1, last: "19 passed, 1 failed" });
  expect(out).toContain("failed: unit+chart+integration+faults\n  a.ts\n    no module\n");
});

it("counts a part that dies without a report as a failure", async () => {
  expect(await run({ ...ALL_WELL, [ALL]: { code: 137 } })).toMatchObject({ code: 1, last: "3 passed, 1 failed" });
});

it.each<[string, Part]>([
  ["ends well without a report", { code: 0 }],
  ["reports no test", passing(0)],
])("counts a part that %s as a failure", async (_how, part) => {
  expect(await run({ ...ALL_WELL, [ALL]: part })).toMatchObject({
    code: 1,
    last: "3 passed, 1 failed",
    out: expect.stringContaining(`${ALL} ended with 0, and reports no test that passed`),
  });
  expect(await run({ "unit+chart+integration": part }, {}, "default")).toMatchObject({ code: 1 });
});

it("counts a failed check as a failure, although it has no tests", async () => {
  expect(await run(ALL_WELL, { check: 1 })).toMatchObject({ code: 1, last: "19 passed, 1 failed" });
});

it("skips what the machine cannot run, loudly, and does not call it a failure", async () => {
  const { code, last, out } = await run({ ...ALL_WELL, e2e: { code: 77 } });
  expect({ code, last }).toEqual({ code: 0, last: "16 passed, 0 failed" });
  expect(out).toContain("SKIPPED, this machine cannot run it: e2e");
});

it("lets no other part be skipped", async () => {
  expect(await run({ ...ALL_WELL, [ALL]: { code: 77 } })).toMatchObject({ code: 1, last: "3 passed, 1 failed" });
});

it("counts failed stories as failures", async () => {
  expect(await run({ ...ALL_WELL, e2e: { code: 1 } })).toMatchObject({ code: 1, last: "16 passed, 1 failed" });
});
