import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../base/clock.ts";
import type { ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";

/** When nothing but the times of the last look and report is new. Shorter than the pause between two reports at rest. */
const TIMES_EVERY_MS = 45_000;

interface Pace {
  writtenAtMs: number;
  /** A change waits until then. */
  dueAtMs: number | undefined;
}

/**
 * When the status of a deployment is written after a report: at once, but not so often while it changes. A rollout is many
 * reports, of which people read the last, and a write a report would have a large one fill the API server's history.
 */
export class StatusPace {
  readonly #clock: Clock;
  readonly #changedEveryMs: number;
  readonly #paces = new Map<string, Pace>();

  constructor(clock: Clock, changedEveryMs: number) {
    this.#clock = clock;
    this.#changedEveryMs = changedEveryMs;
  }

  /** Whether to write now; a change that may not be written yet is due later. */
  isDue(id: string, before: ManagedDeploymentStatus | undefined, now: ManagedDeploymentStatus): boolean {
    const pace = this.#paces.get(id);
    if (pace === undefined) return true;
    const isChanged = !isDeepStrictEqual(timeless(before), timeless(now));
    const atMs = pace.writtenAtMs + (isChanged ? this.#changedEveryMs : TIMES_EVERY_MS);
    const isNow = this.#clock.monotonicMs() >= atMs;
    pace.dueAtMs = isChanged && !isNow ? atMs : undefined;
    return isNow;
  }

  written(id: string): void {
    this.#paces.set(id, { writtenAtMs: this.#clock.monotonicMs(), dueAtMs: undefined });
  }

  /** Undefined: nothing waits. */
  dueInMs(id: string): number | undefined {
    const dueAtMs = this.#paces.get(id)?.dueAtMs;
    return dueAtMs === undefined ? undefined : Math.max(0, dueAtMs - this.#clock.monotonicMs());
  }

  forget(id: string): void {
    this.#paces.delete(id);
  }
}

function timeless(status: ManagedDeploymentStatus = {}): object {
  const { observedAt: _, lastReportedAt: __, ...rest } = status;
  return rest;
}
