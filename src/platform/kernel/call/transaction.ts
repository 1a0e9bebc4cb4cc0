import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Db } from "../../database/db.ts";
import { isStalePlan } from "../../database/prepared-pool.ts";
import { PlatformError } from "../errors.ts";
import type { Lane } from "./lane.ts";

export interface TransactionOptions {
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  /**
   * Queue of a workspace for transactions after a serialisation conflict. New writes also wait in it while it is not
   * empty, or they would make the waiting ones fail again.
   */
  readonly line?: { readonly lane: Lane; readonly key: string };
  readonly onRetry: () => void;
}

/** About one second of attempts. After that the caller gets a retryable 409. */
const MAX_ATTEMPTS = 10;
const MAX_PAUSE_MS = 250;

/**
 * Runs `work` in one serialisable transaction and repeats it from the start after a serialisation conflict. A read-only
 * transaction reads a snapshot, which has no conflicts; a write in it fails on every dialect.
 *
 * @throws CONFLICT after ten attempts; `signal.reason` when the request ended before the commit, which rolls back.
 */
export async function inTransaction<T>(
  db: Db,
  options: TransactionOptions,
  work: (transaction: Db) => Promise<T>,
): Promise<T> {
  const { line, readOnly } = options;
  const queued: Queued = (run) => (line === undefined ? run() : line.lane.run(line.key, run));
  const length = line === undefined || readOnly ? 0 : line.lane.lengthOf(line.key);
  // Transactions already wait for their turn. Running now would probably conflict with one of them, so wait too.
  if (length > 0 && length < SHORT_LINE) return queued(() => untilWon(db, options, work, (run) => run()));
  return untilWon(db, options, work, queued);
}

type Queued = <T>(run: () => Promise<T>) => Promise<T>;

/** From this length on, waiting in order is slower than running at once and repeating those that conflict. */
const SHORT_LINE = 32;

async function untilWon<T>(
  db: Db,
  options: TransactionOptions,
  work: (transaction: Db) => Promise<T>,
  queued: Queued,
): Promise<T> {
  try {
    return await attempt(db, options, work);
  } catch (error) {
    if (!isLostRace(error)) throw error;
    return queued(() => retry(db, options, work, error));
  }
}

async function retry<T>(
  db: Db,
  options: TransactionOptions,
  work: (transaction: Db) => Promise<T>,
  first: unknown,
): Promise<T> {
  let lost = first;
  for (let count = 1; count < MAX_ATTEMPTS && !options.signal.aborted; count += 1) {
    options.onRetry();
    try {
      return await attempt(db, options, work);
    } catch (error) {
      if (!isLostRace(error)) throw error;
      lost = error;
    }
    // A random pause, or two replicas would conflict again. It uses real time and not the injected clock, because the
    // other transaction runs in real time.
    await delay(randomInt(Math.min(MAX_PAUSE_MS, 4 * 2 ** count)));
  }
  throw new PlatformError("CONFLICT", { cause: lost });
}

function attempt<T>(
  db: Db,
  { readOnly, signal }: TransactionOptions,
  work: (transaction: Db) => Promise<T>,
): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel(readOnly ? "repeatable read" : "serializable")
    .setAccessMode(readOnly ? "read only" : "read write")
    .execute(async (transaction) => {
      const result = await work(transaction);
      signal.throwIfAborted();
      return result;
    });
}

/**
 * serialization_failure, deadlock_detected, and unique_violation. The last one happens when two requests create the
 * same name: the second request, run again, sees the first row and answers by its own rule.
 */
const LOST_RACE = new Set(["40001", "40P01", "23505"]);

function isLostRace(error: unknown): boolean {
  return LOST_RACE.has(sqlState(error) ?? "") || isStalePlan(error);
}

/** The five-character SQLSTATE of an error, from either driver. */
export function sqlState(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** The database did not execute the query: it is gone, starting, shutting down, or out of connections. */
export function isUnreachable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return state.startsWith("08") || state.startsWith("57P") || state === "53300";
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EPIPE" || code === "ENOENT") return true;
  return error instanceof Error && /Connection terminated|timeout exceeded when trying to connect/.test(error.message);
}
