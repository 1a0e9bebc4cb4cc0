/** A line of a test that goes by the time of the wall, and how. */
export interface WallTime {
  readonly line: number;
  readonly reason: string;
}

const RULES: readonly (readonly [RegExp, string])[] = [
  [
    /\.now\(\) - [^;]*toBeLessThan|toBeLessThan[^;]*\.now\(\)/,
    "a bound on wall time fails on a busy machine: cpuMs of src/base/testing, a count, or a clock that stands still",
  ],
  [
    /\bsleep\(systemClock|=> setTimeout\(\w+, |\bsetTimeout as |scheduler\.wait\(/,
    "a wait of fixed length is too short or for nothing: expect.poll, eventually, or a clock that is moved",
  ],
  [/numRuns: (?:\d{3,}|[3-9]\d|2[1-9]|\d+_\d)/, "a tenth is enough by default: runs of src/base/testing"],
];

/** Lines of a test's source that it would be better without. */
export function wallTimeIn(source: string): readonly WallTime[] {
  return source
    .split("\n")
    .flatMap((text, index) =>
      RULES.filter(([pattern]) => pattern.test(text)).map(([, reason]) => ({ line: index + 1, reason })),
    );
}
