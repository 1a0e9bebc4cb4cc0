import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Db } from "../../database/db.ts";
import { isStalePlan } from "../../database/prepared-pool.ts";
import { PlatformError } from "../errors.ts";
import type { Lane } from "./lane.ts";

export interface TransactionOptions {
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  /** Where those who lost a race queue up, and who comes meanwhile, so that they do not lose it again: a line a workspace. */
  readonly line?: { readonly lane: Lane; readonly key: string };
  readonly onRetry: () => void;
}

/** About a second of trying in all; past it the caller is told to come again (409, retryable). */
const MAX_ATTEMPTS = 10;
const MAX_PAUSE_MS = 250;

/**
 * Runs `work` in one serialisable transaction and repeats it from its start when it lost a race.
 * A read-only one is a snapshot, which never loses; a write in it fails on every dialect.
 *
 * @throws CONFLICT after ten lost races; `signal.reason` when the request ended before the commit, rolled back.
 */
export async function inTransaction<T>(
  db: Db,
  options: TransactionOptions,
  work: (transaction: Db) => Promise<T>,
): Promise<T> {
  const { line, readOnly } = options;
  const queued: Queued = (run) => (line === undefined ? run() : line.lane.run(line.key, run));
  const length = line === undefined || readOnly ? 0 : line.lane.lengthOf(line.key);
  // Beside those who wait for their turn it would most likely lose, or make one of them lose.
  if (length > 0 && length < SHORT_LINE) return queued(() => untilWon(db, options, work, (run) => run()));
  return untilWon(db, options, work, queued);
}

type Queued = <T>(run: () => Promise<T>) => Promise<T>;

/** A longer line is slower than luck: more run at once again, and some of them lose. */
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
    // At random, or two replicas meet again. Not the injected clock: this is the database's time.
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
 * serialization_failure, deadlock_detected, and unique_violation: two creators of one name meet in the index, and the
 * second, run again, sees the first and answers by its own rule.
 */
const LOST_RACE = new Set(["40001", "40P01", "23505"]);

function isLostRace(error: unknown): boolean {
  return LOST_RACE.has(sqlState(error) ?? "") || isStalePlan(error);
}

/** The five characters of an SQL error, from either driver. */
export function sqlState(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** The database did not take the question: gone, starting, shutting down, out of connections. */
export function isUnreachable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return state.startsWith("08") || state.startsWith("57P") || state === "53300";
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EPIPE" || code === "ENOENT") return true;
  return error instanceof Error && /Connection terminated|timeout exceeded when trying to connect/.test(error.message);
}
