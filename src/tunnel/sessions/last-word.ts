import type { Logger } from "../../base/log.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { type StatusWriter, TakenOver, type TunnelStatus } from "./status-writer.ts";

/** That a session has ended, to be written into its object until it stands there: the operator waits for it. */
export class LastWord {
  readonly #status: Pick<StatusWriter, "write">;
  readonly #tunnel: TunnelStatus;
  readonly #log: Logger;
  #isSaid = false;

  constructor(status: Pick<StatusWriter, "write">, tunnel: TunnelStatus, log: Logger) {
    this.#status = status;
    this.#tunnel = tunnel;
    this.#log = log;
  }

  /** Written, or there is no object of this tunnel any more to write it into. */
  get isSaid(): boolean {
    return this.#isSaid;
  }

  /** One try. Does not reject. */
  async say(signal: AbortSignal): Promise<void> {
    if (this.#isSaid) return;
    try {
      await this.#status.write(this.#tunnel, signal);
      this.#isSaid = true;
    } catch (err) {
      this.#isSaid = err instanceof TakenOver || (err instanceof ApiError && err.isNotFound);
      if (!this.#isSaid) this.#log.warn({ err }, "the end of a debug session was not written yet");
    }
  }
}
