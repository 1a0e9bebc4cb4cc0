/** Why a running operation is stopped. */
export type StopReason = "time limit" | "window closed" | "revoked" | "shutting down" | "leadership lost";

/** The reason of an operation's signal. */
export class OperationStopped extends Error {
  override readonly name = "OperationStopped";
  readonly because: StopReason;

  constructor(because: StopReason) {
    super(`stopped: ${because}`);
    this.because = because;
  }
}

/** What this process is running right now, by the grant that allows it, so that a revocation reaches it at once. */
export class RunningOperations {
  readonly #byGrant = new Map<string, Set<AbortController>>();

  /** @returns the function to call when it has ended. */
  add(grantUid: string, controller: AbortController): () => void {
    const running = this.#byGrant.get(grantUid) ?? new Set();
    this.#byGrant.set(grantUid, running.add(controller));
    return () => {
      running.delete(controller);
      if (running.size === 0) this.#byGrant.delete(grantUid);
    };
  }

  /** Stops all operations of a grant. Returns how many there were; it does not wait for them. */
  stop(grantUid: string, because: StopReason): number {
    const running = [...(this.#byGrant.get(grantUid) ?? [])];
    for (const controller of running) controller.abort(new OperationStopped(because));
    return running.length;
  }

  get owners(): Iterable<string> {
    return this.#byGrant.keys();
  }

  get size(): number {
    return [...this.#byGrant.values()].reduce((sum, running) => sum + running.size, 0);
  }
}
