import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sourceRecipe } from "../../../lab/cluster/go-build.ts";
import { ensureRecipe } from "../../../lab/cluster/programs.ts";
import { readRecorded } from "./recorded.ts";

const FOLDER = import.meta.dirname;
/** Verdicts of all recorded objects are some 20 KB. */
const MAX_ANSWER = 4_194_304;

/** Asks kstatus and the gitops-engine about each recorded object; `verdicts.json` holds the answers in the same order. */
export async function judge(say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const recipe = await sourceRecipe({
    name: "workload-oracle",
    source: FOLDER,
    files: ["go.mod", "go.sum", "main.go"],
    linkerFlags: "-s -w",
    title: "the oracle of workload states (kstatus v0.37.2, gitops-engine)",
    expectation: "about 4 minutes on 2 cores, once",
  });
  const program = join(await ensureRecipe(recipe, { say }, signal), "workload-oracle");
  const objects = readRecorded().map(({ object }) => object);
  const answer = await run(program, JSON.stringify(objects), signal);
  writeFileSync(join(FOLDER, "verdicts.json"), answer);
  say(`${objects.length} verdicts`);
}

function run(program: string, stdin: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, [], { signal, maxBuffer: MAX_ANSWER }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${program}: ${stderr}`, { cause: error })),
    );
    child.stdin?.end(stdin);
  });
}
