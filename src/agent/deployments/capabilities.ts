import type { Capability } from "../../contract/deployments/deployment-state.ts";
import type { RequiredRight } from "../../crds/manifests/roles/required-rights.ts";
import { resources } from "../../kube/objects/resource.ts";

const LATER: readonly Capability[] = [
  { key: "debug", state: "unavailable", detail: "not in this version" },
  { key: "machines", state: "unavailable", detail: "not in this version" },
];
/** Kinds without which workloads are told all the same; what is missing is said with each of them. */
const BESIDE_WORKLOADS: readonly string[] = ["replicasets", "poddisruptionbudgets", "persistentvolumeclaims", "events"];
const KEYS = ["k8s-workloads", "operations", "logs"] as const;

/**
 * What the vendor can expect of this deployment, from the agent's real rights. Which right is missing, and where, stays in
 * the cluster: the condition `Permitted` names it.
 *
 * @param accepted namespaces that the customer accepts the deployment for; none: it waits.
 */
export function capabilitiesOf(accepted: readonly string[], missing: readonly RequiredRight[]): Capability[] {
  if (accepted.length === 0) {
    const detail = "waits until the customer accepts this deployment in the cluster";
    return [...KEYS, ...LATER.map(({ key }) => key)].map((key) => ({ key, state: "denied", detail }));
  }
  const reads = missing.some(
    ({ reach, namespace, group, resource }) =>
      reach === "opened" &&
      accepted.includes(namespace) &&
      group !== resources.podMetrics.group &&
      !BESIDE_WORKLOADS.includes(resource),
  );
  const writes = missing.some(({ reach }) => reach === "grants");
  const answer = (key: (typeof KEYS)[number], lacks: boolean): Capability =>
    lacks ? { key, state: "denied", detail: "the agent lacks rights in the cluster" } : { key, state: "granted" };
  return [answer("k8s-workloads", reads), answer("operations", writes), answer("logs", writes), ...LATER];
}
