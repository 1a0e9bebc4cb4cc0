import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type { Environment } from "../../base/settings.ts";

/** Where kubectl looks for a person's own kubeconfig: the files of KUBECONFIG, which are one, else ~/.kube/config. */
export function kubeconfigPaths({ KUBECONFIG = "", HOME }: Environment): readonly string[] {
  const named = KUBECONFIG.split(delimiter).filter((path) => path !== "");
  return named.length > 0 ? named : [join(HOME ?? homedir(), ".kube", "config")];
}
