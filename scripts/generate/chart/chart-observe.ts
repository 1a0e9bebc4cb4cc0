import { OBSERVED_RESOURCES, READ_ON_DEMAND } from "../../../src/crds/manifests/roles/observe-role.ts";
import { type Branch, branch, count, flag, text, words } from "./chart-value.ts";

/** What the agent reads of opened namespaces. */
export const OBSERVE_VALUES: Branch = branch("What the agent reads of the opened namespaces, and reports.", {
  kinds: branch(
    "Off: the agent has no right to read that kind, does not watch it, and reports nothing of it. The health of other kinds is then told without what that kind would say.",
    Object.fromEntries(OBSERVED_RESOURCES.map(({ value, why }) => [value, flag(true, why)])),
  ),
  labelSelector: text(
    "",
    "Only what this selects is watched, a selector as of `kubectl -l`: it is sent to the API server, so that the rest never reaches the agent. Pods and ReplicaSets of a workload need the label too: put it into the template. RBAC has no such bound; the agent's right stays that to the whole namespace. Empty: all.",
    { maxLength: 1024 },
  ),
  scope: words(
    "namespaces",
    ["namespaces", "cluster"],
    "namespaces: a stream a kind and opened namespace, with rights there alone. cluster: a stream a kind, for dozens of namespaces. The agent then holds a right to read the same kinds in the whole cluster, and drops at once what is of no opened namespace: what it reports is the same, what a stolen agent could read is not. Not with `rbac.scope: namespaces`.",
  ),
  maxPods: count(
    0,
    0,
    "Pods that the agent holds in memory, of all opened namespaces together. Beyond it the pods of the namespace with the most are not watched, `Observed` of the deployment is False with the reason TooLarge, and the rest goes on. 0: 170 for each MiB of Node's heap, which is 53,000 with the shipped memory limit.",
    200_000,
  ),
  redactNames: flag(
    false,
    "Reports have another name for each pod, claim, node and image, as `pod-5e884898`: a hash with a salt that stays in this cluster, in the Secret `sallyport-name-salt`, which the agent fills once and has the right to read. Words of controllers, which quote names, are withheld. Names of workloads, labels and results of operations stay as they are.",
  ),
  nodes: flag(
    false,
    "Tells each accepted deployment how many nodes are ready, which have trouble, and the room on them. On: a ClusterRole to read nodes, in any rbac.scope.",
  ),
  ...Object.fromEntries(
    READ_ON_DEMAND.map(({ value, why }) => [
      value,
      flag(true, `${why} Off: the agent has no right to it, and each report that would have it says so.`),
    ]),
  ),
});
