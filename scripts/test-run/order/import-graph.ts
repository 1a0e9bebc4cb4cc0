import { dirname, join, normalize } from "node:path/posix";

/** A test that starts the product as a program names this file in a string. */
const STRINGS = /["'`](\.[^"'`\s]*\.(?:ts|mjs))["'`]/g;

/** What a file names in an import or another string, among `files`: a process that it starts is named as a path. */
export function edgesOf(file: string, source: string, files: ReadonlySet<string>): string[] {
  const named = [...source.matchAll(STRINGS)].map(([, path = ""]) => normalize(join(dirname(file), path)));
  return [...new Set(named)].filter((path) => files.has(path));
}

/** Test files of clusters in containers, which run the image: it holds all that the command line reaches. */
const IN_IMAGE = /^test\/e2e\/.*\.test\.ts$/;
const IMAGE = "src/cli/main.ts";

export interface Graph {
  /** All files of code by what they name. */
  readonly edges: ReadonlyMap<string, readonly string[]>;
}

/** The files that lead to one of `targets`, by any number of edges, and the targets. */
export function reaching({ edges }: Graph, targets: Iterable<string>): Set<string> {
  const importers = new Map<string, string[]>();
  for (const [from, named] of edges) {
    for (const to of IN_IMAGE.test(from) ? [...named, IMAGE] : named) {
      importers.set(to, [...(importers.get(to) ?? []), from]);
    }
  }
  const found = new Set(targets);
  // A set visits what is added during the loop.
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer);
  return found;
}
