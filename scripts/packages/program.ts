import { chmodSync, copyFileSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { bundled } from "../../deploy/image/bundle.ts";
import { bundlePluginProcess } from "../../deploy/image/plugin-process.ts";
import { packageManifest } from "./package-manifest.ts";
import { PROGRAM } from "./package-table.ts";

/**
 * Writes the package of the program into `out`. It has no dependencies: the code that it uses of other packages is in `lib`, with
 * their licences beside it, in as many files as there are commands.
 */
export async function buildProgram(root: string, out: string): Promise<void> {
  const commands = Object.entries(PROGRAM.commands);
  const modules = await bundled(root, join(out, "lib"), PROGRAM.commands);
  await bundlePluginProcess(root, join(out, "lib"));
  writeFileSync(join(out, "THIRD-PARTY-LICENSES"), licencesOf(modules));
  for (const [name] of commands) {
    writeFileSync(join(out, `${name}.mjs`), startOf(name));
    chmodSync(join(out, `${name}.mjs`), 0o755);
  }
  copyFileSync(join(root, "bin/compile-cache.mjs"), join(out, "compile-cache.mjs"));
  const manifest = packageManifest(root, PROGRAM, {
    bin: Object.fromEntries(commands.map(([name]) => [name, `${name}.mjs`])),
    files: ["lib", "*.mjs", "NOTICE", "THIRD-PARTY-LICENSES"],
  });
  writeFileSync(join(out, "package.json"), manifest);
}

/** Says what an older Node.js lacks. */
function startOf(name: string): string {
  const lowest = PROGRAM.node.replace(">=", "");
  return `#!/usr/bin/env node
import { keepCompiled } from "./compile-cache.mjs";

const [major, minor] = process.versions.node.split(".").map(Number);
const [lowestMajor, lowestMinor] = [${lowest.replace(".", ", ")}];
if (major < lowestMajor || (major === lowestMajor && minor < lowestMinor)) {
  console.error(\`${name} needs Node.js ${lowest} or later: this is \${process.versions.node}\`);
  process.exit(1);
}
keepCompiled();
await import("./lib/${name}.js");
`;
}

const MODULES = `${sep}node_modules${sep}`;
const LICENCE = "{LICENSE,LICENCE,License,license,NOTICE,COPYING}*";

/** Their terms ask that each copy has them. */
function licencesOf(modules: readonly string[]): string {
  const folders = new Set(modules.filter((path) => path.includes(MODULES)).map(packageFolder));
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const files = globSync(LICENCE, { cwd: folder }).sort();
    const words = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
    if (words.length === 0) words.push(`Licence: ${license}. The package has no text of it.`);
    return `${name} ${version}\n\n${words.join("\n\n")}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

/** The package's own folder, not one inside of it with a package.json that only says `type`. */
function packageFolder(path: string): string {
  const start = path.lastIndexOf(MODULES) + MODULES.length;
  const words = path.slice(start).split(sep);
  return path.slice(0, start) + words.slice(0, words[0]?.startsWith("@") ? 2 : 1).join(sep);
}
