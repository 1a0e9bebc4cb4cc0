import { execFile } from "node:child_process";
import { join } from "node:path";
import { ensureCacheEntry } from "../cluster/cache-entry.ts";
import { installRecipe } from "../cluster/go-build.ts";
import { cacheRoot } from "../cluster/programs.ts";

const HELM = { name: "helm", module: "helm.sh/helm/v4", version: "v4.3.1", command: "cmd/helm" } as const;

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Path of helm, built with Go at the first call on a machine. */
export async function helmProgram(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const recipe = installRecipe(HELM, "about 3 minutes on 2 cores, once");
  const folder = join(cacheRoot(process.env), recipe.folderName);
  await ensureCacheEntry(
    {
      folder,
      async build(into, buildSignal) {
        say(`building ${recipe.title}: ${recipe.expectation}`);
        await recipe.build(into, (line) => say(`  ${line}`), buildSignal);
      },
      onWaiting: (elapsedMs) => say(`another process builds helm: waiting for ${Math.round(elapsedMs / 1000)} s`),
    },
    signal,
  );
  return join(folder, "helm");
}

/** Runs it in an empty environment: no plugins, repositories or kubeconfig of whoever runs the tests. */
export function runHelm(program: string, args: readonly string[], home: string): Promise<HelmResult> {
  const env = { HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  return new Promise((resolve) => {
    execFile(program, args, { env, maxBuffer: 64 * 1024 ** 2, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : 1, stdout, stderr });
    });
  });
}
