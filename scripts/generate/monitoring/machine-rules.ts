import type { RuleGroup } from "./rule.ts";

const BY = "by (cluster, namespace)";
/** Refusals that say something of who asks, and not of how busy the join server is. */
const STRANGE = "malformed|bad-token|many-bad-tokens|name-not-allowed|taken|handshake";

/** Machines: who wants in, who was let in, and which node does not get empty. */
export const MACHINE_RULES: RuleGroup = {
  name: "sallyport.machines",
  alerts: [
    {
      name: "SallyportMachineJoinsRejected",
      severity: "warning",
      expr: `sum ${BY} (increase(sallyport_join_rejected_total{reason=~"${STRANGE}"}[15m])) > 20`,
      for: "5m",
      summary: "The join server in {{ $labels.namespace }} refuses one request after the other.",
      description:
        "{{ $value | humanize }} within 15 minutes: bad tokens, names that are taken, or no requests at all.",
    },
    {
      name: "SallyportMachineJoinWaiting",
      severity: "info",
      expr: `max ${BY} (sallyport_machine_joins{state="Waiting"}) > 0`,
      for: "1h",
      summary: "Machines wait to be let into the cluster of {{ $labels.namespace }}.",
      description: "{{ $value }} of them have no answer from a person.",
    },
    {
      name: "SallyportNodeCertificateIssued",
      severity: "info",
      expr: `sum ${BY} (increase(sallyport_node_certificates_issued_total{kind="first"}[15m])) > 0`,
      for: "0m",
      summary: "A new machine has a certificate of a node in the cluster of {{ $labels.namespace }}.",
      description: "{{ $value | humanize }} were issued within 15 minutes.",
    },
    {
      name: "SallyportMachineSignerBroken",
      severity: "warning",
      expr: `max ${BY} (sallyport_machine_signer_broken) > 0`,
      for: "5m",
      summary: "The cluster of {{ $labels.namespace }} does not sign certificates of nodes.",
      description: "{{ $value }} machine pools let no machine in.",
    },
    {
      name: "SallyportMachineDrainStalled",
      severity: "warning",
      expr: `max ${BY} (sallyport_machine_drains_stalled) > 0`,
      for: "20m",
      summary: "A drain in {{ $labels.namespace }} does not go on.",
      description: "No pod has left {{ $value }} nodes for half an hour.",
    },
    {
      name: "SallyportMachineDrainOverdue",
      severity: "warning",
      expr: `max ${BY} (sallyport_machine_drains_overdue) > 0`,
      for: "5m",
      summary: "A drain in {{ $labels.namespace }} is over its deadline.",
      description: "{{ $value }} of them go on, and delete nothing that a budget protects.",
    },
    {
      name: "SallyportEvictionsMisconfigured",
      severity: "warning",
      expr: `sum ${BY} (increase(sallyport_evictions_total{answer="misconfigured"}[15m])) > 0`,
      for: "5m",
      summary: "Pods in the cluster of {{ $labels.namespace }} cannot be evicted at all.",
      description: "The API server answered 500 to {{ $value | humanize }} evictions: two budgets select the same pod.",
    },
    {
      name: "SallyportMachineSilent",
      severity: "warning",
      expr: `max ${BY} (sallyport_machines{status=~"unreachable|not-ready"}) > 0`,
      for: "15m",
      summary: "Machines in the cluster of {{ $labels.namespace }} are silent or not ready.",
      description: "{{ $value }} of them.",
    },
  ],
};
