import { type Clock, type Random, systemRandom } from "../../base/clock.ts";
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
  /** Between two looks at all of them: how late a rule that was taken away is noticed. */
  readonly everyMs: number;
  /** A missing right is an installation's choice: it is not logged, and not looked at more often than the others. */
  readonly isOptional?: boolean;
  readonly random?: Random;
}

/** Between two looks where a right is missing, or seems to be: how late a rule that was given back is noticed. */
const AGAIN_MS = 10_000;
/** A right that was there is lost once it has been missing for this long, or for this many looks of a shorter interval. */
const LOST_AFTER_MS = 10_000;
const LOST_AFTER_LOOKS = 5;
const MIN_PAUSE_MS = 1_000;

/** What a look found that the one before had not. */
export interface AccessChange<T> {
  readonly lost: readonly T[];
  readonly regained: readonly T[];
}

/**
 * Asks the API server again and again which of the needed rights this process has. A missing one ends nothing here:
 * what needs it says so, what does not goes on, and the listeners are called when it returns. A loss is believed only
 * when it lasts: an API server that has just started grants nothing until it has read its rules.
 */
export class AccessWatch<T extends RequiredAccess> {
  readonly name = "access";
  readonly #options: AccessWatchOptions<T>;
  readonly #first = Promise.withResolvers<void>();
  readonly #listeners = new Set<(change: AccessChange<T>) => void>();
  /** Undefined before the first look. */
  #missing: ReadonlyMap<string, T> | undefined;
  /** Missing since then, and not yet believed. */
  #suspects: ReadonlyMap<string, { readonly right: T; readonly sinceMs: number }> = new Map();

  constructor(options: AccessWatchOptions<T>) {
    this.#options = options;
  }

  /** By the last look; none before the first. */
  get missing(): readonly T[] {
    return [...(this.#missing?.values() ?? [])];
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
    const { clock, required, everyMs, random = systemRandom } = this.#options;
    let allAtMs = Number.NEGATIVE_INFINITY;
    const look = async (each: AbortSignal): Promise<void> => {
      const isForAll = clock.monotonicMs() >= allAtMs;
      if (isForAll) allAtMs = clock.monotonicMs() + everyMs;
      const troubled = this.#troubledNamespaces();
      const asked = isForAll ? required() : required().filter(({ namespace }) => troubled.has(namespace));
      // The wait for the first look must end without that right too.
      await this.look(each, asked).finally(() => this.#first.resolve());
    };
    const pauseMs = (): number => {
      const restMs = Math.max(MIN_PAUSE_MS, Math.min(everyMs, allAtMs - clock.monotonicMs()));
      return this.#troubledNamespaces().size === 0 ? restMs : Math.min(restMs, AGAIN_MS * (0.8 + 0.2 * random()));
    };
    await lookRepeatedly(look, { ...this.#options, everyMs: pauseMs, failed: "own rights not read" }, signal);
  }

  /** @param asked what is not among them is taken to be there. */
  async look(signal: AbortSignal, asked: readonly T[] = this.#options.required()): Promise<void> {
    const { client, clock, everyMs, log, isOptional = false } = this.#options;
    const found = await missingAccess(client, asked, signal);
    const [before, nowMs] = [this.#missing, clock.monotonicMs()];
    const lostAfterMs = Math.min(LOST_AFTER_MS, LOST_AFTER_LOOKS * everyMs);
    const missing = new Map<string, T>();
    const suspects = new Map<string, { readonly right: T; readonly sinceMs: number }>();
    for (const right of found) {
      const key = accessText(right);
      const sinceMs = this.#suspects.get(key)?.sinceMs ?? nowMs;
      const isLost = before === undefined || before.has(key) || nowMs - sinceMs >= lostAfterMs;
      if (isLost) missing.set(key, right);
      else suspects.set(key, { right, sinceMs });
    }
    this.#missing = missing;
    this.#suspects = suspects;
    const lost = [...missing].filter(([key]) => before?.has(key) !== true).map(([, right]) => right);
    const regained = [...(before ?? [])].filter(([key]) => !missing.has(key)).map(([, right]) => right);
    if (lost.length > 0 && !isOptional)
      log.warn({ missing: lost.map(accessText) }, "rights are missing; what needs them waits");
    if (regained.length > 0 && !isOptional) log.info({ regained: regained.map(accessText) }, "rights are there again");
    if (lost.length + regained.length === 0) return;
    for (const listener of this.#listeners) listener({ lost, regained });
  }

  #troubledNamespaces(): ReadonlySet<string> {
    const missing = this.#options.isOptional === true ? [] : this.missing;
    const suspects = [...this.#suspects.values()].map(({ right }) => right);
    return new Set([...missing, ...suspects].map(({ namespace }) => namespace));
  }
}
