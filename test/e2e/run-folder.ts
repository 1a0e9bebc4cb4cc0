import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlive } from "../../lab/cluster/cache-entry.ts";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { command } from "./command.ts";

/** The command that deletes a run's cluster after its process is gone. */
export interface Deletion {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const KEPT = "kept";
const DELETION = "deletion.json";

/** The folder of a run. A later run finds it by the process's number when the run could not clean up. */
function runFolder(pid: number): string {
  return join(cacheRoot(process.env), `e2e-${pid}`);
}

export async function makeRunFolder(): Promise<string> {
  const folder = runFolder(process.pid);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

export async function noteDeletion(deletion: Deletion): Promise<void> {
  await writeFile(join(runFolder(process.pid), DELETION), JSON.stringify(deletion));
}

/** Marks this run's folder and cluster to outlive this process. */
export async function keepRun(): Promise<void> {
  await writeFile(join(runFolder(process.pid), KEPT), "");
}

function isKept(pid: number): boolean {
  return existsSync(join(runFolder(pid), KEPT));
}

/** Numbers of processes that are gone and left something named `prefix-NUMBER` in the cache. */
export function abandoned(prefix: string, { kept }: { readonly kept: boolean }): readonly number[] {
  const root = cacheRoot(process.env);
  if (!existsSync(root)) return [];
  const pids = readdirSync(root).map((name) => Number(new RegExp(`^${prefix}-(\\d+)$`).exec(name)?.[1]));
  return pids.filter((pid) => !Number.isNaN(pid) && !isAlive(pid) && (kept || !isKept(pid)));
}

/**
 * Deletes the clusters and folders of runs that could not do it themselves; with `kept`, also of those that `--keep`
 * left.
 */
export async function endAbandonedRuns(options: { readonly kept: boolean }, signal: AbortSignal): Promise<number> {
  const pids = abandoned("e2e", options);
  for (const pid of pids) {
    const file = join(runFolder(pid), DELETION);
    if (existsSync(file)) {
      const { program, args, env }: Deletion = JSON.parse(await readFile(file, "utf8"));
      // Its daemon may be gone, and the cluster with it.
      await command(program, args, { env, timeoutMs: 60_000 }, signal).catch(() => signal.throwIfAborted());
    }
    await rm(runFolder(pid), { recursive: true, force: true });
  }
  return pids.length;
}
