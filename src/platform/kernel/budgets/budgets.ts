import { invalid, PlatformError } from "../errors.ts";
import type { Budget } from "./budget-kinds.ts";
import { BUDGETS } from "./budget-table.ts";

export type BudgetName = keyof typeof BUDGETS;
export type BudgetSizes = Readonly<Record<BudgetName, number>>;
type NameOf<K extends Budget["kind"]> = {
  [N in BudgetName]: (typeof BUDGETS)[N]["kind"] extends K ? N : never;
}[BudgetName];
export type RowBudget = NameOf<"rows">;
export type HourlyBudget = NameOf<"hourly">;
export type SeatBudget = NameOf<"seats">;

export const BUDGET_NAMES = Object.keys(BUDGETS) as readonly BudgetName[];

export const BUDGET_SIZES = Object.fromEntries(BUDGET_NAMES.map((name) => [name, BUDGETS[name].size])) as BudgetSizes;

/**
 * Reads `name=size,…` over the default sizes. `wrong` lists the items whose name is no budget or whose size is not a
 * whole number from 1 on.
 */
export function readBudgets(text: string): { readonly sizes: BudgetSizes; readonly wrong: readonly string[] } {
  const sizes: Record<BudgetName, number> = { ...BUDGET_SIZES };
  const wrong: string[] = [];
  for (const item of text === "" ? [] : text.split(",").map((each) => each.trim())) {
    const [, name = "", size] = /^([a-z-]+)=([1-9]\d{0,12})$/.exec(item) ?? [];
    if (Object.hasOwn(BUDGETS, name)) sizes[name as BudgetName] = Number(size);
    else wrong.push(item);
  }
  return { sizes, wrong };
}

/** A seat to take: the budget and the tenant that pays for it. */
export type Seat = readonly [budget: SeatBudget, tenant: string];

/** Fixed: a caller that retries too early gets the same answer again. */
const RETRY_AFTER_SECONDS = 10;

/**
 * Enforces the budgets of `budget-table.ts`. Seats are counted in memory, per process; an entry is removed when its
 * last seat is released.
 */
export class Budgets {
  readonly #sizes: BudgetSizes;
  readonly #onRefused: (budget: BudgetName) => void;
  readonly #held = new Map<string, number>();

  constructor(sizes: BudgetSizes, onRefused: (budget: BudgetName) => void) {
    this.#sizes = sizes;
    this.#onRefused = onRefused;
  }

  size(name: BudgetName): number {
    return this.#sizes[name];
  }

  /**
   * @param held rows that the tenant has including the new ones, counted in the transaction that adds them.
   * @throws the budget's error when `held` is more than its size.
   */
  require(name: RowBudget | HourlyBudget, tenant: string, held: number): void {
    if (held > this.#sizes[name]) throw this.refusal(name, tenant);
  }

  /** Whether the tenant may have one row more. A question, not a refusal: the refusal metric does not count it. */
  hasRoom(name: RowBudget, held: number): boolean {
    return held < this.#sizes[name];
  }

  /**
   * Takes all of the seats or none.
   * @returns a function that releases them; calling it again does nothing.
   * @throws RATE_LIMITED when one of the budgets has no free seat.
   */
  take(...wanted: readonly Seat[]): () => void {
    const full = wanted.find(([name, tenant]) => this.held(name, tenant) >= this.#sizes[name]);
    if (full !== undefined) throw this.refusal(...full);
    for (const seat of wanted) this.#add(seat, 1);
    let taken = true;
    return () => {
      if (taken) for (const seat of wanted) this.#add(seat, -1);
      taken = false;
    };
  }

  held(name: SeatBudget, tenant: string): number {
    return this.#held.get(`${name} ${tenant}`) ?? 0;
  }

  #add([name, tenant]: Seat, change: 1 | -1): void {
    const key = `${name} ${tenant}`;
    const held = (this.#held.get(key) ?? 0) + change;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
  }

  /** For budgets that drop instead of refuse. @returns false when `held` is over the size, and counts the drop. */
  fits(name: RowBudget | HourlyBudget, held: number): boolean {
    if (held <= this.#sizes[name]) return true;
    this.#onRefused(name);
    return false;
  }

  /** @param retryAfterSeconds when more fits, where that is known. */
  refusal(name: BudgetName, tenant: string, retryAfterSeconds = RETRY_AFTER_SECONDS): PlatformError {
    this.#onRefused(name);
    const { code, what, tenant: kind, hint } = BUDGETS[name] as Budget;
    const size = this.#sizes[name];
    const message = `the budget ${name} is used up: ${size} ${what}, a ${kind}`;
    const context = { budget: name, size, tenant };
    if (code === "VALIDATION_ERROR") {
      const { context: issues } = invalid({ path: "body", message }).detail;
      return new PlatformError(code, { message, context: { ...issues, ...context }, hint });
    }
    const retry = code === "RATE_LIMITED" ? { retryAfterSeconds } : {};
    return new PlatformError(code, { message, context, hint, ...retry });
  }
}
