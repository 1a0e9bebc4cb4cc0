/**
 * Which test files run which functions of src: test/coverage.json. Functions go by name and not by line, so that the
 * record stays right while other lines of the file come and go, and a name needs no source map to survive vitest's transform.
 */
export interface Coverage {
  readonly tests: readonly string[];
  /** By source file and function: an index of `sets`. */
  readonly sources: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Each set of test files that a function has, once: indices of `tests`, as "0-3 7". */
  readonly sets: readonly string[];
}

export const COVERAGE = "test/coverage.json";

/** What one test file ran: names of functions by source file. */
export interface TestCoverage {
  readonly test: string;
  readonly functions: Readonly<Record<string, readonly string[]>>;
}

export function makeCoverage(runs: Iterable<TestCoverage>): Coverage {
  const all = [...runs];
  const tests = [...new Set(all.map(({ test }) => test))].sort();
  const numbers = new Map(tests.map((test, number) => [test, number]));
  const found = new Map<string, Map<string, Set<number>>>();
  for (const { test, functions } of all) {
    for (const [source, names] of Object.entries(functions)) {
      for (const name of names) {
        const ofSource = found.get(source) ?? new Map<string, Set<number>>();
        const testsOfName = ofSource.get(name) ?? new Set<number>();
        found.set(source, ofSource.set(name, testsOfName.add(numbers.get(test) ?? 0)));
      }
    }
  }
  const sets = new Map<string, number>();
  const sources: Record<string, Record<string, number>> = {};
  for (const [source, functions] of sortedEntries(found)) {
    const ofSource: Record<string, number> = {};
    for (const [name, numbers] of sortedEntries(functions)) {
      const set = printNumbers(numbers);
      if (!sets.has(set)) sets.set(set, sets.size);
      ofSource[name] = sets.get(set) ?? 0;
    }
    sources[source] = ofSource;
  }
  return { tests, sources, sets: [...sets.keys()] };
}

/** By test file: how many of the functions it runs. `undefined` among the names is a line outside of each function: any function of the file counts. */
export function hitsOf(
  coverage: Coverage,
  changed: ReadonlyMap<string, ReadonlySet<string | undefined>>,
): Map<string, number> {
  const hits = new Map<string, number>();
  for (const [source, names] of changed) {
    const functions = new Map(Object.entries(coverage.sources[source] ?? {}));
    for (const name of names) {
      const sets = name === undefined ? new Set(functions.values()) : [functions.get(name)];
      const numbers = new Set([...sets].flatMap((set) => parseNumbers(coverage.sets[set ?? -1] ?? "")));
      for (const test of [...numbers].map((number) => coverage.tests[number] ?? "")) {
        hits.set(test, (hits.get(test) ?? 0) + 1);
      }
    }
  }
  return hits;
}

/** A source file a line, so that git's difference of two records shows what changed. */
export function formatCoverage({ tests, sources, sets }: Coverage): string {
  const list = (values: readonly string[]) => values.map((value) => JSON.stringify(value)).join(",\n");
  const lines = Object.entries(sources).map(([source, names]) => `${JSON.stringify(source)}:${JSON.stringify(names)}`);
  return `{"tests":[\n${list(tests)}\n],"sources":{\n${lines.join(",\n")}\n},"sets":[\n${list(sets)}\n]}\n`;
}

export function printNumbers(numbers: Iterable<number>): string {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(" ");
}

export function parseNumbers(text: string): number[] {
  return text
    .split(" ")
    .filter(Boolean)
    .flatMap((range) => {
      const [from = 0, to = from] = range.split("-").map(Number);
      return Array.from({ length: to - from + 1 }, (_, n) => from + n);
    });
}

function sortedEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([one], [other]) => (one < other ? -1 : 1));
}
