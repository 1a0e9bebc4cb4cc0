import {
  cpSync,
  existsSync,
  globSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, relative } from "node:path";
import { COMMANDS_ELSEWHERE } from "../../src/cli/commands-elsewhere.ts";
import { bundled } from "./bundle.ts";
import { contentsOf, isPart, PARTS, type Part } from "./parts.ts";
import { bundlePluginProcess } from "./plugin-process.ts";

/**
 * Puts what one part of the product runs, and nothing else, into a folder: the source that its commands reach as
 * JavaScript, the packages that this source needs without types and maps, and all licences. What people type starts from a
 * bundle beside them. The image is made from it; where no image can be built, `node FOLDER/main.js` runs from it. The same
 * input gives the same bytes and times.
 *
 * @param at of each file, in seconds since 1970
 */
export async function assemble(root: string, out: string, part: Part, at: number): Promise<void> {
  const { sources, packages } = contentsOf(root, [PARTS[part]]);
  for (const path of [...sources, "package.json", "LICENSE", "NOTICE"]) copy(join(root, path), join(out, path));
  toJavaScript(join(out, "src"));
  for (const path of packages) {
    const isWanted = (from: string): boolean => isRuntimeFile(relative(join(root, path), from));
    copy(join(root, path), join(out, path), isWanted);
  }
  const files = `./${PARTS[part].replace(/\.ts$/, ".js")}`;
  if (part === "platform") {
    await bundled(root, join(out, "lib"), { people: "src/cli/people.ts" });
    await bundlePluginProcess(root, join(out, "lib"));
    writeFileSync(join(out, "main.js"), startOf(files, "./lib/people.js"));
  } else writeFileSync(join(out, "main.js"), `import "${files}";\n`);
  for (const path of ["", ...readdirSync(out, { recursive: true, encoding: "utf8" })])
    lutimesSync(join(out, path), at, at);
}

/** What people do not type at a terminal of theirs starts from files, by whose places services find others; so does the overview of all. */
function startOf(files: string, bundle: string): string {
  const names = JSON.stringify([...COMMANDS_ELSEWHERE, "help", "--help", "-h"]);
  return `const [word] = process.argv.slice(2);
await import(word === undefined || ${names}.includes(word) ? "${files}" : "${bundle}");
`;
}

function copy(from: string, to: string, filter = (_: string): boolean => true): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, filter });
}

const OWN_IMPORT = /(\b(?:from|import(?:\.meta\.resolve)?)[ (]*"\.[^"\n]*)\.ts"/g;

/**
 * Leaves out the types of all `.ts` files below a folder, each line where it was, so that a stack trace names the source's.
 * Node.js does the same at each start, for 30 MB of memory and a tenth of a second of CPU in every process.
 */
export function toJavaScript(folder: string): void {
  for (const name of globSync("**/*.ts", { cwd: folder })) {
    const file = join(folder, name);
    const script = stripTypeScriptTypes(readFileSync(file, "utf8")).replace(OWN_IMPORT, '$1.js"');
    writeFileSync(file.replace(/ts$/, "js"), script);
    rmSync(file);
  }
}

/**
 * Node runs no TypeScript of packages, so that of theirs is for compilers; `.bare` is machine code for another runtime.
 * Packages inside of one are copied by themselves.
 */
const SURPLUS = /\.([cm]?ts|map|md|markdown|flow|bare|test\.js)$|^node_modules(\/|$)/;

/** Their terms ask that each copy has them, in whatever format they are written. */
const LICENCE = /(^|\/)(licen[cs]e|notice|copying|copyright|authors|patents)[^/]*$/i;

function isRuntimeFile(path: string): boolean {
  return LICENCE.test(path) || !SURPLUS.test(path);
}

if (import.meta.main) {
  const [part = "", out, at = "0"] = process.argv.slice(2);
  if (!isPart(part) || out === undefined || existsSync(out)) {
    throw new Error("usage: node deploy/image/assemble.ts cluster|platform NEW-FOLDER [SECONDS-SINCE-1970]");
  }
  await assemble(join(import.meta.dirname, "../.."), out, part, Number(at));
}
