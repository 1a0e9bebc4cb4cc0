import { cp } from "node:fs/promises";
import { join } from "node:path";
import { go, type Recipe, SOURCE, toolRecipe } from "./go-build.ts";

/**
 * kwok exits without stage files ("no stages found"). These make nodes and pods ready at once and keep leases alive.
 */
const KWOK_STAGES = [
  "node/fast/node-initialize.yaml",
  "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
  "pod/fast/pod-ready.yaml",
  "pod/fast/pod-complete.yaml",
  "pod/fast/pod-delete.yaml",
];

export async function kwokRecipe(): Promise<Recipe> {
  const main = "sigs.k8s.io/kwok/cmd/kwok";
  const recipe = await toolRecipe({
    name: "kwok",
    package: main,
    facts: KWOK_STAGES,
    title: "kwok (simulates nodes and running pods)",
    expectation: "10 seconds on 2 cores after the Kubernetes programs, else 2 minutes",
  });
  return {
    ...recipe,
    async build(into, say, signal) {
      await recipe.build(into, say, signal);
      const run = { cwd: SOURCE, step: "asking Go", say };
      await copyStages((await go(["list", "-f", "{{.Module.Dir}}", main], run, signal)).trim(), into);
    },
  };
}

/** Absolute paths of the stage files in a cache folder made by {@link kwokRecipe}. */
export function stageFiles(folder: string): readonly string[] {
  return KWOK_STAGES.map((stage) => join(folder, "stages", stage.replaceAll("/", "-")));
}

/** @param moduleFolder where Go unpacked kwok's module */
async function copyStages(moduleFolder: string, into: string): Promise<void> {
  const targets = stageFiles(into);
  for (const [index, stage] of KWOK_STAGES.entries()) {
    const target = targets[index];
    if (target !== undefined) await cp(join(moduleFolder, "kustomize/stage", stage), target);
  }
}
