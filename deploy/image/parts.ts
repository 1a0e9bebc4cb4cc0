import { existsSync, readFileSync } from "node:fs";
import { isBuiltin, stripTypeScriptTypes } from "node:module";
import { dirname, join, relative } from "node:path";

/** An image for each side: a customer's scanner does not see the platform's database, mailer and sign-in. */
export const PARTS = {
  cluster: "src/cli/cluster.ts",
  platform: "src/cli/main.ts",
} as const;

export type Part = keyof typeof PARTS;

export function isPart(text: string): text is Part {
  return Object.hasOwn(PARTS, text);
}

export interface Contents {
  /** Source files that the entries reach, from the root. */
  readonly sources: ReadonlySet<string>;
  /** Packages that these need, with what those need: paths as in the lock file. */
  readonly packages: ReadonlySet<string>;
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}
type Lock = Readonly<Record<string, LockedPackage>>;

/** `import … from "…"`, `export … from "…"` and `import "…"`, at the beginning of a line. */
const STATEMENT = /^(?:import|export)\b(?:[^"';=()]*?\bfrom)?\s*"([^"\n]+)"/gm;
/** `import("…")`, and `import.meta.resolve("…")` for a file that is served as it is. */
const CALL = /\bimport(?:\.meta\.resolve)?\("([^"\n]+)"\)/g;

/** @param entries source files, from the root @throws Error when something else is installed than the lock file says */
export function contentsOf(root: string, entries: readonly string[]): Contents {
  const { sources, names } = reached(root, entries);
  const locked = packagesOf(join(root, "package-lock.json"));
  const installed = packagesOf(join(root, "node_modules/.package-lock.json"));
  const packages = new Set<string>();
  const waiting = [...names].map((name) => found(locked, "", name) ?? missing(name));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (packages.has(path)) continue;
    packages.add(path);
    const entry = locked[path];
    const same = installed[path]?.version === entry?.version && installed[path]?.integrity === entry?.integrity;
    if (!same) throw new Error(`${path} is not what package-lock.json says: npm install`);
    for (const name of Object.keys(entry?.dependencies ?? {})) waiting.push(found(locked, path, name) ?? missing(name));
    // Optional: for another system, or not installed because nothing asked for it.
    for (const name of Object.keys({ ...entry?.optionalDependencies, ...entry?.peerDependencies })) {
      const optional = found(locked, path, name);
      if (optional !== undefined && existsSync(join(root, optional))) waiting.push(optional);
    }
  }
  return { sources, packages };
}

/** `name@version` of packages by their path, as npm's SBOM refers to them. */
export function nameAndVersion(root: string, packages: ReadonlySet<string>): ReadonlySet<string> {
  const locked = packagesOf(join(root, "package-lock.json"));
  return new Set(
    [...packages].map((path) => `${path.slice(path.lastIndexOf("node_modules/") + 13)}@${locked[path]?.version}`),
  );
}

/** Follows the imports that are left when the types are gone. */
function reached(root: string, entries: readonly string[]) {
  const sources = new Set<string>();
  const names = new Set<string>();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (sources.has(file)) continue;
    sources.add(file);
    if (!file.endsWith(".ts")) continue;
    const script = stripTypeScriptTypes(readFileSync(join(root, file), "utf8"));
    for (const [, specifier = ""] of [...script.matchAll(STATEMENT), ...script.matchAll(CALL)]) {
      if (specifier.startsWith(".")) waiting.push(relative(root, join(root, dirname(file), specifier)));
      else if (!isBuiltin(specifier)) names.add(packageOf(specifier));
    }
  }
  return { sources, names };
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Where Node.js finds the package that `path` names: in its own folder, or in that of one above. */
function found(lock: Lock, path: string, name: string): string | undefined {
  for (let at = path; ; at = at.slice(0, at.lastIndexOf("node_modules/")).replace(/\/$/, "")) {
    const candidate = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (lock[candidate] !== undefined) return candidate;
    if (at === "") return undefined;
  }
}

function missing(name: string): never {
  throw new Error(`package-lock.json has no ${name}`);
}

function packagesOf(file: string): Lock {
  const lock: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (typeof lock === "object" && lock !== null && "packages" in lock) return lock.packages as Lock;
  throw new Error(`${file} has no packages`);
}
