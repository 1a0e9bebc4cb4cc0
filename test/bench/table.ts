/** Figures of several runs of one thing. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { min: at(0), median: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? Number.NaN };
}

/** One line of the report: what was measured, and its goal. */
export interface Row {
  readonly what: string;
  readonly measured: string;
  readonly goal: string;
  /** Absent when there is no goal. */
  readonly reached?: boolean;
  /** The raw figures of the line, for the JSON file. */
  readonly figures: Readonly<Record<string, unknown>>;
}

export function printed(rows: readonly Row[]): string {
  const cells = [
    ["what", "measured", "goal", ""],
    ...rows.map(({ what, measured, goal, reached }) => [
      what,
      measured,
      goal,
      reached === undefined ? "" : reached ? "reached" : "not reached",
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
