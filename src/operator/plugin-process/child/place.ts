import type { ModulePlace } from "../messages.ts";

/** As much of a stack as names the place. The plugin may have made it longer. */
const MAX_STACK = 16_384;

/** Where in the module an error comes from, by the stack that Node.js writes. Undefined: it does not say. */
export function placeOf(error: unknown, module: string): ModulePlace | undefined {
  if (!(error instanceof Error) || typeof error.stack !== "string") return undefined;
  const stack = error.stack.slice(0, MAX_STACK);
  const start = stack.indexOf(`${module}:`);
  if (start < 0) return undefined;
  const [place = "", , carets = ""] = stack.slice(start + module.length + 1).split("\n", 3);
  const [, line, column] = /^(\d{1,9})(?::(\d{1,9}))?/.exec(place) ?? [];
  if (line === undefined) return undefined;
  // What cannot be linked or parsed has its place in the first lines, with signs below the word that is meant.
  return { line: Number(line), column: Number(column ?? carets.indexOf("^") + 1) || 1 };
}
