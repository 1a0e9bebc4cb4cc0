import { readOptions, refuse, type Script } from "../running/options.ts";
import { parseBudget } from "./order/order-files.ts";
import type { Tier } from "./tiers.ts";

export interface TestOptions {
  readonly tier: Tier;
  /** As it was typed; undefined: there is none. */
  readonly budget: string | undefined;
  readonly budgetSeconds: number;
}

const IS: Readonly<Record<Tier, string>> = {
  default: "Tests every promise once: check, units, chart, and of each capability the story on a real API server.",
  rest: `Tests what a full run has beyond npm test, first what the change is most likely to have broken.

  --budget 45m  leaves out what this time does not suffice for, and names it`,
  full: "Tests everything, at full length, with a kind cluster and the API's fuzzer. docs/contributing.md says more.",
};

const OPTIONS = { budget: { type: "string" } } as const;

/** From `node scripts/test.ts TIER …`; ends the process for what is no such call. */
export function readTestOptions([first, ...others]: readonly string[]): TestOptions {
  const isTier = first !== undefined && first in IS;
  const tier = isTier ? (first as Tier) : "full";
  const name = tier === "default" ? "npm test" : `npm run test:${tier}`;
  const usage = tier === "rest" ? `${name} [-- --budget 45m]` : name;
  const script: Script = { name, help: `usage: ${usage}\n\n${IS[tier]}\n` };
  const args = isTier || first === undefined ? others : [first, ...others];
  const { values, positionals } = readOptions(script, OPTIONS, { args, allowPositionals: true });
  if (positionals.length > 0) {
    const one = "one file: npm run test:unit|test:chart|test:integration -- FILE";
    refuse(script, `${name} takes no files; ${one}; at full length: npm run test:again -- FILE`);
  }
  const { budget } = values;
  if (budget !== undefined && tier !== "rest") refuse(script, "only npm run test:rest has a --budget");
  const budgetSeconds = budget === undefined ? Number.POSITIVE_INFINITY : parseBudget(budget);
  if (budgetSeconds === undefined) return refuse(script, `--budget is a time such as 45m, not ${budget}`);
  return { tier, budget, budgetSeconds };
}
