import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../errors.ts";
import { BUDGETS } from "./budget-table.ts";
import { BUDGET_NAMES, BUDGET_SIZES, type BudgetName, Budgets, readBudgets } from "./budgets.ts";

function refusedBy(act: () => unknown): PlatformError | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
}

describe("budgets", () => {
  it("seats are never more than the size, and all come back, whatever the order", () => {
    const tenants = ["a", "b", "c"];
    const step = fc.record({ tenant: fc.constantFrom(...tenants), leave: fc.option(fc.nat(50)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const budgets = new Budgets({ ...BUDGET_SIZES, "relay-seats": 5, "workspace-relay-seats": 3 }, () => undefined);
        const held: { tenant: string; leave: () => void }[] = [];
        for (const { tenant, leave } of steps) {
          if (leave === null) {
            const mine = held.filter((each) => each.tenant === tenant).length;
            const refused = refusedBy(() => {
              held.push({
                tenant,
                leave: budgets.take(["workspace-relay-seats", tenant], ["relay-seats", "process"]),
              });
            });
            expect(refused === undefined).toBe(mine < 3 && (refused === undefined ? held.length - 1 : held.length) < 5);
          } else {
            const [gone] = held.splice(leave % (held.length + 1), 1);
            gone?.leave();
            gone?.leave();
          }
          for (const each of tenants) {
            const mine = held.filter((one) => one.tenant === each).length;
            expect(budgets.held("workspace-relay-seats", each)).toBe(mine);
          }
          expect(budgets.held("relay-seats", "process")).toBe(held.length);
        }
      }),
    );
  });

  it("each refusal names the budget, its size and what to do, and is counted", () => {
    const counted: BudgetName[] = [];
    const budgets = new Budgets(BUDGET_SIZES, (name) => counted.push(name));
    for (const name of BUDGET_NAMES) {
      const { code, kind, what } = BUDGETS[name];
      const error = budgets.refusal(name, "tenant");
      expect(error.spec.status).toBe({ VALIDATION_ERROR: 400, BUDGET_EXCEEDED: 400, RATE_LIMITED: 429 }[code]);
      expect(kind !== "rows").toBe(error.detail.retryAfterSeconds !== undefined);
      expect(error.detail.context).toMatchObject({ budget: name, size: BUDGET_SIZES[name], tenant: "tenant" });
      expect(error.message).toContain(what);
      expect(error.detail.hint).toBeTruthy();
    }
    expect(counted).toEqual(BUDGET_NAMES);
  });

  it("sizes are set by name; what is no budget or no size is refused", () => {
    expect(readBudgets("")).toEqual({ sizes: BUDGET_SIZES, wrong: [] });
    expect(readBudgets(" relay-seats=7 , group-api-keys=2")).toEqual({
      sizes: { ...BUDGET_SIZES, "relay-seats": 7, "group-api-keys": 2 },
      wrong: [],
    });
    for (const wrong of ["relay-seats", "relay-seats=0", "relay-seats=-1", "relay-seats=1.5", "toString=3", "x=1", ""])
      expect(readBudgets(`uploads=3,${wrong}`).wrong).toEqual([wrong]);
  });
});
