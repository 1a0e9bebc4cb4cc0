import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestCoverage } from "./coverage.ts";
import { takeReports } from "./executed.ts";

/** What coverage-setup.ts has written to `folder`, and the processes that ended after the test file that started them. */
export function readCoverageFolder(folder: string, root: string): TestCoverage[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return files.flatMap((file) => {
    const runs: TestCoverage[] = JSON.parse(readFileSync(join(folder, file), "utf8"));
    const late = takeReports(join(folder, file.replace(/\.json$/, "-children")), root);
    return [...runs, ...late.map((functions) => ({ test: runs[0]?.test ?? "", functions }))];
  });
}
