import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import type { Db } from "../../database/db.ts";
import type { Hooks } from "../call/call.ts";
import type { PlatformMetrics } from "../metrics/metrics.ts";

/**
 * Work that no request causes: clean-up, and changes made by time that clients must be notified of. Idempotent and safe on
 * several replicas at once. What a reader can compute from the clock is not done here.
 */
export type Sweep = (db: Db, now: Date, hooks: Hooks) => Promise<void>;

/** A sweep that only deletes or summarises rows and calls no hooks. */
export type CleanUp = (db: Db, now: Date) => Promise<void>;

const EVERY_MS = 60_000;

export interface SweepTools {
  /** By the name in logs and metrics. */
  readonly sweeps: Readonly<Record<string, Sweep>>;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<PlatformMetrics, "swept">;
}

export interface Sweeper {
  now(): Promise<void>;
  readonly ended: Promise<void>;
}

/** Runs every sweep once a minute until `signal`. A failed sweep is logged and does not stop the others. */
export function sweepEvery(db: Db, { sweeps, hooks, clock, log, metrics }: SweepTools, signal: AbortSignal): Sweeper {
  const now = async (): Promise<void> => {
    for (const [name, sweep] of Object.entries(sweeps)) {
      if (signal.aborted) return;
      try {
        await sweep(db, clock.wallNow(), hooks);
        metrics.swept(name, "ok", clock.wallNow());
      } catch (error) {
        metrics.swept(name, "failed", clock.wallNow());
        log.error({ err: error, sweep: name }, "sweep failed");
      }
    }
  };
  return { now, ended: run(now, clock, signal) };
}

async function run(now: () => Promise<void>, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await new Promise<void>((resolve) => {
      const cancel = clock.after(EVERY_MS, () => {
        signal.removeEventListener("abort", stop);
        resolve();
      });
      const stop = (): void => {
        cancel();
        resolve();
      };
      signal.addEventListener("abort", stop, { once: true });
    });
    await now();
  }
}
