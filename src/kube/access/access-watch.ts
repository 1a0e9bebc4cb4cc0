import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { orAborted } from "../../base/or-aborted.ts";
import type { Client } from "../client/client.ts";
import { lookRepeatedly } from "./repeated-look.ts";
import { accessText, missingAccess, type RequiredAccess } from "./required-access.ts";

export interface AccessWatchOptions<T extends RequiredAccess> {
  readonly client: Pick<Client, "selfSubjectRulesReview" | "selfSubjectAccessReview">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Asked before each look: what is needed may change with what is served. */
  readonly required: () => readonly T[];
  /** Between two looks: how late a rule that was taken away, or given back, is noticed. */
  readonly everyMs: number;
  /** A missing right is an installation's choice: it is not logged. */
  readonly isOptional?: boolean;
}

/** What a look found that the one before had not. */
export interface AccessChange<T> {
  readonly lost: readonly T[];
  readonly regained: readonly T[];
}

/**
 * Asks the API server again and again which of the needed rights this process has. A missing one ends nothing here:
 * what needs it says so, what does not goes on, and the listeners are called when it returns.
 */
export class AccessWatch<T extends RequiredAccess> {
  readonly name = "access";
  readonly #options: AccessWatchOptions<T>;
  readonly #first = Promise.withResolvers<void>();
  readonly #listeners = new Set<(change: AccessChange<T>) => void>();
  #missing: ReadonlyMap<string, T> = new Map();

  constructor(options: AccessWatchOptions<T>) {
    this.#options = options;
  }

  /** By the last look; none before the first. */
  get missing(): readonly T[] {
    return [...this.#missing.values()];
  }

  onChange(listener: (change: AccessChange<T>) => void): void {
    this.#listeners.add(listener);
  }

  /** Resolves after the first look, also one that was refused; rejects with `signal.reason`. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return orAborted(this.#first.promise, signal);
  }

  /** Looks until `signal` aborts; a look that fails leaves the last one standing. */
  async run(signal: AbortSignal): Promise<void> {
    const look = async (each: AbortSignal): Promise<void> => {
      // The wait for the first look must end without that right too.
      await this.look(each).finally(() => this.#first.resolve());
    };
    await lookRepeatedly(look, { ...this.#options, failed: "own rights not read" }, signal);
  }

  async look(signal: AbortSignal): Promise<void> {
    const { client, required, log, isOptional = false } = this.#options;
    const found = await missingAccess(client, required(), signal);
    const before = this.#missing;
    this.#missing = new Map(found.map((each) => [accessText(each), each]));
    const lost = found.filter((each) => !before.has(accessText(each)));
    const regained = [...before.values()].filter((each) => !this.#missing.has(accessText(each)));
    if (lost.length > 0 && !isOptional)
      log.warn({ missing: lost.map(accessText) }, "rights are missing; what needs them waits");
    if (regained.length > 0 && !isOptional) log.info({ regained: regained.map(accessText) }, "rights are there again");
    if (lost.length + regained.length === 0) return;
    for (const listener of this.#listeners) listener({ lost, regained });
  }
}
