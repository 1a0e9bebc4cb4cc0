import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Environment } from "../../base/settings.ts";

/** Where kubectl looks for a person's own kubeconfig: the files of KUBECONFIG, which are one, else ~/.kube/config. */
export function kubeconfigPaths({ KUBECONFIG = "", HOME }: Environment): readonly string[] {
  if (KUBECONFIG === "") return [join(HOME || homedir(), ".kube", "config")];
  return KUBECONFIG.split(delimiter).filter((path) => path !== "");
}
