import { Backoff } from "../../../base/backoff.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import type { RolloutAct } from "./rollout-step.ts";

/** What was under way was stopped: by a word of the customer, or because its rollout is gone. */
export class RolloutStopped extends Error {
  override readonly name = "RolloutStopped";
}

/**
 * What this process does for rollouts right now. The cache shows a rollout's new state only after a while: until then its
 * accounts are needed here, its stored state is known here, and its deployment's place is taken here.
 */
export class RunningRollouts {
  /** Plans that the API server, or a webhook of the customer, was too busy for. */
  readonly unplanned = new Backoff({ baseMs: 1_000, maxMs: 60_000 });
  readonly #held = new Set<string>();
  readonly #acts = new Map<string, AbortController>();
  readonly #stored = new Map<string, { readonly older: Set<string>; readonly newest: Rollout }>();
  readonly #pauses = new Map<string, { readonly act: RolloutAct; readonly untilMs: number }>();
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Uids of rollouts whose accounts may be needed. */
  get held(): ReadonlySet<string> {
    return this.#held;
  }

  /** Its accounts are about to be made. */
  hold(uid: string): void {
    this.#held.add(uid);
  }

  /** Its accounts are gone. */
  release(uid: string): void {
    this.#held.delete(uid);
  }

  /** How long this act still has to wait for its next try. An event in between, of its own write too, is no reason for one. */
  pauseMs(uid: string, act: RolloutAct, nowMs: number): number {
    const pause = this.#pauses.get(uid);
    return pause?.act === act ? Math.max(0, pause.untilMs - nowMs) : 0;
  }

  /** The act is to be done again in so long; undefined: it has led to another step. */
  pause(uid: string, act: RolloutAct, untilMs: number | undefined): void {
    if (untilMs === undefined) this.#pauses.delete(uid);
    else this.#pauses.set(uid, { act, untilMs });
  }

  /** It is gone: what is done for it is stopped. */
  forget(uid: string): void {
    this.stop(uid);
    this.#stored.delete(uid);
    this.ended(uid);
  }

  /** It does nothing any more. */
  ended(uid: string): void {
    this.release(uid);
    this.#pauses.delete(uid);
    this.unplanned.forget(uid);
  }

  stop(uid: string): void {
    this.#acts.get(uid)?.abort(new RolloutStopped("the rollout was stopped"));
  }

  /** @throws RolloutStopped when `stop` was called in its midst */
  async during<T>(uid: string, signal: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    this.#acts.set(uid, stop);
    try {
      return await act(AbortSignal.any([signal, stop.signal]));
    } catch (error) {
      throw stop.signal.aborted && !signal.aborted ? stop.signal.reason : error;
    } finally {
      this.#acts.delete(uid);
    }
  }

  /** Notes a write, so that an older state that the cache still shows is not acted on. */
  wrote(before: Rollout, newest: Rollout): void {
    const { uid, resourceVersion } = before.metadata;
    if (newest.metadata.resourceVersion === resourceVersion) return;
    const older = this.#stored.get(uid)?.older ?? new Set<string>();
    this.#stored.set(uid, { older: older.add(resourceVersion), newest });
  }

  /** @param cached as the cache shows it */
  newest(cached: Rollout): Rollout {
    const { uid, resourceVersion } = cached.metadata;
    const known = this.#stored.get(uid);
    if (known?.older.has(resourceVersion)) return known.newest;
    this.#stored.delete(uid);
    return cached;
  }

  /** One at a time for a deployment: of two that look and then claim, the second sees what the first has done. */
  async alone<T>(deploymentId: string, act: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(deploymentId) ?? Promise.resolve();
    const mine = before.then(act, act);
    this.#turns.set(deploymentId, mine);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(deploymentId) === mine) this.#turns.delete(deploymentId);
    }
  }
}
