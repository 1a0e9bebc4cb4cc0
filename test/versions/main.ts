// `npm run test:versions`. `--help` says more.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProgramsError } from "../../lab/cluster/go-build.ts";
import { environmentOf, KUBERNETES_VERSIONS, type KubernetesMinor } from "../../lab/cluster/kubernetes-versions.ts";
import { findPrograms } from "../../lab/cluster/programs.ts";
import { readOptions, refuse } from "../../scripts/running/options.ts";
import { FriendlyError } from "../../src/cli/kernel/command.ts";
import { lackedByCases } from "./lacking.ts";

interface Part {
  readonly title: string;
  readonly vitest: readonly string[];
  /** As in the full tier. @default false */
  readonly isFull?: boolean;
}

const PARTS: readonly Part[] = [
  { title: "grant cases", vitest: ["--project=integration", "test/integration/access-grants/access-grants.test.ts"] },
  { title: "chart", vitest: ["--project=chart", "test/chart/install.test.ts"], isFull: true },
  {
    title: "story",
    vitest: ["--project=integration", "test/integration/npm-start.test.ts", "-t", "the story|another terminal|denies"],
  },
];

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
}

const KNOWN = Object.keys(KUBERNETES_VERSIONS) as KubernetesMinor[];
const SCRIPT = {
  name: "npm run test:versions",
  help: `usage: npm run test:versions [-- VERSION …]

Runs the grant cases, the chart's installations and the story against each Kubernetes version, one after the other, or
against those that are named: ${KNOWN.join(", ")}. Goes on after a failure, so that one run shows all of them. Builds a
version's programs when the cache does not have them.
`,
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(name)));

const { positionals } = readOptions(SCRIPT, {}, { allowPositionals: true });
const named = positionals.map(
  (text) => KNOWN.find((minor) => minor === text) ?? refuse(SCRIPT, `${text} is none of ${KNOWN.join(", ")}`),
);

try {
  process.exitCode = (await testAll(named.length > 0 ? named : KNOWN, stop.signal)) ? 0 : 1;
} catch (error) {
  const isForPeople = error instanceof ProgramsError || error instanceof FriendlyError;
  if (stop.signal.aborted) say("stopped");
  else say(isForPeople ? error.message : String(error instanceof Error ? error.stack : error));
  process.exitCode = stop.signal.aborted ? 130 : 1;
}

/** @returns whether all tests passed on all versions */
async function testAll(minors: readonly KubernetesMinor[], signal: AbortSignal): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-versions-"));
  const outcomes: string[] = [];
  let isOk = true;
  try {
    for (const minor of minors) {
      say(`── Kubernetes ${KUBERNETES_VERSIONS[minor]} ──`);
      const env = { ...process.env, ...environmentOf(minor) };
      await findPrograms({ controllers: true, kwok: true, env, say: (line) => say(`sallyport: ${line}`) }, signal);
      for (const part of PARTS) {
        const { ok, words } = await run(part, env, join(folder, `${minor}-${part.title}.json`), signal);
        isOk &&= ok;
        outcomes.push(`Kubernetes ${KUBERNETES_VERSIONS[minor]}, ${part.title}: ${words}`);
        say(`── ${outcomes.at(-1)} ──`);
      }
      for (const [id, what] of lackedByCases(minor)) outcomes.push(`  case ${id} not run: it needs ${what}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  say(`\n${outcomes.join("\n")}`);
  return isOk;
}

/** A part that ends without a report has failed, because no report is no success. */
async function run(
  { vitest, title, isFull = false }: Part,
  env: NodeJS.ProcessEnv,
  report: string,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly words: string }> {
  const startedAt = performance.now();
  say(`── ${title} ──`);
  const reporters = [
    "--reporter=default",
    "--reporter=./scripts/test-run/json-reporter.ts",
    `--outputFile.json=${report}`,
  ];
  const child = spawn("vitest", ["run", ...vitest, ...reporters], {
    stdio: "inherit",
    env: { ...env, ...(isFull && { SALLYPORT_TEST_FULL: "1" }) },
  });
  const end = (): void => void child.kill("SIGINT");
  signal.addEventListener("abort", end, { once: true });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  }).finally(() => signal.removeEventListener("abort", end));
  signal.throwIfAborted();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const found = await readFile(report, "utf8").then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  if (found === undefined) return { ok: false, words: `FAILED without a report, ${seconds} s` };
  const { numPassedTests: passed, numFailedTests: failed } = found;
  const ok = code === 0 && failed === 0 && passed > 0;
  return { ok, words: `${ok ? "ok" : "FAILED"}, ${passed} passed, ${failed} failed, ${seconds} s` };
}
