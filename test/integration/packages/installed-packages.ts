import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { folderOf, LIBRARIES, PROGRAM } from "../../../scripts/packages/package-table.ts";

export const ROOT = join(import.meta.dirname, "../../..");
const run = promisify(execFile);
const MAX_BUFFER = 64 * 1024 * 1024;

export interface InstalledPackages {
  /** A project of somebody else's, in which all packages are installed. */
  readonly folder: string;
  /** What would be uploaded, by the package's name. */
  readonly tarballs: ReadonlyMap<string, string>;
  /** The programs of each Node.js that the libraries' `engines` name. */
  readonly nodes: readonly string[];
}

/** The lowest Node.js of `engines`, and the one of this project. */
const LOWEST_NODE = "22.19.0";

/** Builds, packs and installs the packages into an empty folder below `folder`. Asks npm's registry only for what its cache lacks. */
export async function installPackages(folder: string): Promise<InstalledPackages> {
  const dist = join(folder, "dist");
  await run(process.execPath, [join(ROOT, "scripts/build.ts"), dist], { cwd: ROOT, maxBuffer: MAX_BUFFER });
  const tarballs = new Map<string, string>();
  for (const { name } of [...LIBRARIES, PROGRAM]) {
    const { stdout } = await npm(["pack", "--json", "--pack-destination", folder], join(dist, folderOf(name)));
    tarballs.set(name, join(folder, fileOf(stdout)));
  }
  const consumer = join(folder, "consumer");
  await mkdir(consumer);
  await writeFile(join(consumer, "package.json"), '{"name": "consumer", "private": true, "type": "module"}\n');
  const older = `node-${process.platform}-${process.arch}`;
  const wanted = [...tarballs.values(), "prom-client@15", "@types/node@22", `${older}@${LOWEST_NODE}`];
  await npm(["install", "--prefer-offline", "--no-audit", "--no-fund", ...wanted], consumer);
  return { folder: consumer, tarballs, nodes: [join(consumer, "node_modules", older, "bin/node"), process.execPath] };
}

/** @returns the file that `npm pack --json` tells, which npm 12 tells by the package's name */
function fileOf(told: string): string {
  const [packed] = Object.values(JSON.parse(told) as Record<string, { readonly filename: string }>);
  if (packed === undefined) throw new Error(`npm pack told ${told}`);
  return packed.filename;
}

/** The machine's npm, without the settings that the npm above this test has put into the environment. */
function npm(args: readonly string[], cwd: string): Promise<{ readonly stdout: string }> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  return run("npm", [...args], { cwd, env, maxBuffer: MAX_BUFFER });
}
