import type { Random } from "../../base/clock.ts";
import type { Answer } from "./judge.ts";
import type { Budget, DrainPod } from "./shapes.ts";

/** What is known of one pod from asking for it. */
export interface Attempt {
  /** Monotonic. Not before it is the pod asked for again, unless its budget changes. */
  readonly againMs: number;
  readonly tries: number;
  readonly answer: Answer;
  readonly by: AskedBy;
}

export type AskedBy = "evict" | "delete";

/**
 * What is known of one budget from asking for its pods: one refusal holds all of them, so that a hundred pods behind a
 * budget are not a hundred refusals at each try.
 */
interface Gate {
  /** Of the budget when it was last asked. */
  readonly resourceVersion: string;
  /** Evictions that this version has let pass. */
  readonly spent: number;
  readonly refusal: string | undefined;
  readonly tries: number;
  readonly againMs: number;
  /** Asked for and not answered yet. */
  readonly pending: number;
}

const NEW_GATE: Gate = { resourceVersion: "", spent: 0, refusal: undefined, tries: 0, againMs: 0, pending: 0 };

const BUDGET_MS = { base: 5_000, max: 60_000 };
const ERROR_MS = { base: 1_000, max: 300_000 };
const MISCONFIGURED_MS = 300_000;
const REPLACED_MS = 5_000;
/** An accepted eviction shows in the cache long before; when it does not, it is asked for again. */
const UNSEEN_MS = 60_000;
const JITTER = 0.2;

const IN_FLIGHT = 10;
const PER_SECOND = 5;

/** One budget's name in the memory. */
export function budgetKey({ metadata }: Budget): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/**
 * What was asked of each budget, by all drains together: two nodes with pods of one budget wait for the same
 * disruption. It is lost with the process, which costs a refusal a budget.
 */
export class BudgetGates {
  readonly #gates = new Map<string, Gate>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** How many pods of the budget may be asked for now. One, where the cache says none: caches err, and its words tell more. */
  room(budget: Budget, nowMs: number): number {
    const gate = this.#gates.get(budgetKey(budget)) ?? NEW_GATE;
    const allowed = Math.max(budget.status.disruptionsAllowed, 0);
    const isSame = gate.resourceVersion === budget.metadata.resourceVersion;
    const probe = nowMs < gate.againMs || gate.pending > 0 ? 0 : 1;
    // Refused by a budget that has not changed since: what the cache says of it is not so.
    if (isSame && gate.refusal !== undefined) return probe;
    const left = allowed - (isSame ? gate.spent : 0) - gate.pending;
    return left > 0 ? left : probe;
  }

  refusalOf(budget: Budget): string | undefined {
    return this.#gates.get(budgetKey(budget))?.refusal;
  }

  /** When the next one may be asked for although the budget has not changed. */
  againMs(budget: Budget): number {
    return this.#gates.get(budgetKey(budget))?.againMs ?? 0;
  }

  asked(budget: Budget): void {
    const gate = this.#gates.get(budgetKey(budget)) ?? NEW_GATE;
    this.#gates.set(budgetKey(budget), { ...gate, pending: gate.pending + 1 });
  }

  /**
   * @param budget as it was when it was asked
   * @param answer undefined: there was none
   */
  answered(budget: Budget, answer: Answer | undefined, nowMs: number): void {
    const key = budgetKey(budget);
    const { resourceVersion } = budget.metadata;
    const before = this.#gates.get(key) ?? NEW_GATE;
    const pending = Math.max(before.pending - 1, 0);
    if (answer?.is === "accepted") {
      const spent = (before.resourceVersion === resourceVersion ? before.spent : 0) + 1;
      // The next version tells what is left. Should it not come, one is asked for to see.
      const againMs = nowMs + BUDGET_MS.base;
      this.#gates.set(key, { resourceVersion, spent, refusal: undefined, tries: 0, againMs, pending });
    } else if (answer?.is === "budget") {
      const tries = before.tries + 1;
      const againMs = nowMs + delayMs(BUDGET_MS, tries, this.#random);
      this.#gates.set(key, { resourceVersion, spent: 0, refusal: answer.message, tries, againMs, pending });
    } else this.#gates.set(key, { ...before, pending });
  }

  forget(key: string): void {
    this.#gates.delete(key);
  }
}

/** What one drain has asked for, in this process. Lost with it: everything is then asked for once more. */
export class Attempts {
  readonly #pods = new Map<string, Attempt>();
  readonly #random: Random;
  #tokens = IN_FLIGHT;
  #tokensAtMs = 0;
  /** Monotonic: when a pod last left the node, or the drain was taken up. */
  movedMs: number;
  /** Monotonic: when the status was last written. */
  writtenMs = Number.NEGATIVE_INFINITY;
  #left: number | undefined;

  constructor(nowMs: number, random: Random) {
    this.movedMs = nowMs;
    this.#tokensAtMs = nowMs;
    this.#random = random;
  }

  of({ metadata }: DrainPod): Attempt | undefined {
    return this.#pods.get(metadata.uid);
  }

  /** Pods that may be asked for now. */
  tokens(nowMs: number): number {
    return Math.floor(Math.min(IN_FLIGHT, this.#tokens + ((nowMs - this.#tokensAtMs) / 1_000) * PER_SECOND));
  }

  /** Until there is a token again. */
  nextTokenMs(nowMs: number): number {
    const missing = 1 - (this.#tokens + ((nowMs - this.#tokensAtMs) / 1_000) * PER_SECOND);
    return Math.max(Math.ceil((missing * 1_000) / PER_SECOND), 1);
  }

  asked(nowMs: number): void {
    this.#tokens = Math.min(IN_FLIGHT, this.#tokens + ((nowMs - this.#tokensAtMs) / 1_000) * PER_SECOND) - 1;
    this.#tokensAtMs = nowMs;
  }

  answered({ metadata }: DrainPod, by: AskedBy, answer: Answer, nowMs: number): void {
    const before = this.#pods.get(metadata.uid);
    const tries = (before?.by === by ? before.tries : 0) + 1;
    const againMs = nowMs + this.#pauseMs(answer, tries);
    this.#pods.set(metadata.uid, { answer, by, tries, againMs });
  }

  /** Forgets pods that have left, and notes whether any did. */
  seen(pods: readonly DrainPod[], left: number, nowMs: number): void {
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#pods.delete(uid);
    if (this.#left !== undefined && left < this.#left) this.movedMs = nowMs;
    this.#left = left;
  }

  #pauseMs(answer: Answer, tries: number): number {
    switch (answer.is) {
      case "accepted":
      case "gone":
      case "ending":
        return UNSEEN_MS;
      case "replaced":
        return REPLACED_MS;
      case "budget":
        return delayMs(BUDGET_MS, tries, this.#random);
      case "busy":
        return answer.afterMs;
      case "misconfigured":
        return MISCONFIGURED_MS;
      case "error":
        return delayMs(ERROR_MS, tries, this.#random);
    }
  }
}

function delayMs(
  { base, max }: { readonly base: number; readonly max: number },
  tries: number,
  random: Random,
): number {
  return Math.min(base * 2 ** (tries - 1), max) * (1 + JITTER * (2 * random() - 1));
}
