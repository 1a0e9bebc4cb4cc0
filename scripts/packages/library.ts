import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { packageManifest, versionRanges } from "./package-manifest.ts";
import { folderOf, type Library } from "./package-table.ts";

/** `from "…"`, `import "…"` and `import("…")` in JavaScript and declarations that TypeScript has written. */
const SPECIFIER = /(?<=\b(?:from|import)[ (]*")[^"\n]+(?=")/g;

/** Writes the package into `out`: `package.json`, and `lib` with JavaScript and declarations. */
export function buildLibrary(root: string, out: string, library: Library): void {
  const lib = join(out, "lib");
  compile(root, lib, Object.values(library.entries));
  const entries = Object.entries(library.entries).map(([as, source]) => [as, compiledPath(source)] as const);
  rewriteDeclarations(lib);
  removeUnreached(
    lib,
    entries.map(([, path]) => path),
  );
  const names = packagesIn(lib);
  const unused = library.peers.filter((name) => !names.has(name));
  if (unused.length > 0) throw new Error(`${library.name} does not use ${unused.join(", ")}`);
  const dependencies = [...names].filter((name) => !library.peers.includes(name)).sort();
  const exported = entries.map(([as, path]) => [as, { types: `./lib/${path}.d.ts`, default: `./lib/${path}.js` }]);
  const manifest = packageManifest(root, library, {
    exports: { ...Object.fromEntries(exported), "./package.json": "./package.json" },
    files: ["lib", "NOTICE"],
    dependencies: versionRanges(root, dependencies),
    ...(library.peers.length > 0 && { peerDependencies: versionRanges(root, library.peers) }),
  });
  writeFileSync(join(out, "package.json"), manifest);
}

/** `src/kube/index.ts` is `kube/index` below `lib`. */
function compiledPath(source: string): string {
  return relative("src", source).replace(/\.ts$/, "");
}

function compile(root: string, lib: string, sources: readonly string[]): void {
  const config = join(root, "node_modules/.cache/sallyport", `${folderOf(dirname(lib))}.tsconfig.json`);
  mkdirSync(dirname(config), { recursive: true });
  const compilerOptions = {
    noEmit: false,
    incremental: false,
    tsBuildInfoFile: null,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(root, "src"),
    outDir: lib,
    typeRoots: [join(root, "node_modules/@types")],
  };
  const files = sources.map((source) => join(root, source));
  writeFileSync(config, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include: [], files }));
  const tsc = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", config], { encoding: "utf8" });
  if (tsc.status !== 0) throw new Error(`tsc: ${tsc.error?.message ?? tsc.stdout}`);
}

/** In declarations TypeScript leaves `.ts`, which a reader of packages refuses. */
function rewriteDeclarations(lib: string): void {
  for (const name of globSync("**/*.d.ts", { cwd: lib })) {
    const file = join(lib, name);
    const text = readFileSync(file, "utf8").replace(SPECIFIER, (specifier) =>
      specifier.startsWith(".") ? specifier.replace(/\.ts$/, ".js") : specifier,
    );
    writeFileSync(file, text);
  }
}

/**
 * TypeScript compiles also what only a type names. Declarations of it stay, as far as others name them; JavaScript goes: it would
 * bring packages that nothing runs.
 */
function removeUnreached(lib: string, entries: readonly string[]): void {
  for (const extension of [".js", ".d.ts"] as const) {
    const kept = reached(lib, entries, extension);
    for (const name of globSync(`**/*${extension}`, { cwd: lib })) if (!kept.has(name)) rmSync(join(lib, name));
  }
}

function reached(lib: string, entries: readonly string[], extension: ".js" | ".d.ts"): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = entries.map((entry) => `${entry}${extension}`);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    for (const specifier of specifiersIn(join(lib, name))) {
      if (specifier.startsWith(".")) waiting.push(join(dirname(name), specifier).replace(/\.js$/, extension));
    }
  }
  return found;
}

/** The packages that the code runs, and those that only the declarations name. */
function packagesIn(lib: string): ReadonlySet<string> {
  const names = globSync("**/*.{js,d.ts}", { cwd: lib }).flatMap((name) => specifiersIn(join(lib, name)));
  return new Set(names.filter((name) => !name.startsWith(".") && !isBuiltin(name)).map(packageOf));
}

function specifiersIn(file: string): readonly string[] {
  return readFileSync(file, "utf8").match(SPECIFIER) ?? [];
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
