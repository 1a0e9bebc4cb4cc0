import { cutByBudget, describeCut, type OrderedFile } from "./order/order-files.ts";
import { planRun } from "./order/plan.ts";
import { e2eFiles, filesOf, PROJECTS, type Project } from "./tiers.ts";

/** Stands for the API's fuzzer, which is no test file, where files are ordered and recorded. */
export const API_FUZZ = "test/api-fuzz/main.ts";

/** Of vitest. The fuzzer and e2e, which are mostly idle, run beside them in a process each. */
const WORKERS = 2;
const BESIDE = 2;

export interface Rest {
  /** What runs, in order. */
  readonly files: readonly OrderedFile[];
  readonly leftOut: readonly OrderedFile[];
  /** For people: the base, the order, and loudly what is left out. */
  readonly words: string;
}

/** What a full run has beyond the default tier, ordered by the change and cut to the time there is. */
export function planRest(root: string, budgetSeconds: number): Rest {
  const projects = (Object.keys(PROJECTS) as Project[]).flatMap((project) => filesOf(project, "rest"));
  const { ordered, base } = planRun(root, [...projects, ...e2eFiles(), API_FUZZ]);
  const isBeside = ({ file }: OrderedFile) => file === API_FUZZ || file.startsWith("test/e2e/");
  const others = ordered.filter((each) => !isBeside(each));
  const cuts = [
    cutByBudget(others, budgetSeconds, WORKERS),
    cutByBudget(ordered.filter(isBeside), budgetSeconds, BESIDE),
  ];
  const cut = { taken: cuts.flatMap(({ taken }) => taken), leftOut: cuts.flatMap(({ leftOut }) => leftOut) };
  return { files: cut.taken, leftOut: cut.leftOut, words: `compared with ${base}\n${describeCut(cut, budgetSeconds)}` };
}
