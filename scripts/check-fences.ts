import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brokenFences } from "./fences.ts";

/** Fails when a shell block of README.md or docs/ does not run as a reader pastes it. */
const root = join(import.meta.dirname, "..");
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((path) => `docs/${path}`),
];
for (const path of pages.filter((path) => path.endsWith(".md"))) {
  for (const { line, reason } of brokenFences(readFileSync(join(root, path), "utf8"))) {
    console.error(`${path}:${line}: ${reason}`);
    process.exitCode = 1;
  }
}
