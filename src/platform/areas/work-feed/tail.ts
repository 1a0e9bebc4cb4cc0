import type { Logger } from "../../../base/log.ts";
import type { Db } from "../../database/db.ts";
import type { Waker } from "../../kernel/events/waker.ts";
import { readRaised } from "./store.ts";

/** The feed reports a change within one second of its commit (§14.4). */
const LOOK_EVERY_MS = 900;

export interface TailTools {
  readonly db: Db;
  readonly waker: Waker;
  readonly log: Logger;
}

/**
 * Wakes held polls when any replica has raised something, until `signal`. One query for the process, for any number of
 * polls. LISTEN is faster, but its connection may fail unnoticed; this loop guarantees the time.
 */
export async function tailFeed({ db, waker, log }: TailTools, signal: AbortSignal): Promise<void> {
  let seen: string | undefined;
  let failing = false;
  while (!signal.aborted) {
    try {
      const { snapshot, managers } = await readRaised(db, seen);
      for (const managerId of managers) waker.wake(managerId);
      seen = snapshot;
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ err: error }, "cannot look for raised work; trying on");
      failing = true;
    }
    await waker.sleep("", LOOK_EVERY_MS, signal);
  }
}
