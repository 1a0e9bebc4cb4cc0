import { execFile } from "node:child_process";
import { join } from "node:path";
import { toolRecipe } from "../../lab/cluster/go-build.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";

const HELM = {
  name: "helm",
  package: "helm.sh/helm/v4/cmd/helm",
  expectation: "20 seconds on 2 cores after the Kubernetes programs, else 2 minutes",
} as const;

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Path of helm, built with Go at the first call on a machine. */
export async function helmProgram(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const folder = await ensureRecipe(await toolRecipe(HELM), { say }, signal);
  return join(folder, "helm");
}

/**
 * Runs it in an empty environment: without the plugins, repositories and kubeconfig of the person who runs the tests.
 */
export function runHelm(
  program: string,
  args: readonly string[],
  home: string,
  timeoutMs = 60_000,
  more: Readonly<Record<string, string>> = {},
): Promise<HelmResult> {
  const env = { HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home, ...more };
  return new Promise((resolve) => {
    execFile(program, args, { env, maxBuffer: 64 * 1024 ** 2, timeout: timeoutMs }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : 1, stdout, stderr });
    });
  });
}
