// Runs before `npm start` and `npm test`, on any Node from 20 on and before anything is installed: so it has no
// dependencies and no TypeScript. It installs the packages of package-lock.json when node_modules holds others. One of
// them is `node`: npm puts its Node 24 first on the PATH of every script.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MODULES = join(ROOT, "node_modules");
const NEEDED_MAJOR = 20;

const reason = whyInstall();
if (reason !== undefined) process.exitCode = await install(reason);

/** Why an installation is needed; undefined when node_modules is as it should be. */
function whyInstall() {
  const wanted = packagesOf(join(ROOT, "package-lock.json"));
  if (wanted === undefined) return "package-lock.json cannot be read";
  if (!existsSync(MODULES)) return "nothing is installed yet";
  // npm writes this file last: without it an installation was interrupted.
  const installed = packagesOf(join(MODULES, ".package-lock.json"));
  if (installed === undefined) return "the last installation did not end";
  for (const [path, { version, integrity, optional }] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = installed[path];
    // An optional package is mostly for another system.
    if (found === undefined && optional) continue;
    if (found?.version !== version || found?.integrity !== integrity) return "package-lock.json has changed";
  }
  if (!existsSync(join(MODULES, "node", "bin", "node"))) return "Node 24 is missing from node_modules";
  return undefined;
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

async function install(why) {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < NEEDED_MAJOR) {
    say(`Node ${process.versions.node} is too old to start from: ${NEEDED_MAJOR} or newer is needed.`);
    return 1;
  }
  say(`installing packages (${why}); about a minute`);
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  const progress = setInterval(() => say(`  still installing, ${seconds()} s`), 5_000);
  const { code, output } = await npmInstall();
  clearInterval(progress);
  if (code === 0 && existsSync(join(MODULES, "node", "bin", "node"))) {
    say(`installed in ${seconds()} s`);
    return 0;
  }
  process.stderr.write(output);
  say(
    code === 0
      ? "Node 24 did not come with the packages: the package `node` fetches it in its install script, which was not run (npm's ignore-scripts?)."
      : "`npm install` failed; its words are above. Mostly it is the network: try again, what was fetched is kept in npm's cache.",
  );
  return code || 1;
}

/**
 * `npm install --no-save` and not `npm ci`: it installs the locked versions too and writes no lock file, but also
 * accepts a lock file without the optional packages of other systems. A registry that lacks them produces such a file.
 */
function npmInstall() {
  // Not the Node of node_modules, which npm puts first on the PATH and which may be half replaced.
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.startsWith(MODULES));
  return new Promise((resolve) => {
    const child = spawn(
      "npm",
      ["install", "--no-save", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"],
      {
        cwd: ROOT,
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, PATH: path.join(delimiter) },
      },
    );
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    child.once("error", (error) => resolve({ code: 1, output: `${output}${error.message}\n` }));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

function say(line) {
  process.stderr.write(`sallyport: ${line}\n`);
}
