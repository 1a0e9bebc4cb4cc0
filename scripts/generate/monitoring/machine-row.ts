import { lines, PROCESS, RATE, type Row } from "./panel.ts";

/** Empty until machines are switched on. */
export const MACHINE_ROW: Row = {
  title: "Machines",
  panels: [
    lines(
      "Machines",
      "Of accepted deployments, by status, as the vendor sees them.",
      "short",
      `max by (status) (sallyport_machines{${PROCESS}})`,
      "{{status}}",
    ),
    lines(
      "Joins",
      "Machines that asked to join, by state: Waiting ones wait for a person.",
      "short",
      `max by (state) (sallyport_machine_joins{${PROCESS}})`,
      "{{state}}",
    ),
    lines(
      "Joins refused",
      "What the join server refused, by reason.",
      "short",
      `sum by (reason) (increase(sallyport_join_rejected_total{${PROCESS}}${RATE}))`,
      "{{reason}}",
    ),
    lines(
      "Certificates",
      "Of nodes, issued by the cluster's signer: first ones and renewals.",
      "short",
      `sum by (kind) (increase(sallyport_node_certificates_issued_total{${PROCESS}}${RATE}))`,
      "{{kind}}",
    ),
    lines("Drains", "By state.", "short", `max by (state) (sallyport_machine_drains{${PROCESS}})`, "{{state}}"),
    lines(
      "What holds drains up",
      "Pods, by why they stay.",
      "short",
      `max by (reason) (sallyport_machine_drain_blockers{${PROCESS}})`,
      "{{reason}}",
    ),
    lines(
      "Evictions",
      "By what the API server answered.",
      "short",
      `sum by (answer) (increase(sallyport_evictions_total{${PROCESS}}${RATE}))`,
      "{{answer}}",
    ),
  ],
};
