import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { Db } from "../database.ts";
import { PlatformError } from "./errors.ts";

export interface TransactionOptions {
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
  readonly onRetry: () => void;
}

/** Enough for a handful of racing writers; past it the caller is told to come again (409, retryable). */
const MAX_ATTEMPTS = 5;

/**
 * Runs `work` in one serialisable transaction and repeats it from its start when it lost a race.
 * A read-only one is a snapshot, which never loses; a write in it fails on every dialect.
 *
 * @throws CONFLICT after five lost races; `signal.reason` when the request ended before the commit, rolled back.
 */
export async function inTransaction<T>(
  db: Db,
  { readOnly, signal, onRetry }: TransactionOptions,
  work: (transaction: Db) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db
        .transaction()
        .setIsolationLevel(readOnly ? "repeatable read" : "serializable")
        .execute(async (transaction) => {
          // Said in SQL, because the embedded dialect ignores the builder's access mode.
          if (readOnly) await sql`set transaction read only`.execute(transaction);
          const result = await work(transaction);
          signal.throwIfAborted();
          return result;
        });
    } catch (error) {
      if (!isLostRace(error)) throw error;
      if (attempt === MAX_ATTEMPTS || signal.aborted) throw new PlatformError("CONFLICT", { cause: error });
      onRetry();
      // Apart from each other, or the same two lose again. Not the injected clock: this is the database's time.
      await delay(attempt * attempt * 2);
    }
  }
}

/**
 * serialization_failure, deadlock_detected, and unique_violation: two creators of one name meet in the index, and the
 * second, run again, sees the first and answers by its own rule.
 */
const LOST_RACE = new Set(["40001", "40P01", "23505"]);

function isLostRace(error: unknown): boolean {
  return LOST_RACE.has(sqlState(error) ?? "");
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
