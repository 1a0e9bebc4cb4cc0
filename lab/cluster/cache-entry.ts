import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { sleep, systemClock } from "../../src/base/clock.ts";

/**
 * A lock that was not touched for this long belongs to a machine or container that is gone. The owner touches it every
 * 5 s.
 */
const STALE_LOCK_MS = 60_000;
const LOCK_TOUCH_MS = 5_000;
const LOCK_POLL_MS = 500;

export interface CacheEntryOptions {
  /** The folder to make. It exists completely or not at all: it is renamed into place. */
  readonly folder: string;
  readonly build: (into: string, signal: AbortSignal) => Promise<void>;
  /** Called about every 5 s while another process builds the same entry. */
  readonly onWaiting: (elapsedMs: number) => void;
}

/**
 * Makes a folder once, also when several processes want it at the same time: one builds, the others wait.
 *
 * The lock only saves work. If two builders hold it at the same time (a stolen lock), each builds in its own folder and
 * the first rename wins, so an entry is never half-made.
 */
export async function ensureCacheEntry(options: CacheEntryOptions, signal: AbortSignal): Promise<void> {
  const { folder } = options;
  const lock = `${folder}.lock`;
  await mkdir(dirname(folder), { recursive: true });
  const startedAt = performance.now();
  let reportedAt = startedAt;
  while (!existsSync(folder)) {
    signal.throwIfAborted();
    if (await takeLock(lock)) {
      await buildHoldingLock(options, lock, signal);
      return;
    }
    if (performance.now() - reportedAt >= 5_000) {
      reportedAt = performance.now();
      options.onWaiting(reportedAt - startedAt);
    }
    await sleep(systemClock, LOCK_POLL_MS, signal);
  }
}

async function buildHoldingLock(options: CacheEntryOptions, lock: string, signal: AbortSignal): Promise<void> {
  const { folder } = options;
  const unfinished = `${folder}.building-${process.pid}`;
  const touch = setInterval(() => {
    const now = new Date();
    utimes(lock, now, now).catch(() => undefined);
  }, LOCK_TOUCH_MS);
  try {
    // Another process may have finished between the check above and our lock.
    if (existsSync(folder)) return;
    await sweepUnfinished(folder);
    await mkdir(unfinished, { recursive: true });
    await options.build(unfinished, signal);
    signal.throwIfAborted();
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    clearInterval(touch);
    await rm(unfinished, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
}

/** True when the lock is ours now. A lock whose owner is gone is removed; the next round takes it. */
async function takeLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, "wx");
    await file.writeFile(`${process.pid} ${hostname()}\n`);
    await file.close();
    return true;
  } catch (error) {
    if (!hasErrno(error, "EEXIST")) throw error;
  }
  const [owner, age] = await Promise.all([
    readFile(lock, "utf8").catch(() => ""),
    stat(lock).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    ),
  ]);
  const [pid, host] = owner.trim().split(" ");
  const ownerGone = host === hostname() && !isAlive(Number(pid));
  if (ownerGone || age > STALE_LOCK_MS) await rm(lock, { force: true });
  return false;
}

/** Removes what a killed build left behind. Only called under the lock. */
async function sweepUnfinished(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.building-`;
  for (const name of await readdir(dirname(folder))) {
    if (!name.startsWith(prefix) || isAlive(Number(name.slice(prefix.length)))) continue;
    await rm(join(dirname(folder), name), { recursive: true, force: true });
  }
}

/** Whether a process with this number exists on this machine, also one of another user. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasErrno(error, "EPERM");
  }
}

function hasErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
