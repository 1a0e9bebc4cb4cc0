import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildLibrary } from "./packages/library.ts";
import { folderOf, LIBRARIES, PROGRAM } from "./packages/package-table.ts";
import { buildProgram } from "./packages/program.ts";

/** `npm run build [-- FOLDER]`: the packages that are published, each in a folder below `dist`, or below FOLDER. */

const root = join(import.meta.dirname, "..");
const dist = process.argv[2] ?? join(root, "dist");

for (const each of [...LIBRARIES, PROGRAM]) {
  const out = join(dist, folderOf(each.name));
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const file of ["LICENSE", "NOTICE"]) cpSync(join(root, file), join(out, file));
  cpSync(join(root, "deploy/npm", folderOf(each.name), "README.md"), join(out, "README.md"));
  if ("entries" in each) buildLibrary(root, out, each);
  else await buildProgram(root, out);
  process.stdout.write(`${each.name}: ${out}\n`);
}
