import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Difference, ENGINE_DIFFERENCES, KSTATUS_DIFFERENCES } from "./differences.ts";
import { allAlone } from "./states.ts";

// What two programs of the field say of the recorded objects. `verdicts.json` has their answers; `npm run oracle judge`
// asks them again.

interface Verdict {
  readonly kstatus: string;
  readonly engine: string;
}
const VERDICTS = JSON.parse(readFileSync(join(import.meta.dirname, "verdicts.json"), "utf8")) as readonly Verdict[];

/** What a verdict stands for: lifecycles, or a lifecycle and its health. */
const KSTATUS: Readonly<Record<string, readonly string[]>> = {
  Current: ["running healthy", "stopped healthy"],
  InProgress: ["updating", "scaling", "creating"],
  Failed: ["failed"],
  Terminating: ["deleting"],
};
const ENGINE: Readonly<Record<string, readonly string[]>> = {
  Healthy: ["running healthy", "stopped healthy"],
  Progressing: ["updating", "scaling", "creating", "deleting"],
  Degraded: ["failed"],
  Suspended: ["stopped healthy"],
};

interface Seen {
  readonly kind: string;
  readonly ours: string;
  readonly theirs: string;
  readonly step: string;
}

/** One for each object that the oracle sees otherwise. */
function differences(of: keyof Verdict, mapping: Readonly<Record<string, readonly string[]>>): readonly Seen[] {
  return allAlone().flatMap(({ line, step, state }, index) => {
    const theirs = VERDICTS[index]?.[of] ?? "missing";
    if (theirs === "none") return [];
    const both = `${state.lifecycle} ${state.health}`;
    const agrees = mapping[theirs]?.some((word) => word === state.lifecycle || word === both) ?? false;
    return agrees ? [] : [{ kind: line.object.kind, ours: both, theirs, step }];
  });
}

const rowOf = ({ kind, ours, theirs }: Omit<Difference, "why">): string => `${kind}: ${ours}, ${theirs}`;

test("each recorded object has a verdict", () => {
  expect(VERDICTS).toHaveLength(allAlone().length);
  expect(VERDICTS.length).toBeGreaterThanOrEqual(200);
  expect(VERDICTS.filter(({ kstatus, engine }) => kstatus === "error" || engine === "error")).toEqual([]);
});

describe.each([
  ["kstatus", KSTATUS, KSTATUS_DIFFERENCES],
  ["engine", ENGINE, ENGINE_DIFFERENCES],
] as const)("of what %s says", (of, mapping, rows) => {
  const seen = differences(of, mapping);

  test("each difference has a row with its reason", () => {
    const named = new Set(rows.map(rowOf));
    const without = seen.filter((each) => !named.has(rowOf(each)));
    expect([...new Set(without.map((each) => `${rowOf(each)} (${each.step})`))]).toEqual([]);
  });

  test("each row has a difference", () => {
    const found = new Set(seen.map(rowOf));
    expect(rows.map(rowOf).filter((row) => !found.has(row))).toEqual([]);
  });

  test("each row is there once, and has its reason", () => {
    expect(new Set(rows.map(rowOf)).size).toBe(rows.length);
    expect(rows.filter(({ why }) => why.length < 20)).toEqual([]);
  });
});
