// `npm run test:api-fuzz`: schemathesis against a real `sallyport platform`, from nothing but its OpenAPI document, as an
// admin, as a project's developer and as a manager. SALLYPORT_FUZZ_SEED=<number> changes the run, SALLYPORT_FUZZ_EXAMPLES=<number> and
// SALLYPORT_FUZZ_EDGES=all make it longer.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../../src/api-client/client.ts";
import { beat, furnish } from "../platform/furniture.ts";
import { platformProcess } from "../platform/platform-child.ts";
import { callersOf } from "./callers.ts";
import { findSchemathesis, schemathesis, UnavailableError } from "./schemathesis.ts";
import { CONFIG, worldOf } from "./world.ts";

/** `npm test` says loudly that this part was left out, and runs the others. */
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

/** @returns whether nothing was found */
async function fuzz(python: string, signal: AbortSignal): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "sallyport-fuzz-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const platform = await platformProcess({ folder }, stack);
  await platform.program.start(signal);
  const key = await platform.firstKey();
  const admin = createClient({ baseUrl: platform.url, credential: key });
  stack.defer(() => admin.close());
  const furniture = await furnish(admin, platform.url, signal);
  const world = await worldOf(admin, furniture, signal);
  // A manager that falls silent answers 503 to whoever wants something of it.
  const runtime = createClient({ baseUrl: platform.url, credential: furniture.runtimeKey });
  stack.defer(() => runtime.close());
  const heart = setInterval(() => void beat(runtime, furniture.manager, signal).catch(() => undefined), 30_000);
  stack.defer(() => clearInterval(heart));
  const configFile = join(folder, "schemathesis.toml");
  await writeFile(configFile, CONFIG);
  const broken: string[] = [];
  for (const { title, credential, operations, args } of callersOf(furniture, key, { seed, all })) {
    say(`as ${title}: ${operations.length} operations, seed ${seed}`);
    const worldFile = join(folder, "world.json");
    await writeFile(worldFile, JSON.stringify(world));
    const included = operations.flatMap((id) => ["--include-operation-id", id]);
    const code = await schemathesis(
      {
        python,
        configFile,
        documentUrl: `${platform.url}/v1/openapi.json`,
        args: [
          ...["--header", `Authorization: Bearer ${credential}`],
          ...["--seed", String(seed), "--max-examples", String(examples)],
          ...["--generation-allow-x00", "false", "--generation-database", "none", "--no-color"],
          ...args,
          ...included,
        ],
        env: { SCHEMATHESIS_HOOKS: join(import.meta.dirname, "hooks.py"), SALLYPORT_FUZZ_WORLD: worldFile },
      },
      signal,
    );
    if (code !== 0) broken.push(title);
    if (!platform.program.isRunning) throw new Error(`the platform ended:\n${platform.program.logTail()}`);
  }
  if (broken.length > 0)
    say(`failed as ${broken.join(", ")}; the platform's last words:\n${platform.program.logTail()}`);
  return broken.length === 0;
}
