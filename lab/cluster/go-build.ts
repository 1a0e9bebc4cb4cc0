import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, statfs, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { KUBERNETES_VERSIONS, type KubernetesMinor, linkerFlags, NEWEST } from "./kubernetes-versions.ts";
import { findOnPath } from "./path-search.ts";
import { goEnvironment } from "./program.ts";

/** The names that one binary can be called by, see programs/main.go. */
export const CONTROL_PLANE_NAMES = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubectl",
] as const;

/** The module of the Kubernetes programs and of what is built with them. */
export const SOURCE: string = join(import.meta.dirname, "programs");

/** Disk space for a build with empty caches (module sources, Go's build cache, the result): measured 3.2 GB. */
const NEEDED_DISK_BYTES = 4 * 1024 ** 3;

/** Time between two progress messages. */
const REPORT_EVERY_MS = 5_000;

/** One entry that the cache can hold. */
export interface Recipe {
  /** Folder name in the cache: it changes with everything the result depends on. */
  readonly folderName: string;
  /** For messages: "the Kubernetes programs". */
  readonly title: string;
  /** How long it takes with empty caches on two cores, measured. */
  readonly expectation: string;
  build(into: string, say: (line: string) => void, signal: AbortSignal): Promise<void>;
}

/** A build that cannot work; the message says what a person can do. */
export class ProgramsError extends Error {
  override readonly name = "ProgramsError";
}

/** All programs of one version of Kubernetes: its own etcd and kubectl too, as both must fit the API server. */
export async function controlPlaneRecipe(minor: KubernetesMinor): Promise<Recipe> {
  const version = KUBERNETES_VERSIONS[minor];
  const modules = minor === NEWEST ? "go" : minor;
  const recipe = await sourceRecipe({
    name: "programs",
    source: SOURCE,
    files: [`${modules}.mod`, `${modules}.sum`, "main.go"],
    // 1.30 still has clients of cloud providers in it: minutes to compile, and no test has a cloud.
    ...(minor !== NEWEST && { flags: [`-modfile=${minor}.mod`, "-tags=providerless"] }),
    linkerFlags: linkerFlags(version),
    title: `the Kubernetes programs (etcd, API server, controller manager, scheduler, kubectl; ${version})`,
    expectation: "4 to 5 minutes on 2 cores, once",
  });
  return {
    ...recipe,
    async build(into, say, signal) {
      await recipe.build(into, say, signal);
      for (const name of CONTROL_PLANE_NAMES) await symlink("programs", join(into, name));
    },
  };
}

/** A program whose module files are ours, with every version in them. */
interface SourceProgram {
  readonly name: string;
  readonly source: string;
  /** A main package of a module that `go.mod` requires. @default the folder's own */
  readonly package?: string;
  /** All files of the folder that the result depends on, always in the same order. */
  readonly files: readonly string[];
  /** More flags for `go list` and `go build`. @default none */
  readonly flags?: readonly string[];
  /** For Go, such as the system to build for. @default this machine's */
  readonly environment?: Readonly<Record<string, string>>;
  /** What else the result depends on. @default nothing */
  readonly facts?: readonly string[];
  readonly linkerFlags: string;
  readonly title: string;
  readonly expectation: string;
}

/** Built under the program's name. */
export async function sourceRecipe(program: SourceProgram): Promise<Recipe> {
  const { name, source, package: main = ".", files, linkerFlags, title, expectation } = program;
  const { flags = [], environment = {}, facts = [] } = program;
  const hash = createHash("sha256").update(main === "." ? "" : main);
  for (const file of files) hash.update(await readFile(join(source, file))).update("\0");
  const parts = [
    ...flags,
    ...Object.entries(environment).flat(),
    ...facts,
    linkerFlags,
    process.platform,
    process.arch,
  ];
  for (const part of parts) hash.update(part).update("\0");
  return {
    folderName: `${name}-${hash.digest("hex").slice(0, 12)}`,
    title,
    expectation,
    async build(into, say, signal) {
      await checkMachine(into, signal);
      const packages = await go(
        ["list", ...flags, "-deps", main],
        { cwd: source, step: "fetching modules", say, environment },
        signal,
      );
      const total = packages.trim().split("\n").length;
      const output = ["-ldflags", linkerFlags, "-o", join(into, name)];
      await go(
        ["build", "-v", ...flags, "-mod=readonly", "-buildvcs=false", ...output, main],
        { cwd: source, step: "compiling", total, say, environment },
        signal,
      );
    },
  };
}

/**
 * A program of a module that `programs/go.mod` requires. Once the Kubernetes programs are built, only the packages that
 * they don't have are left to compile.
 */
export function toolRecipe(
  tool: Pick<SourceProgram, "name" | "package" | "expectation"> & Partial<Pick<SourceProgram, "title" | "facts">>,
): Promise<Recipe> {
  return sourceRecipe({ source: SOURCE, files: ["go.mod", "go.sum"], linkerFlags: "-s -w", title: tool.name, ...tool });
}

async function checkMachine(into: string, signal: AbortSignal): Promise<void> {
  if ((await findOnPath("go")) === undefined) {
    throw new ProgramsError(
      "Go is needed to build the Kubernetes programs and is not on the PATH. Install it (https://go.dev/dl/, 1.21 or newer; it fetches " +
        "the version it needs by itself), or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl.",
    );
  }
  const version = /go(\d+)\.(\d+)/.exec(
    await go(["env", "GOVERSION"], { cwd: into, step: "asking Go", say: () => undefined }, signal),
  );
  if (version !== null && Number(version[1]) === 1 && Number(version[2]) < 21) {
    throw new ProgramsError(`Go ${version[0].slice(2)} is too old: 1.21 or newer is needed.`);
  }
  const disk = await statfs(dirname(into));
  const free = disk.bavail * disk.bsize;
  if (free < NEEDED_DISK_BYTES) {
    throw new ProgramsError(
      `Building the Kubernetes programs needs about ${gigabytes(NEEDED_DISK_BYTES)} of disk; ${dirname(into)} has ${gigabytes(free)} left.`,
    );
  }
}

/** A program of a module, built by `go install` as it was released. */
export function installRecipe(
  program: { readonly name: string; readonly module: string; readonly version: string; readonly command: string },
  expectation: string,
): Recipe {
  const { name, module, version, command } = program;
  const path = command === "" ? module : `${module}/${command}`;
  const hash = createHash("sha256").update([module, version, command, process.platform, process.arch].join("\0"));
  return {
    folderName: `${name}-${version}-${hash.digest("hex").slice(0, 12)}`,
    title: `${name} ${version}`,
    expectation,
    async build(into, say, signal) {
      await checkMachine(into, signal);
      await go(
        ["install", "-v", "-buildvcs=false", "-ldflags", "-s -w", `${path}@${version}`],
        { cwd: into, step: "compiling", say, environment: { GOBIN: into } },
        signal,
      );
    },
  };
}

interface GoRun {
  readonly cwd: string;
  /** What the person sees while it runs. */
  readonly step: string;
  /** Packages expected, when known. */
  readonly total?: number;
  readonly say: (line: string) => void;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs `go`, counting the lines it prints as progress. Returns its stdout; a failure carries the end of its stderr. */
export async function go(args: readonly string[], run: GoRun, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const environment = { ...goEnvironment(), CGO_ENABLED: "0", ...run.environment };
  // Its own process group: `go` starts compilers, and a stop must reach all of them. The terminal's Ctrl-C must not
  // reach it before us.
  const child = spawn("go", args, {
    cwd: run.cwd,
    env: environment,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => killGroup(child.pid);
  signal.addEventListener("abort", stop, { once: true });
  process.once("exit", stop);
  const startedAt = performance.now();
  const seen = { downloads: 0, packages: 0 };
  const tail: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (line.startsWith("go: downloading ")) seen.downloads += 1;
    else if (/^[\w.\-/~]+$/.test(line)) seen.packages += 1;
    else if (tail.push(line) > 20) tail.shift();
  });
  const timer = setInterval(() => run.say(progressLine(run, seen, performance.now() - startedAt)), REPORT_EVERY_MS);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal.throwIfAborted();
    if (code !== 0) throw new ProgramsError(explainFailure(args, tail));
    return stdout;
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", stop);
    process.removeListener("exit", stop);
  }
}

function progressLine(
  run: GoRun,
  seen: { readonly downloads: number; readonly packages: number },
  elapsedMs: number,
): string {
  const parts = [`${run.step}, ${Math.round(elapsedMs / 1000)} s`];
  if (seen.downloads > 0) parts.push(`${seen.downloads} modules fetched`);
  if (seen.packages > 0)
    parts.push(run.total === undefined ? `${seen.packages} packages` : `${seen.packages} of ${run.total} packages`);
  return parts.join(", ");
}

/** Go has no error codes. Its words only choose the hint that is printed above them. */
function explainFailure(args: readonly string[], tail: readonly string[]): string {
  const text = tail.join("\n");
  const hint = /no space left on device/.test(text)
    ? "The disk is full."
    : /dial tcp|no such host|i\/o timeout|connection refused|proxyconnect|TLS handshake/.test(text)
      ? "Go could not reach its module proxy. Check the network, GOPROXY and HTTPS_PROXY; what was fetched so far is kept."
      : /requires go >=/.test(text)
        ? "This Go is too old and may not fetch a newer one by itself (GOTOOLCHAIN)."
        : "Go could not build it.";
  return `${hint}\n  go ${args.slice(0, 2).join(" ")} said:\n${tail.map((line) => `    ${line}`).join("\n")}`;
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`;
}
