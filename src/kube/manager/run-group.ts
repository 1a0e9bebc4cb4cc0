import type { Logger } from "../../base/log.ts";

interface Part {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** Parts that are stopped together. */
export class RunGroup {
  readonly #name: string;
  readonly #log: Logger;
  readonly #failed: (error: unknown) => void;
  readonly #abort = new AbortController();
  readonly #running = new Set<Part>();
  readonly #stopped = Promise.withResolvers<void>();

  /** @param failed called when a part throws before the group was asked to stop. */
  constructor(name: string, log: Logger, failed: (error: unknown) => void) {
    this.#name = name;
    this.#log = log;
    this.#failed = failed;
  }

  /** Names of the parts that have not returned. */
  get running(): readonly string[] {
    return [...this.#running].map((part) => part.name);
  }

  /** Does nothing once the group was asked to stop. */
  start(part: Part): void {
    if (this.#abort.signal.aborted) return;
    this.#running.add(part);
    // Never rejects: a failure has its own way out.
    void this.#run(part);
  }

  /** Asks the parts to stop. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
    this.#settle();
  }

  /** Resolves when the group was asked to stop and all parts have returned. */
  whenStopped(): Promise<void> {
    return this.#stopped.promise;
  }

  async #run(part: Part): Promise<void> {
    const { signal } = this.#abort;
    try {
      await part.run(signal);
    } catch (error) {
      const about = { err: error, part: part.name, group: this.#name };
      if (signal.aborted) this.#log.debug(about, "ended with an error while stopping");
      else this.#failed(error);
    } finally {
      this.#running.delete(part);
      this.#settle();
    }
  }

  #settle(): void {
    if (this.#abort.signal.aborted && this.#running.size === 0) this.#stopped.resolve();
  }
}
