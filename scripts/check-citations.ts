import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { danglingIn, repeated, rulesOf } from "./citations.ts";

/** Fails when a comment or page cites a rule of the Management API that is not in docs/api-rules. */
const root = join(import.meta.dirname, "..");
const RULES = "docs/api-rules";
const CITING = ["src", "test", "lab", "scripts", "bin", "deploy", "docs"];

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules") return [];
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : [];
  });
}

/** Undefined for pictures and other binary files. */
function textOf(path: string): string | undefined {
  const bytes = readFileSync(join(root, path));
  return bytes.includes(0) ? undefined : bytes.toString();
}

const numbers = filesIn(RULES).flatMap((path) => rulesOf(textOf(path) ?? ""));
const rules = new Set(numbers);
const problems = [
  ...repeated(numbers).map((number) => `${RULES}: two headings are numbered ${number}: renumber one`),
  ...CITING.flatMap(filesIn).flatMap((path) =>
    danglingIn(textOf(path) ?? "", rules).map(
      ({ line, citation }) =>
        `${path}:${line}: ${citation} is no heading in ${RULES}: cite a rule that is there, write the rule, or name the RFC ("RFC 2104 ${citation}")`,
    ),
  ),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
