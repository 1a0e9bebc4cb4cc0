import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildLibrary } from "./library.ts";
import { folderOf, type Package } from "./package-table.ts";
import { buildProgram } from "./program.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Builds it anew. @returns its folder, below `dist` */
export async function buildPackage(each: Package, dist: string): Promise<string> {
  const out = join(dist, folderOf(each.name));
  if (existsSync(out) && !existsSync(join(out, "package.json"))) {
    throw new Error(`${out} is no package that was built here: name another folder`);
  }
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const file of ["LICENSE", "NOTICE"]) cpSync(join(ROOT, file), join(out, file));
  cpSync(join(ROOT, "deploy/npm", folderOf(each.name), "README.md"), join(out, "README.md"));
  if ("entries" in each) buildLibrary(ROOT, out, each);
  else await buildProgram(ROOT, out);
  return out;
}
