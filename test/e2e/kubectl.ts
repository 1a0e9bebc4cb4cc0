import type { Manifest } from "../../src/crds/manifest.ts";
import { type Answer, answer, command } from "./command.ts";
import type { Scene } from "./scene.ts";

/** Runs kubectl as the cluster's admin. @throws Error with its message when it fails */
export function kubectl(scene: Scene, args: readonly string[], signal: AbortSignal, stdin?: string): Promise<string> {
  const all = ["--kubeconfig", scene.cluster.adminKubeconfig, ...args];
  return command(scene.programs.kubectl, all, stdin === undefined ? {} : { stdin }, signal);
}

/** Runs kubectl with another kubeconfig; a failure is in the result. */
export function kubectlAs(
  scene: Scene,
  kubeconfig: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<Answer> {
  return answer(scene.programs.kubectl, ["--kubeconfig", kubeconfig, ...args], {}, signal);
}

export async function apply(scene: Scene, objects: readonly Manifest[], signal: AbortSignal): Promise<void> {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  await kubectl(scene, ["apply", "--server-side", "--force-conflicts", "-f", "-"], signal, list);
}
