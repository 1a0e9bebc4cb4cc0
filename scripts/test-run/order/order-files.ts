/** In which order the files of the rest run, and which the time does not suffice for. Decides only. */

const REASONS = ["changed", "runs a changed line", "reaches a changed file", "longest without a run"] as const;
export type Reason = (typeof REASONS)[number];

export interface TestFile {
  readonly file: string;
  /** Whether it, or what it imports from the tests, differs from the base. */
  readonly changed?: boolean;
  /** How many changed functions it is recorded to run. */
  readonly hits?: number;
  /** Whether imports lead from it to a changed file. */
  readonly reaches?: boolean;
  /** Of its last green run, in ms since 1970; absent: none is known. */
  readonly lastGreenAt?: number;
  /** What its last run took; absent: `UNKNOWN_SECONDS`. */
  readonly seconds?: number;
}

export interface OrderedFile {
  readonly file: string;
  readonly reason: Reason;
  readonly seconds: number;
}

/** For a file without a record: little, so that it is not left out by plan. The run itself stops when the time is up. */
export const UNKNOWN_SECONDS = 10;

/** Most likely to find what the change broke first. */
export function orderFiles(files: readonly TestFile[]): OrderedFile[] {
  return files
    .map((test) => ({ reason: reasonOf(test), hits: 0, lastGreenAt: 0, seconds: UNKNOWN_SECONDS, ...test }))
    .toSorted(
      (one, other) =>
        REASONS.indexOf(one.reason) - REASONS.indexOf(other.reason) ||
        other.hits - one.hits ||
        one.lastGreenAt - other.lastGreenAt ||
        // What may well fail, cheap ones first; of what probably does not, the dearest, or one core waits for it at the end.
        (one.seconds - other.seconds) * (one.reason === "longest without a run" ? -1 : 1) ||
        (one.file < other.file ? -1 : 1),
    )
    .map(({ file, reason, seconds }) => ({ file, reason, seconds }));
}

function reasonOf({ changed, hits = 0, reaches }: TestFile): Reason {
  if (changed) return "changed";
  if (hits > 0) return "runs a changed line";
  return reaches ? "reaches a changed file" : "longest without a run";
}

export interface Cut {
  readonly taken: readonly OrderedFile[];
  readonly leftOut: readonly OrderedFile[];
}

/** Takes each file that still fits. One that did not has waited longest the next time, and then comes early. */
export function cutByBudget(ordered: readonly OrderedFile[], budgetSeconds: number, workers: number): Cut {
  const taken: OrderedFile[] = [];
  const leftOut: OrderedFile[] = [];
  let left = budgetSeconds * workers;
  for (const each of ordered) {
    const fits = each.seconds <= left;
    (fits ? taken : leftOut).push(each);
    if (fits) left -= each.seconds;
  }
  return { taken, leftOut };
}

/** One line on what runs, and a loud one on what does not. */
export function describeCut({ taken, leftOut }: Cut, budgetSeconds: number): string {
  const count = (reason: Reason) => taken.filter((each) => each.reason === reason).length;
  const parts = REASONS.filter((reason) => count(reason) > 0).map((reason) => `${count(reason)} ${reason}`);
  const runs = `order of ${taken.length} test files: ${parts.join(", ") || "none"}\n`;
  if (leftOut.length === 0) return runs;
  const names = leftOut.map(({ file, reason, seconds }) => `  ${file} (${reason}, ${Math.round(seconds)} s)\n`);
  return `${runs}LEFT OUT, the budget of ${budgetSeconds} s does not suffice for ${leftOut.length} test files:\n${names.join("")}`;
}

/** @returns seconds of "45m", "90s", "1h" or "2700"; undefined when it is none of these */
export function parseBudget(text: string): number | undefined {
  const [, number, unit = "s"] = /^(\d+)([smh]?)$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  return Number(number) * (unit === "h" ? 3_600 : unit === "m" ? 60 : 1);
}
