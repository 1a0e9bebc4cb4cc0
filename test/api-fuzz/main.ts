// `npm run test:api-fuzz`: the Management API's fuzzer.

import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { readOptions } from "../../scripts/running/options.ts";
import { type Caller, callersOf } from "./callers.ts";
import { configOf } from "./config.ts";
import { findSchemathesis, schemathesis, UnavailableError } from "./schemathesis.ts";
import { stageFor } from "./stage.ts";

const HELP = `usage: npm run test:api-fuzz

Runs schemathesis against a real \`sallyport platform\`, from its OpenAPI document alone, as each caller of
test/api-fuzz/callers.ts. The same commit and seed send the same requests. Environment variables change the run:

  SALLYPORT_FUZZ_SEED=NUMBER      other requests
  SALLYPORT_FUZZ_EXAMPLES=NUMBER  of each operation (8)
  SALLYPORT_FUZZ_EDGES=all        all edges of each parameter
`;
readOptions({ name: "npm run test:api-fuzz", help: HELP }, {});

/** With this exit code, `npm test` prints that the part was left out, and runs the others. */
const CANNOT_RUN_HERE = 77;

const seed = Number(process.env.SALLYPORT_FUZZ_SEED ?? 20_260_101);
const examples = Number(process.env.SALLYPORT_FUZZ_EXAMPLES ?? 8);
const all = process.env.SALLYPORT_FUZZ_EDGES === "all";
const say = (line: string): void => void process.stderr.write(`sallyport: ${line}\n`);
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(name)));

try {
  const python = await findSchemathesis(say, stop.signal);
  process.exitCode = (await fuzz(python, stop.signal)) ? 0 : 1;
} catch (error) {
  if (error instanceof UnavailableError) {
    say(error.message);
    process.exitCode = CANNOT_RUN_HERE;
  } else {
    say(stop.signal.aborted ? "stopped" : String(error instanceof Error ? error.stack : error));
    process.exitCode = 1;
  }
}

/**
 * Two callers at a time, each with its own platform: schemathesis takes one core to make up requests.
 * @returns whether nothing was found
 */
async function fuzz(python: string, signal: AbortSignal): Promise<boolean> {
  const waiting = [...callersOf({ seed, all })];
  const broken: string[] = [];
  const lane = async (): Promise<void> => {
    for (let caller = waiting.shift(); caller !== undefined; caller = waiting.shift()) {
      if (!(await fuzzAs(caller, python, signal))) broken.push(caller.who);
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, lane));
  if (broken.length > 0) say(`failed as ${broken.join(", ")}`);
  return broken.length === 0;
}

async function fuzzAs(caller: Caller, python: string, signal: AbortSignal): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const { folder, platform, credential, world } = await stageFor(caller.who, stack, signal);
  const [configFile, worldFile] = [join(folder, "schemathesis.toml"), join(folder, "world.json")];
  await writeFile(configFile, configOf(caller));
  await writeFile(worldFile, JSON.stringify(world));
  say(`as ${caller.who}: ${caller.operations.length} operations, the edges of ${caller.edges.length}, seed ${seed}`);
  const begin = performance.now();
  const { code, words } = await schemathesis(
    {
      python,
      configFile,
      documentUrl: `${platform.url}/v1/openapi.json`,
      args: [
        ...["--header", `Authorization: Bearer ${credential}`],
        ...["--seed", String(seed), "--max-examples", String(examples)],
        ...["--generation-database", "none", "--no-color"],
        ...caller.operations.flatMap((id) => ["--include-operation-id", id]),
      ],
      env: { SALLYPORT_FUZZ_WORLD: worldFile },
    },
    signal,
  );
  const seconds = Math.round((performance.now() - begin) / 1000);
  // Hundreds of lines of hints, printed only after a failure, for the person who looks for its cause.
  process.stdout.write(code === 0 ? words.slice(Math.max(0, words.indexOf("Test cases:"))) : words);
  say(`as ${caller.who}: ${code === 0 ? "nothing found" : "FAILED"}, ${seconds} s`);
  if (!platform.program.isRunning) throw new Error(`the platform ended:\n${platform.program.logTail()}`);
  if (code !== 0) say(`failed as ${caller.who}; the platform's last words:\n${platform.program.logTail()}`);
  return code === 0;
}
