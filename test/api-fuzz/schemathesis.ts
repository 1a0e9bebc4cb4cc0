import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureCacheEntry } from "../../lab/cluster/cache-entry.ts";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { findOnPath } from "../../lab/cluster/path-search.ts";

/** Every package of schemathesis, at the version with which it is tested. */
const REQUIREMENTS = join(import.meta.dirname, "requirements.txt");
const HOOKS = join(import.meta.dirname, "hooks.py");
const OLDEST_PYTHON = [3, 10] as const;

/** This machine cannot run schemathesis; the message says what a person can do. */
export class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}

const run = promisify(execFile);

/**
 * The Python of a virtual environment that holds schemathesis, made once and kept in the cache.
 * @throws UnavailableError without Python, or without the packages' registry at the first run.
 */
export async function findSchemathesis(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const requirements = await readFile(REQUIREMENTS, "utf8");
  const version = /^schemathesis==(\S+)$/m.exec(requirements)?.[1] ?? "";
  const system = await systemPython(signal);
  const digest = createHash("sha256").update(`${requirements}${system.version}`).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(process.env), `schemathesis-${version}-${digest}`);
  await ensureCacheEntry(
    {
      folder,
      async build(into) {
        say(`installing schemathesis ${version}: about half a minute, once`);
        try {
          await run(system.path, ["-m", "venv", into], { signal });
          const flags = ["--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"];
          // The environment's module and not its `pip`: scripts hold the path of the folder in which they were made.
          const python = join(into, "bin", "python");
          await run(python, ["-m", "pip", "install", ...flags, "-r", REQUIREMENTS], { signal, timeout: 300_000 });
        } catch (cause) {
          signal.throwIfAborted();
          throw new UnavailableError(
            `schemathesis could not be installed. Python needs its modules venv and pip, and the first run a package registry; ${lastLine(cause)}`,
            { cause },
          );
        }
      },
      onWaiting: (elapsedMs) => say(`another process installs schemathesis: ${Math.round(elapsedMs / 1000)} s`),
    },
    signal,
  );
  return join(folder, "bin", "python");
}

async function systemPython(signal: AbortSignal): Promise<{ readonly path: string; readonly version: string }> {
  const path = await findOnPath("python3");
  const missing = `Python ${OLDEST_PYTHON.join(".")} or newer (python3) is needed for the API's fuzz tests`;
  if (path === undefined) throw new UnavailableError(`${missing}, and there is none on the PATH`);
  const { stdout } = await run(path, ["--version"], { signal });
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  const tooOld = Number(major) < OLDEST_PYTHON[0] || Number(minor) < OLDEST_PYTHON[1];
  if (tooOld) throw new UnavailableError(`${missing}; this one is ${stdout.trim()}`);
  return { path, version: `${major}.${minor}` };
}

function lastLine(cause: unknown): string {
  const text = typeof cause === "object" && cause !== null && "stderr" in cause ? String(cause.stderr) : String(cause);
  return text.trim().split("\n").at(-1) ?? "";
}

export interface FuzzRun {
  readonly python: string;
  readonly configFile: string;
  readonly documentUrl: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface FuzzResult {
  readonly code: number;
  /** All output in one piece, because two runs are under way at once. */
  readonly words: string;
}

export function schemathesis(fuzz: FuzzRun, signal: AbortSignal): Promise<FuzzResult> {
  const { python, configFile, documentUrl, args, env } = fuzz;
  const all = ["-m", "schemathesis.cli", "--config-file", configFile, "run", documentUrl, ...args];
  // Python's hash seed differs in each process unless it is set, and it decides the order of sets.
  const settings = { ...process.env, PYTHONHASHSEED: "0", SCHEMATHESIS_HOOKS: HOOKS, ...env };
  return new Promise((resolve, reject) => {
    const child = spawn(python, all, { stdio: ["ignore", "pipe", "pipe"], env: settings, signal });
    const pieces: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => pieces.push(piece));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, words: Buffer.concat(pieces).toString() }));
  });
}
