import type { Clock } from "../../base/clock.ts";
import { Refusal } from "../kernel/refusal.ts";

const MAX_POLLS = 500;
/** A machine waits once; after a lost connection its old poll may stand beside the new one. */
const MAX_OF_ONE = 3;
/** How exactly the end of a poll is kept. */
const TICK_MS = 1_000;

interface Poll {
  readonly endsAtMs: number;
  readonly wake: () => void;
}

/** The long-polls under way, by the join that they wait for. One timer serves them all, and none runs without a poll. */
export class Waiting {
  readonly #clock: Clock;
  readonly #changed: (polls: number) => void;
  readonly #polls = new Map<string, Set<Poll>>();
  #count = 0;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(clock: Clock, changed: (polls: number) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Resolves when the join changes, `waitMs` are over, the machine is gone, or the server stops. @throws Refusal */
  async wait(uid: string, waitMs: number, gone: AbortSignal): Promise<void> {
    if (this.#isClosed || gone.aborted) return;
    const polls = this.#polls.get(uid) ?? new Set();
    if (this.#count >= MAX_POLLS || polls.size >= MAX_OF_ONE) {
      throw new Refusal(503, "TOO_MANY_WAITING", "waiting-full", "too many machines wait here", 10);
    }
    const done = Promise.withResolvers<void>();
    const onGone = (): void => done.resolve();
    const poll = { endsAtMs: this.#clock.monotonicMs() + waitMs, wake: done.resolve };
    this.#polls.set(uid, polls.add(poll));
    this.#counted(1);
    this.#stopTimer ??= this.#clock.after(TICK_MS, () => this.#tick());
    gone.addEventListener("abort", onGone, { once: true });
    try {
      await done.promise;
    } finally {
      gone.removeEventListener("abort", onGone);
      polls.delete(poll);
      if (polls.size === 0) this.#polls.delete(uid);
      this.#counted(-1);
    }
  }

  /** The join has changed. */
  wake(uid: string): void {
    for (const poll of this.#polls.get(uid) ?? []) poll.wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer?.();
    for (const uid of [...this.#polls.keys()]) this.wake(uid);
  }

  #tick(): void {
    this.#stopTimer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const polls of this.#polls.values()) {
      for (const poll of polls) if (poll.endsAtMs <= nowMs) poll.wake();
    }
    if (this.#count > 0 && !this.#isClosed) this.#stopTimer = this.#clock.after(TICK_MS, () => this.#tick());
  }

  #counted(by: 1 | -1): void {
    this.#count += by;
    this.#changed(this.#count);
  }
}
