import { readdirSync, readFileSync, rmSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** By file of src: the names of the functions that ran, without tests and what only they use. */
export function executedFunctions(
  scripts: readonly Profiler.ScriptCoverage[],
  root: string,
): Record<string, readonly string[]> {
  const found: Record<string, readonly string[]> = {};
  for (const { url, functions } of scripts) {
    const source = sourceOf(url, root);
    if (source === undefined) continue;
    const ran = functions.filter(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0);
    const names = new Set([...(found[source] ?? []), ...ran.map(({ functionName }) => functionName)]);
    if (names.size > 0) found[source] = [...names];
  }
  return found;
}

function sourceOf(url: string, root: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  const path = relative(root, fileURLToPath(url)).split(sep).join("/");
  const isOurs =
    path.startsWith("src/") && path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.includes("/testing/");
  return isOurs ? path : undefined;
}

/** Reads and deletes what ended processes have written to `folder`, megabytes each: Node's NODE_V8_COVERAGE. */
export function takeReports(folder: string, root: string): Record<string, readonly string[]>[] {
  return readdirSync(folder).map((file) => {
    const path = join(folder, file);
    const scripts = readReport(path);
    rmSync(path);
    return executedFunctions(scripts, root);
  });
}

function readReport(path: string): Profiler.ScriptCoverage[] {
  try {
    return JSON.parse(readFileSync(path, "utf8")).result;
  } catch {
    return []; // Of a process that was killed while it wrote.
  }
}
