import { sql } from "kysely";
import pg from "pg";
import type { Logger } from "../../../base/log.ts";
import type { Db } from "../../database/db.ts";
import type { Waker } from "./waker.ts";

const CHANNEL = "sallyport_work";

/**
 * Notifies the other replicas that a sleeper (see waker.ts) has work. Part of the transaction: the commit sends it, a rollback drops
 * it.
 */
export async function announce(db: Db, sleeper: string): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, ${sleeper})`.execute(db);
}

const RECONNECT_MS = 1_000;

/**
 * Receives the other replicas' notifications on its own connection until `signal`, and reconnects after a failure. A
 * lost notification costs only latency: the feed is read every second anyway (work-feed/tail.ts).
 */
export async function listen(url: string, waker: Waker, log: Logger, signal: AbortSignal): Promise<void> {
  let failing = false;
  while (!signal.aborted) {
    try {
      await listenOnce(url, waker, signal, () => {
        if (failing) log.info({}, "listening for other replicas again");
        failing = false;
      });
    } catch (error) {
      if (!failing) log.warn({ err: error }, "cannot listen for other replicas; the feed is looked at every second");
      failing = true;
    }
    if (!signal.aborted) await waker.sleep("", RECONNECT_MS, signal);
  }
}

async function listenOnce(url: string, waker: Waker, signal: AbortSignal, onConnected: () => void): Promise<void> {
  const client = new pg.Client({ connectionString: url, keepAlive: true });
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => resolve();
  client.on("error", reject);
  client.on("end", stop);
  client.on("notification", ({ payload }) => waker.wake(payload ?? ""));
  signal.addEventListener("abort", stop, { once: true });
  try {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    onConnected();
    if (!signal.aborted) await ended;
  } finally {
    signal.removeEventListener("abort", stop);
    client.off("end", stop);
    await client.end();
  }
}
