import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename, dirname, join, relative } from "node:path";

/**
 * Puts what runs, and nothing else, into a folder: the source as JavaScript and without its tests, the packages without
 * types, maps and words. The image is made from it; where no image can be built, `node FOLDER/src/cli/main.js` runs from it.
 */
export function assemble(root: string, out: string): void {
  cpSync(join(root, "src"), join(out, "src"), { recursive: true, filter: (path) => isSource(relative(root, path)) });
  toJavaScript(join(out, "src"));
  cpSync(join(root, "package.json"), join(out, "package.json"));
  for (const path of productionPackages(root)) {
    const target = join(out, path);
    mkdirSync(dirname(target), { recursive: true });
    const isWanted = (from: string): boolean => isRuntimeFile(relative(join(root, path), from));
    cpSync(join(root, path), target, { recursive: true, filter: isWanted });
  }
}

const OWN_IMPORT = /(\b(?:from|import)[ (]*"\.[^"\n]*)\.ts"/g;

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

function isSource(path: string): boolean {
  return !path.endsWith(".test.ts") && basename(path) !== "testing";
}

/**
 * Node runs no TypeScript of packages, so that of theirs is for compilers; `.bare` is machine code for another runtime.
 * Packages inside of one are copied by themselves.
 */
const SURPLUS = /\.([cm]?ts|map|md|markdown|flow|bare|test\.js)$|^node_modules(\/|$)/;

function isRuntimeFile(path: string): boolean {
  return !SURPLUS.test(path);
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** @throws Error when something else is installed than the lock file says */
function productionPackages(root: string): readonly string[] {
  const locked = packagesOf(join(root, "package-lock.json"));
  const installed = packagesOf(join(root, "node_modules/.package-lock.json"));
  return Object.entries(locked)
    .filter(([path, { dev, devOptional }]) => path !== "" && !dev && !devOptional && existsSync(join(root, path)))
    .map(([path, { version, integrity }]) => {
      const found = installed[path];
      if (found?.version === version && found?.integrity === integrity) return path;
      throw new Error(`${path} is not what package-lock.json says: npm install`);
    });
}

function packagesOf(file: string): Readonly<Record<string, LockedPackage>> {
  const lock: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof lock === "object" && lock !== null && "packages" in lock) {
    return lock.packages as Readonly<Record<string, LockedPackage>>;
  }
  throw new Error(`${file} has no packages`);
}

if (import.meta.main) {
  const [out] = process.argv.slice(2);
  if (out === undefined || existsSync(out)) throw new Error("usage: node deploy/image/assemble.ts NEW-FOLDER");
  assemble(join(import.meta.dirname, "../.."), out);
}
