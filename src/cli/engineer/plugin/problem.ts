import { escaped } from "../../kernel/output.ts";

/** Where something lies in a file of the author's; both count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface Problem extends Place {
  readonly message: string;
}

/** A line as compilers print it, so that editors can open the place. */
export function problemLine({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column} ${message}`;
}

/** The lines of an error's end. */
export function problemLines(problems: readonly Problem[]): string {
  return problems.map((problem) => `\n  ${escaped(problemLine(problem), "")}`).join("");
}
