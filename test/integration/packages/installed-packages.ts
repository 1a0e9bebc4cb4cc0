import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildPackage } from "../../../scripts/packages/build-package.ts";
import type { Package } from "../../../scripts/packages/package-table.ts";
import { fileOf } from "../../../scripts/release/npm-packages.ts";

const run = promisify(execFile);

export interface InstalledPackages {
  /** A project of somebody else's, in which the packages are installed. */
  readonly folder: string;
  /** What would be uploaded, by the package's name. */
  readonly tarballs: ReadonlyMap<string, string>;
}

/**
 * Builds, packs and installs packages into an empty folder below `folder`, with others from npm's registry, which is asked only for
 * what its cache lacks.
 */
export async function installPackages(
  folder: string,
  packages: readonly Package[],
  others: readonly string[],
): Promise<InstalledPackages> {
  const tarballs = new Map<string, string>();
  for (const each of packages) {
    const built = await buildPackage(each, join(folder, "dist"));
    const { stdout } = await npm(["pack", "--json", "--pack-destination", folder], built);
    tarballs.set(each.name, join(folder, fileOf(stdout)));
  }
  const consumer = join(folder, "consumer");
  await mkdir(consumer);
  await writeFile(join(consumer, "package.json"), '{"name": "consumer", "private": true, "type": "module"}\n');
  await npm(["install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs.values(), ...others], consumer);
  return { folder: consumer, tarballs };
}

/** The machine's npm, without the settings that the npm above this test has put into the environment. */
function npm(args: readonly string[], cwd: string): Promise<{ readonly stdout: string }> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  return run("npm", [...args], { cwd, env, maxBuffer: 64 * 1024 * 1024 });
}
