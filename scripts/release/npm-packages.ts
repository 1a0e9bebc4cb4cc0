import { readFileSync } from "node:fs";
import { join } from "node:path";
import { command } from "../../test/e2e/command.ts";
import { buildPackage } from "../packages/build-package.ts";
import { folderOf, type Package } from "../packages/package-table.ts";
import type { Made, Making } from "./making.ts";
import { packageSbom } from "./sboms.ts";

/** Builds a package below `dist`. @returns what would be uploaded to npm, and its SBOM */
export async function releasedPackage(each: Package, dist: string, making: Making): Promise<Made> {
  const built = await buildPackage(each, dist);
  const told = await command("npm", ["pack", "--json", "--pack-destination", dist], { cwd: built }, making.signal);
  const file = fileOf(told);
  const entries = Object.values("entries" in each ? each.entries : each.commands);
  return [
    [`npm/${file}`, readFileSync(join(dist, file))],
    [`npm/${folderOf(each.name)}.cdx.json`, await packageSbom(each.name, entries, making)],
  ];
}

/** @returns the file that `npm pack --json` tells, which npm 12 tells by the package's name */
export function fileOf(told: string): string {
  const [packed] = Object.values(JSON.parse(told) as Record<string, { readonly filename: string }>);
  if (packed === undefined) throw new Error(`npm pack told ${told}`);
  return packed.filename;
}
