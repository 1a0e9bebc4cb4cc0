import { INSTALLATION, PROCESS, type Row } from "./panel.ts";
import { PROCESS_INFO } from "./rule.ts";

/** The first row of an installation's dashboard: one figure for each question that cannot wait. */
export const NOW_ROW: Row = {
  title: "Now",
  panels: [
    {
      title: "Platform reached",
      about: "No: requests do not arrive. See the runbook SallyportControlPlaneDisconnected.",
      kind: "stat",
      unit: "bool_yes_no",
      queries: [{ expr: `max(sallyport_controlplane_connected{channel="sync",${PROCESS}})`, legend: "reached" }],
    },
    {
      title: "Last heartbeat",
      about: "How long ago one succeeded.",
      kind: "stat",
      unit: "s",
      queries: [{ expr: `max(cluster_namespace:sallyport_heartbeat_age:seconds{${INSTALLATION}})`, legend: "age" }],
      thresholds: [
        { value: 120, color: "orange" },
        { value: 180, color: "red" },
      ],
    },
    {
      title: "Waiting for a decision",
      about: "Access requests without a decision.",
      kind: "stat",
      unit: "short",
      queries: [{ expr: `max(sallyport_grants{state="Pending",${PROCESS}})`, legend: "pending" }],
      thresholds: [{ value: 1, color: "orange" }],
    },
    {
      title: "Open windows",
      about: "Grants under which commands may run now.",
      kind: "stat",
      unit: "short",
      queries: [{ expr: `max(sallyport_grants{state="Approved",${PROCESS}})`, legend: "open" }],
    },
    {
      title: "Policies missing",
      about:
        "Of admission: required by admission.mode on this API server, and not in force. No data: rbac.selfCheck is off.",
      kind: "stat",
      unit: "short",
      width: 2,
      queries: [
        {
          expr: `sum(max by (cluster, namespace, policy) (sallyport_policies_required{${PROCESS}})
            > bool max by (cluster, namespace, policy) (sallyport_policies_present{${PROCESS}}))`,
          legend: "missing",
        },
      ],
      thresholds: [{ value: 1, color: "red" }],
    },
    {
      title: "Rights missing",
      about: "Rules that RBAC does not give; kubectl get events in the grants namespace names them.",
      kind: "stat",
      unit: "short",
      width: 2,
      queries: [
        {
          expr: `sum(max by (job, reach) ({__name__=~"sallyport_(agent|operator)_missing_rights",${PROCESS}}))`,
          legend: "missing",
        },
      ],
      thresholds: [{ value: 1, color: "red" }],
    },
    {
      title: "Runtime key ends in",
      about: "Nothing: it does not end.",
      kind: "stat",
      unit: "s",
      queries: [
        { expr: `min(sallyport_runtime_key_expiry_timestamp_seconds{${PROCESS}} > 0) - time()`, legend: "left" },
      ],
    },
    {
      title: "Builds",
      about: "More than one version: an upgrade under way, or stuck.",
      kind: "table",
      unit: "short",
      queries: [
        {
          expr: `count by (namespace, job, version, revision) ({__name__=~"${PROCESS_INFO}",${PROCESS}})`,
          legend: "",
        },
      ],
    },
    {
      title: "Alerts",
      about: "What fires now.",
      kind: "table",
      unit: "short",
      queries: [
        {
          expr: `count by (alertname, severity, namespace) (ALERTS{alertname=~"Sallyport.*",alertstate="firing",${INSTALLATION}})`,
          legend: "",
        },
      ],
    },
  ],
};
