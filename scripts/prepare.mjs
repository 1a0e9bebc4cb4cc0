// Runs before each script of package.json, on any Node from 20 on and before anything is installed: so it has no
// dependencies and no TypeScript. It installs the packages of package-lock.json when node_modules holds others. One of
// them is `node`: npm puts its Node 24 first on the PATH of every script.

import { spawn } from "node:child_process";
import { existsSync, lstatSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { constants, hostname } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MODULES = join(ROOT, "node_modules");
const NEEDED_MAJOR = 20;
/** A link that leads nowhere: its target names who installs. It is made in one step, with its content. */
const LOCK = join(ROOT, ".installing");
/** Of an installation on another machine, whose processes cannot be seen from here. */
const STALE_LOCK_MS = 900_000;
const LAST_WORDS_MS = 10_000;

/** The signal that ended this start. */
let stoppedBy;
/** The installation that runs. */
let npm;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, stop);

if (whyInstall() !== undefined) process.exitCode = await installAlone();

/** Two installations at a time would remove each other's files. */
async function installAlone() {
  for (let owner = takeLock(); owner !== undefined; owner = takeLock()) {
    say(`another start installs the packages (process ${owner}): waiting for it`);
    for (let rounds = 0; rounds < 20 && isHeld(readLock()); rounds += 1) await delay(500);
  }
  try {
    const reason = whyInstall();
    return reason === undefined ? 0 : await install(reason);
  } finally {
    rmSync(LOCK, { force: true });
  }
}

/** @returns the process that has the lock; undefined when it is ours now */
function takeLock() {
  try {
    symlinkSync(lockOf(process.pid), LOCK);
    return undefined;
  } catch (error) {
    if (error.code !== "EEXIST") {
      say(`packages cannot be installed here: ${error.message}`);
      process.exit(1);
    }
  }
  const lock = readLock();
  // It was given back since.
  if (lock === undefined) return takeLock();
  if (isHeld(lock)) return lock.pids[0];
  // Moved and not removed: another start may have taken it over since the look above, and then gets it back.
  const taken = `${LOCK}-${process.pid}`;
  try {
    renameSync(LOCK, taken);
    if (readlinkSync(taken) === lock.text) rmSync(taken);
    else renameSync(taken, LOCK);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  return takeLock();
}

function lockOf(...pids) {
  return `${pids.join("+")}@${hostname()}`;
}

function readLock() {
  try {
    const text = readlinkSync(LOCK);
    const [pids, host] = text.split("@");
    return { text, host, pids: pids.split("+").map(Number), ageMs: Date.now() - lstatSync(LOCK).mtimeMs };
  } catch {
    return undefined;
  }
}

/** Also when only the npm of a start is left that was killed. */
function isHeld(lock) {
  if (lock === undefined) return false;
  return lock.host === hostname() ? lock.pids.some(isAlive) : lock.ageMs < STALE_LOCK_MS;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
  return pid > 0 && !hasEnded(pid);
}

/** Of a process that is not yet reaped, which `kill` still finds. */
function hasEnded(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.charAt(stat.lastIndexOf(")") + 2) === "Z";
  } catch {
    return false; // No Linux.
  }
}

function stop(name) {
  // Nothing of ours is there yet.
  if (npm === undefined) process.exit(exitCodeOf(name));
  if (stoppedBy === undefined) say("stopping the installation …");
  // A second Ctrl-C does not wait.
  endNpm(stoppedBy === undefined ? "SIGTERM" : "SIGKILL");
  stoppedBy ??= name;
  setTimeout(() => endNpm("SIGKILL"), LAST_WORDS_MS).unref();
}

/** With all that it has started. */
function endNpm(signal) {
  try {
    process.kill(-npm.pid, signal);
  } catch {
    // It has ended by itself.
  }
}

function exitCodeOf(signal) {
  return 128 + constants.signals[signal];
}

function delay(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

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
  const progress = setInterval(() => {
    if (stoppedBy === undefined) say(`  still installing, ${seconds()} s`);
  }, 5_000);
  const { code, output } = await npmInstall();
  clearInterval(progress);
  if (stoppedBy !== undefined) {
    say("stopped; the next start installs the packages again");
    return exitCodeOf(stoppedBy);
  }
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
        // A group of its own: it is ended whole, and by us alone.
        detached: true,
      },
    );
    if (child.pid !== undefined) {
      npm = child;
      nameInLock(child.pid);
    }
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

function nameInLock(pid) {
  const next = `${LOCK}-${process.pid}`;
  rmSync(next, { force: true });
  symlinkSync(lockOf(process.pid, pid), next);
  renameSync(next, LOCK);
}

function say(line) {
  process.stderr.write(`sallyport: ${line}\n`);
}
