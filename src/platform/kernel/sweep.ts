import { SWEEPS } from "../areas/sweeps.ts";
import type { Clock } from "../clock.ts";
import type { Db } from "../database.ts";
import type { Logger } from "../log.ts";
import { forgetOld } from "./idempotency.ts";

/**
 * Work that no request asks for: clean-up, and changes that time makes and that others must be told of. Idempotent and
 * safe on several replicas at once. Whatever a reader can compute from the clock is not here.
 */
export type Sweep = (db: Db, now: Date) => Promise<void>;

const EVERY_MS = 60_000;

export interface Sweeper {
  now(): Promise<void>;
  readonly ended: Promise<void>;
}

/** Runs every sweep once a minute until `signal`; one that fails is logged and does not stop the others. */
export function sweepEvery(db: Db, clock: Clock, log: Logger, signal: AbortSignal): Sweeper {
  const sweeps: Readonly<Record<string, Sweep>> = { idempotency: forgetOld, ...SWEEPS };
  const now = async (): Promise<void> => {
    for (const [name, sweep] of Object.entries(sweeps)) {
      if (signal.aborted) return;
      try {
        await sweep(db, clock.wallNow());
      } catch (error) {
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
