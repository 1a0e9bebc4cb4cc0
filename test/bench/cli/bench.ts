import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { assemble } from "../../../deploy/image/assemble.ts";
import { findPrograms } from "../../../lab/cluster/programs.ts";
import { buildPackage } from "../../../scripts/packages/build-package.ts";
import { PROGRAM } from "../../../scripts/packages/package-table.ts";
import { type Row, spread } from "../table.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");

/** Seconds of CPU that a person waits for before anything is asked. */
const GOALS = { version: 0.06, "projects list": 0.15, requests: undefined } as const;
type Word = keyof typeof GOALS;

interface Options {
  readonly runs: number;
  readonly say: (line: string) => void;
}

/** What the command line costs to start: CPU of whole processes, beside a real kubectl, each in turn. */
export async function benchCli({ runs, say }: Options, signal: AbortSignal): Promise<readonly Row[]> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-cli-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const server = createServer((_request, response) => void response.end('{"items":[],"hasMore":false}'));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stack.defer(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    ...process.env,
    HOME: folder,
    SALLYPORT_URL: url,
    SALLYPORT_KEY: "none",
    KUBECONFIG: join(folder, "none"),
  };

  say("building the package, and the files of the platform's image");
  const built = await buildPackage(PROGRAM, folder);
  await assemble(ROOT, join(folder, "image"), "platform", 0);
  const { kubectl } = await findPrograms({ say }, signal);
  const node = process.execPath;
  const ways = {
    package: { of: [node, join(built, "sallyport.mjs")], times: 1 },
    "the image's files": { of: [node, join(folder, "image/main.js")], times: 1 },
    checkout: { of: [node, join(ROOT, "bin/sallyport.mjs")], times: 2 },
  } as const;
  const figures = new Map<string, number[]>();
  const measure = async (what: string, command: readonly string[]): Promise<void> => {
    const seconds = await cpuSeconds(command, env, signal);
    figures.set(what, [...(figures.get(what) ?? []), seconds]);
  };
  // One run more than is counted: the first one fills the caches of compiled code.
  for (let round = 0; round <= runs; round += 1) {
    if (round === 1) figures.clear();
    await measure("kubectl version --client", [kubectl, "version", "--client"]);
    await measure("node, an empty program", [node, "-e", "0"]);
    for (const [way, { of }] of Object.entries(ways)) {
      for (const word of ["version", "projects list"] as const)
        await measure(`${word}, ${way}`, [...of, ...word.split(" ")]);
    }
    await measure("requests, package", [node, join(built, "kubectl-sallyport.mjs"), "requests"]);
  }
  return [...figures].map(([what, seconds]): Row => {
    const { median, min } = spread(seconds);
    const [word = "", way = ""] = what.split(", ");
    const goal = GOALS[word as Word] as number | undefined;
    const limit = goal === undefined ? undefined : goal * (ways[way as keyof typeof ways]?.times ?? 1);
    return {
      what: `CPU of ${what}`,
      measured: `median ${median.toFixed(3)} s (${min.toFixed(3)} at best)`,
      goal: limit === undefined ? "" : `at most ${limit.toFixed(2)} s`,
      ...(limit !== undefined && { reached: median <= limit }),
      figures: { seconds },
    };
  });
}

/** User and system time of a process and its children, as the shell counts it: Node.js tells none of a child's. */
async function cpuSeconds(command: readonly string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  const script = 'TIMEFORMAT="%U %S"; time "$@" > /dev/null 2>&1 < /dev/null';
  // A command that fails is measured too: `requests` has no cluster to ask.
  const { stderr } = await run("bash", ["-c", `${script}; exit 0`, "bash", ...command], { env, signal });
  return stderr
    .trim()
    .split(" ")
    .reduce((sum, part) => sum + Number(part), 0);
}
