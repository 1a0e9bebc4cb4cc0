import type { Enqueue, Source } from "../kube/controller/sources.ts";

/** Keys from elsewhere in this process. What is hinted before the controller starts is kept for it, once a key. */
export class Hints implements Source {
  readonly name: string;
  readonly #waiting: Set<string>;
  readonly #enqueue = new Set<Enqueue>();

  constructor(name: string, atStart: readonly string[] = []) {
    this.name = name;
    this.#waiting = new Set(atStart);
  }

  start(enqueue: Enqueue, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#enqueue.add(enqueue);
    signal.addEventListener("abort", () => this.#enqueue.delete(enqueue), { once: true });
    for (const key of this.#waiting) enqueue(key);
    this.#waiting.clear();
  }

  whenSynced(): Promise<void> {
    return Promise.resolve();
  }

  hint(key: string): void {
    if (this.#enqueue.size === 0) this.#waiting.add(key);
    for (const enqueue of this.#enqueue) enqueue(key);
  }
}
