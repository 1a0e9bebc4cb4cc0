import { randomBytes } from "node:crypto";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { NAME_SALT_SECRET } from "../../crds/group.ts";
import type { Client } from "../../kube/client/client.ts";
import { readSalt } from "../kernel/salt-secret.ts";
import { HiddenNames, type Names } from "./names.ts";

export interface NameSaltOptions {
  readonly client: Pick<Client, "get" | "replace">;
  /** Where the agent runs. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** What was told has other names now. */
  readonly changed: () => void;
}

const SALT_BYTES = 32;
const RETRY_MS = 60_000;

/**
 * The installation's salt, in a Secret that the chart makes empty and the first agent fills. Until it can be read names
 * are hidden under a salt of this process alone: no true name is told, and the names change with the next restart.
 */
export class NameSalt implements Names {
  readonly name = "salt of names";
  readonly #options: NameSaltOptions;
  #hidden = new HiddenNames(randomBytes(SALT_BYTES));
  #isTried = false;

  constructor(options: NameSaltOptions) {
    this.#options = options;
  }

  get hidden(): HiddenNames {
    return this.#hidden;
  }

  get isStarting(): boolean {
    return !this.#isTried;
  }

  /** Ends once the salt is there. To be run while this agent leads. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, changed } = this.#options;
    const options = { ...this.#options, secret: NAME_SALT_SECRET };
    while (!signal.aborted) {
      const salt = await readSalt(options, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error, secret: NAME_SALT_SECRET }, "salt of names not read");
        return undefined;
      });
      this.#isTried = true;
      if (salt !== undefined) {
        this.#hidden = new HiddenNames(salt);
        changed();
        return;
      }
      await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    }
  }
}
