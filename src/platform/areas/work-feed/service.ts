import type { Db } from "../../database/db.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import type { Waker } from "../../kernel/events/waker.ts";
import { type FeedCursor, readCursor, writeCursor } from "./cursor.ts";
import { type Reading, readChanges, readOpenWork, type Work } from "./store.ts";

/** Rows of one answer (§14.4). */
const PAGE = 500;

interface Feed {
  readonly db: Db;
  readonly config: CallConfig;
  readonly waker: Waker;
  readonly signal: AbortSignal;
  credentialLives(): Promise<boolean>;
}

export interface FeedAnswer {
  cursor: string;
  topics: Work[];
}

/** How often a held poll checks its key: the poll must end within 5 s after the key (§1.1). */
const KEY_LOOK_MS = 4_000;

/**
 * What changed since the cursor; with `waitMs` waits for a change. Ends early when the key ends or the server drains.
 */
export async function waitForWork(
  feed: Feed,
  managerId: string,
  cursorText: string | undefined,
  waitMs: number,
): Promise<FeedAnswer> {
  const { db, waker, signal, config } = feed;
  const known = cursorText === undefined ? undefined : readCursor(config.sealingKey, cursorText, managerId);
  const leftMs = waker.timer(waitMs);
  // Subscribe before reading, so that a commit in between wakes this call.
  using subscription = waker.subscribe(managerId);
  let { work, next } = await read(db, managerId, known);
  let lives = true;
  while (work.length === 0 && leftMs() > 0 && !signal.aborted && lives) {
    if (await subscription.next(Math.min(leftMs(), KEY_LOOK_MS), signal))
      ({ work, next } = await read(db, managerId, known));
    else if (leftMs() > 0 && !signal.aborted) lives = await feed.credentialLives();
  }
  return { cursor: writeCursor(config.sealingKey, next), topics: [...work] };
}

async function read(
  db: Db,
  managerId: string,
  cursor: FeedCursor | undefined,
): Promise<{ work: readonly Work[]; next: FeedCursor }> {
  const after = cursor?.walk?.after;
  const since = cursor?.since ?? null;
  const reading =
    since === null
      ? await readOpenWork(db, managerId, after, PAGE)
      : await readChanges(db, managerId, since, after, PAGE);
  if (cursor !== undefined && cursor.epoch !== reading.epoch) return read(db, managerId, undefined);
  return { work: reading.work, next: nextCursor(managerId, since, cursor?.walk?.until, reading) };
}

/**
 * After a full page there may be more rows: the walk continues. Changes made during the walk are newer than its
 * snapshot, so the reader gets them after it.
 */
function nextCursor(
  managerId: string,
  since: string | null,
  walkedFrom: string | undefined,
  reading: Reading,
): FeedCursor {
  const { epoch, snapshot, work } = reading;
  const until = walkedFrom ?? snapshot;
  const last = work.length === PAGE ? work.at(-1) : undefined;
  return last === undefined
    ? { epoch, managerId, since: until }
    : { epoch, managerId, since, walk: { until, after: [last.topic, last.deploymentId] } };
}
