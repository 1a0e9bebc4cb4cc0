import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM } from "../packages/package-table.ts";
import { type Entry, entriesBelow, gzipped, tarOf } from "./archive.ts";
import { type Made, type Making, ROOT } from "./making.ts";

const NAME = "kubectl-sallyport";

/**
 * What krew installs, and its manifest. One archive for all platforms: the program is JavaScript.
 *
 * @param program the built npm package of the program
 */
export async function releasedPlugin(program: string, { version, at, downloads }: Making): Promise<Made> {
  const file = `${NAME}-${version}.tar.gz`;
  const archive = gzipped(await tarOf(entriesBelow(program).flatMap(asPlugin), at));
  const fields: Readonly<Record<string, string>> = {
    VERSION: version,
    NODE: PROGRAM.node.replace(">=", ""),
    URI: `${downloads}/${file}`,
    SHA256: createHash("sha256").update(archive).digest("hex"),
  };
  const template = readFileSync(join(ROOT, "deploy/krew/sallyport.yaml"), "utf8").replace(/^#.*\n/, "");
  const manifest = template.replace(/\$\{(\w+)\}/g, (_, name: string) => fields[name] ?? "");
  return [
    [`krew/${file}`, archive],
    ["krew/sallyport.yaml", manifest],
  ];
}

/** kubectl finds a plugin by its whole name; npm's other command is not part of it. */
function asPlugin(entry: Entry): readonly Entry[] {
  if (entry.path === "sallyport.mjs") return [];
  return [entry.path === `${NAME}.mjs` ? { ...entry, path: NAME } : entry];
}
