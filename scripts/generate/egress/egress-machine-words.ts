import type { Words } from "./egress-report-words.ts";

const MACHINE = "body.machines[]";
const BLOCKER = `${MACHINE}.drainBlockers[]`;
const AGENT_CLOCK = ["the agent's clock", "2026-11-20T10:00:00.000Z"] as const;

const amounts = (what: string, of: string, example: number): Words => ({
  [`${MACHINE}.${what}.total`]: [`the node's \`status.capacity\`, ${of}`, example],
  [`${MACHINE}.${what}.systemReserve`]: ["capacity less `status.allocatable`", example / 8],
  [`${MACHINE}.${what}.allocated`]: ["sum of what the pods on it ask for", example / 4],
});

/** What a report of a deployment's machines says, but for whom it is about. */
export const MACHINE_WORDS: Words = {
  "body.observedAt": AGENT_CLOCK,
  "body.complete": ["constant", true],
  "body.part.index": ["with more than 500 machines, or a large report", 0],
  "body.part.of": ["the same", 2],
  "body.part.id": ["the agent's clock, so that parts are known as one list", "inventory-1763632800000"],
  [`${MACHINE}.machineId`]: ["`MachineJoin.spec.machineId`, else the node's name", "m-3f2a"],
  [`${MACHINE}.status`]: [
    "computed from the node's condition Ready, drains and the join; of one that was not let in `removed`",
    "ready",
  ],
  [`${MACHINE}.capacityGroup`]: [
    "label `sallyport.dev/capacity-group` of the node, else `node.kubernetes.io/instance-type`",
    "default",
  ],
  [`${MACHINE}.zone`]: ["label `topology.kubernetes.io/zone` of the node", "unknown"],
  ...amounts("cpu", "cores", 8),
  ...amounts("memory", "bytes", 34_359_738_368),
  ...amounts("storage", "bytes of ephemeral storage", 107_374_182_400),
  [`${BLOCKER}.reason`]: ["closed word: why a pod is still on the node", "pod-disruption-budget"],
  [`${BLOCKER}.state`]: ["closed word, from the reason", "blocked"],
  [`${BLOCKER}.workloadId`]: [
    "namespace, kind and name of the pod's workload, **of any namespace**",
    "shop/deployment/api",
  ],
  [`${BLOCKER}.workloadName`]: ["its name; the namespace alone where names are kept back", "api"],
  [`${BLOCKER}.schedulingMode`]: ["from the workload's kind", "replicated"],
  [`${BLOCKER}.since`]: ["since when it holds the drain up", "2026-11-20T10:00:00.000Z"],
  [`${BLOCKER}.message`]: [
    "`MachineDrain.status.blockers[].message`: what would help, with names of budgets and workloads; **words of your API server** where it refused an eviction; not sent where names are kept back",
    "budget shop/api allows no eviction now",
  ],
  [`${BLOCKER}.replicaId`]: ["namespace and name of the pod", "shop/api-7d9c5-x2x4z"],
  [`${MACHINE}.drainRequestedAt`]: [
    "when the agent made the MachineDrain of the vendor's wish, while that is there",
    "2026-11-20T10:00:00.000Z",
  ],
  [`${MACHINE}.drainedAt`]: ["`MachineDrain.status.drainedAt`", "2026-11-20T10:00:00.000Z"],
  [`${MACHINE}.publicIp`]: ["address `ExternalIP` of the node", "203.0.113.7"],
  [`${MACHINE}.overlayIp`]: ["address `InternalIP` of the node", "10.0.0.7"],
  [`${MACHINE}.lastHeartbeat`]: [
    "`spec.renewTime` of the node's lease; of a machine that waits or was not let in, the agent's clock",
    "2026-11-20T10:00:00.000Z",
  ],
  [`${MACHINE}.runtimeDaemonVersion`]: ["versions of kubelet and container runtime", "v1.36.3 containerd://2.1.4"],
  [`${MACHINE}.networkHealth`]: ["condition NetworkUnavailable of the node", "healthy"],
  [`${MACHINE}.replicaCount`]: ["how many pods are on it", 12],
  [`${MACHINE}.conditions[].type`]: [
    "conditions of the node and, with `Drain`, `Join` or `Pool` before it, of its drain, its join and the pool that a machine waits for",
    "Ready",
  ],
  [`${MACHINE}.conditions[].status`]: ["`True`, `False` or `Unknown`", "True"],
  [`${MACHINE}.conditions[].reason`]: ["reason of the condition; no message", "KubeletReady"],
  [`${MACHINE}.joinState`]: ["`MachineJoin.status.state`", "joined"],
  [`${MACHINE}.wish.revision`]: ["the vendor's own number of what it wants of the machine", 3],
  [`${MACHINE}.wish.state`]: [
    "whether the MachineDrain for it was made (`passed-on`), or the customer has deleted it since",
    "passed-on",
  ],
};
