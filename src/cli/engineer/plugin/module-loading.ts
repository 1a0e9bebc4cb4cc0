import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { DeadlineError, withDeadline } from "../../../base/deadline.ts";
import { isRecord } from "../../../base/is-record.ts";
import { loadPlugin, type PluginOutcome } from "../../../operator/plugin-process/plugin-process.ts";
import { MODULE_FILE } from "../../../plugins/metadata.ts";
import { moduleProblems, placeOfEntry } from "./module-check.ts";
import type { ChooseBoundary } from "./plugin-boundary.ts";
import type { Problem } from "./problem.ts";

/** A module that needs longer computes something: it would do so in each run of the operator. */
const LOAD_LIMIT_MS = 10_000;

export interface CheckedModule {
  readonly problems: readonly Problem[];
  /** Operations with a function `verify`. */
  readonly verifying: ReadonlySet<string>;
}

export interface Loading {
  readonly clock: Clock;
  readonly boundary: ChooseBoundary;
}

/**
 * Reads the module, and, where nothing is wrong with its text, loads it in the locked-down process in which the operator runs it,
 * within the same bounds of memory, and in the boundary of this machine.
 *
 * @param operations that plugin.yaml declares; undefined when it cannot be read
 */
export async function checkModule(
  text: string,
  operations: readonly string[] | undefined,
  { clock, boundary }: Loading,
  signal: AbortSignal,
): Promise<CheckedModule> {
  const problems = moduleProblems(text, operations);
  if (problems.length > 0) return { problems, verifying: new Set() };
  const within = { clock, boundary: await boundary() };
  const load = (file: string) => withDeadline(clock, LOAD_LIMIT_MS, signal, (until) => loadPlugin(file, within, until));
  try {
    return judged(await inFolderOfItsOwn(text, load), text, operations ?? []);
  } catch (error) {
    if (signal.aborted) throw error;
    const late = `its top level is not done within ${LOAD_LIMIT_MS / 1_000} s`;
    const why = error instanceof DeadlineError ? late : error instanceof Error ? error.message : String(error);
    return { problems: [problem({ line: 1, column: 1 }, `cannot be loaded: ${why}`)], verifying: new Set() };
  }
}

/** As in the operator's image, where the module's process may read no other folder. */
export async function inFolderOfItsOwn<T>(text: string, work: (file: string) => Promise<T>): Promise<T> {
  // Node's permission model compares true paths.
  const folder = await realpath(await mkdtemp(join(tmpdir(), "sallyport-plugin-")));
  try {
    const file = join(folder, MODULE_FILE);
    await writeFile(file, text);
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function problem(at: { readonly line: number; readonly column: number }, message: string): Problem {
  return { file: MODULE_FILE, ...at, message };
}

function judged(outcome: PluginOutcome, text: string, operations: readonly string[]): CheckedModule {
  if (outcome.type === "failed") {
    const { at = { line: 1, column: 1 }, message } = outcome;
    return {
      problems: [problem(at, `fails when it is loaded as the operator loads it: ${message}`)],
      verifying: new Set(),
    };
  }
  const verifying = new Set<string>();
  const problems = operations.flatMap((name) => {
    const found = Object.hasOwn(outcome.result, name) ? outcome.result[name] : undefined;
    if (isRecord(found) && found.verify === "function") verifying.add(name);
    return faultsOf(name, found).map((message) => problem(placeOfEntry(text, name), message));
  });
  return { problems, verifying };
}

/** @param found the types of its functions, as the process says them */
function faultsOf(name: string, found: unknown): readonly string[] {
  if (!isRecord(found)) return [`has no entry for the operation ${name} once it is loaded`];
  const { run, bind, verify } = found;
  const others = Object.entries({ bind, verify }).filter(([, type]) => type !== "function" && type !== "undefined");
  return [
    ...(run === "function" ? [] : [`the operation ${name} has no function run`]),
    ...others.map(([word]) => `${word} of the operation ${name} is no function`),
  ];
}
