import type { Random } from "../../base/clock.ts";
import { Attempts, BudgetGates } from "./attempts.ts";

/** What this process remembers of its drains. All of it may be lost: the next process asks again, and ends in the same place. */
export class DrainMemory {
  readonly gates: BudgetGates;
  readonly #attempts = new Map<string, { readonly uid: string; readonly attempts: Attempts }>();
  readonly #begun = new Set<string>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
    this.gates = new BudgetGates(random);
  }

  attemptsOf(key: string, uid: string, nowMs: number): Attempts {
    const known = this.#attempts.get(key);
    if (known?.uid === uid) return known.attempts;
    if (known !== undefined) this.#begun.delete(known.uid);
    const attempts = new Attempts(nowMs, this.#random);
    this.#attempts.set(key, { uid, attempts });
    return attempts;
  }

  /** Known before the cache shows it, so that no second drain takes the same turn. */
  begin(uid: string): void {
    this.#begun.add(uid);
  }

  isBegun(uid: string): boolean {
    return this.#begun.has(uid);
  }

  forget(key: string): void {
    const known = this.#attempts.get(key);
    if (known !== undefined) this.#begun.delete(known.uid);
    this.#attempts.delete(key);
  }
}
