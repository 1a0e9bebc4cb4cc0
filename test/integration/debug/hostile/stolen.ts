import { DEFAULT_NAMES } from "../../../../src/crds/group.ts";
import type { TunnelWorld } from "../tunnel-world.ts";

const OWN = /^(selfsubject\w+\.|\s|\[|$)/;

/** All that the API server would let an account do in a namespace, by its own word; what every account may is left out. */
export async function rightsOf(at: TunnelWorld, account: string, namespace: string): Promise<readonly string[]> {
  const kubeconfig = await at.cluster.kubeconfigForServiceAccount(DEFAULT_NAMES.systemNamespace, account);
  const { stdout } = await at.cluster.kubectl(["auth", "can-i", "--list", "--no-headers", "-n", namespace], {
    kubeconfig,
  });
  return stdout
    .split("\n")
    .filter((line) => !OWN.test(line))
    .map((line) => line.replace(/ +/g, " ").trim())
    .toSorted();
}
