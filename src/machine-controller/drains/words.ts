import type { DrainRules } from "./rules.ts";
import type { Budget, DrainPod } from "./shapes.ts";

// What would help, for each thing that holds a drain up. No shell lines: admission refuses them in a status.

/** The last part of `shop/deployment/api` and of `shop/api`, as a person names it in that namespace. */
function inNamespace(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

function neverAllows({ minAvailable, maxUnavailable }: Budget["spec"]): boolean {
  return /^0%?$/.test(maxUnavailable) || minAvailable === "100%";
}

/** @param refusal the API server's words; undefined while only the cache says that there is no room */
export function budgetWords(
  budget: Budget,
  refusal: string | undefined,
  workload: string | undefined,
  isNodeDead: boolean,
): string {
  const { metadata, spec, status } = budget;
  const pdb = `pdb/${metadata.name}`;
  const owner = workload === undefined ? "its workload" : inNamespace(workload);
  const said =
    refusal ??
    `${pdb} allows no disruption now: ${status.currentHealthy} of ${status.desiredHealthy} needed are healthy`;
  if (isNodeDead)
    return `${said}; the node is unreachable, so that its pods count as unhealthy until it is back or removed`;
  if (neverAllows(spec)) return `${said}; it never allows one: raise maxUnavailable of ${pdb}`;
  if (status.currentHealthy < status.expectedPods) {
    const policy =
      spec.unhealthyPodEvictionPolicy === "AlwaysAllow"
        ? ""
        : `, or set unhealthyPodEvictionPolicy of ${pdb} to AlwaysAllow`;
    return `${said}; ${status.currentHealthy} of ${status.expectedPods} pods are healthy: mend those of ${owner}${policy}`;
  }
  return `${said}; raise maxUnavailable of ${pdb}, or scale ${owner} to ${status.desiredHealthy + 1}`;
}

export function misconfiguredWords(budgets: readonly Budget[]): string {
  const names = budgets.map(({ metadata }) => `pdb/${metadata.name}`).sort();
  const which = names.length < 2 ? "several budgets" : names.join(" and ");
  return `${which} select this pod, and Kubernetes evicts none that has more than one budget: let one of them select it`;
}

export function unmanagedWords({ pool, allowForce }: DrainRules, wantsForce: boolean): string {
  const lost = "no controller would make it again elsewhere: delete it";
  if (allowForce) return wantsForce ? lost : `${lost}, or set force`;
  const whose =
    pool === undefined ? "no MachinePool that allows force has this node" : `MachinePool ${pool} does not allow force`;
  return wantsForce ? `${lost}; force was asked for, but ${whose}` : lost;
}

export function localStorageWords({ pool }: DrainRules): string {
  return `what its emptyDir holds would be lost, and MachinePool ${pool ?? ""} says deleteEmptyDir: false: save it and delete the pod`;
}

export function terminatingWords({ metadata }: DrainPod): string {
  const { finalizers, deletionTimestamp } = metadata;
  const late = `it should have ended by ${deletionTimestamp}`;
  if (finalizers.length === 0) return `${late}; its kubelet has not said that it did`;
  return `${late}; finalizers hold it: ${finalizers.slice(0, 3).join(", ")}`;
}

export const CAME_BACK_WORDS =
  "it came to the node after the drain began, and is evicted each minute: it tolerates node.kubernetes.io/unschedulable or names the node; end that, or select it in spec.drain.skip of the MachinePool";

export const DAEMON_WORDS =
  "it stays with its node: of a DaemonSet, of the node's own files, or in spec.drain.skip of the MachinePool";
