import { execFile } from "node:child_process";
import { join } from "node:path";
import { sourceRecipe } from "./go-build.ts";
import { linkerFlags } from "./kubernetes-versions.ts";
import { goEnvironment } from "./program.ts";
import { ensureRecipe } from "./programs.ts";

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlOptions {
  /** Path. @default the admin's */
  readonly kubeconfig?: string;
  readonly stdin?: string;
  /** Beside this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long it may take. @default two minutes */
  readonly limitMs?: number;
}

const MAX_OUTPUT = 64 * 1024 * 1024;
const LIMIT_MS = 120_000;

/** Runs kubectl once. Rejects only when it could not start or was aborted; its own failure is in the result. */
export function kubectl(
  program: string,
  cacheDir: string,
  args: readonly string[],
  { kubeconfig, stdin = "", env, signal, limitMs = LIMIT_MS }: KubectlOptions & { readonly kubeconfig: string },
): Promise<KubectlResult> {
  const all = ["--kubeconfig", kubeconfig, "--cache-dir", cacheDir, ...args];
  return new Promise((done, reject) => {
    const options = {
      maxBuffer: MAX_OUTPUT,
      timeout: limitMs,
      ...(signal && { signal }),
      env: { ...goEnvironment(), ...env },
    };
    const child = execFile(program, all, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== "number") reject(signal?.aborted === true ? signal.reason : error);
      else done({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
    child.stdin?.on("error", () => undefined); // kubectl may end before it has read all of it; its exit code tells.
    child.stdin?.end(stdin);
  });
}

/** The oldest kubectl that speaks WebSocket for everything that it does. */
const OLDEST = "v1.31.14";

/** Path of {@link OLDEST}. Builds it once. */
export async function oldestKubectl(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const name = "kubectl-1.31";
  const recipe = await sourceRecipe({
    name,
    source: join(import.meta.dirname, name),
    files: ["go.mod", "go.sum", "main.go"],
    linkerFlags: linkerFlags(OLDEST),
    title: `kubectl ${OLDEST}`,
    expectation: "about a minute on 2 cores, once",
  });
  return join(await ensureRecipe(recipe, { say }, signal), name);
}
