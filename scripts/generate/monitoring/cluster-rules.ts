import { DEBUG_RULES } from "./debug-rules.ts";
import { MACHINE_RULES } from "./machine-rules.ts";
import { RELEASE_RULES } from "./release-rules.ts";
import { gone, PROCESS_INFO, type RuleGroup, WHERE_KNOWN } from "./rule.ts";

/** Labels of one installation: those that stay when the replicas are summed. */
const BY = "by (cluster, namespace)";
/** Other controllers use the same metric names as client-go and controller-runtime: this keeps only our own pods. */
const OURS = "and on (cluster, namespace, pod) cluster_namespace_pod:sallyport_process:info";
const LINK_ERRORS = 'sallyport_controlplane_requests_total{code_class=~"5xx|none"}';
/** Operations that began. What the gate refused has its own alert. */
const RUNS = 'sallyport_operations_total{result!="held"}';
const FAILED_RUNS = 'sallyport_operations_total{result=~"failed|timeout|unknown"}';

function errorRatio(window: string): string {
  return `sum ${BY} (rate(${LINK_ERRORS}[${window}])) / (sum ${BY} (rate(sallyport_controlplane_requests_total[${window}])) > 0)`;
}

/** What the customer's Prometheus watches: agent, operator and the way between agent and platform. */
export const CLUSTER_RULES: readonly RuleGroup[] = [
  {
    name: "sallyport.rules",
    recordings: [
      {
        record: "cluster_namespace_pod:sallyport_process:info",
        expr: `max by (cluster, namespace, pod) ({__name__=~"${PROCESS_INFO}"})`,
      },
      { record: "cluster_namespace:sallyport_controlplane_request_errors:ratio_rate5m", expr: errorRatio("5m") },
      { record: "cluster_namespace:sallyport_controlplane_request_errors:ratio_rate1h", expr: errorRatio("1h") },
      {
        record: "cluster_namespace:sallyport_controlplane_request_duration_seconds:p99_5m",
        // A long-poll waits on purpose.
        expr: `histogram_quantile(0.99, sum by (cluster, namespace, le)
          (rate(sallyport_controlplane_request_duration_seconds_bucket{route!="managerRuntime.work"}[5m])))`,
      },
      {
        record: "cluster_namespace:sallyport_heartbeat_age:seconds",
        // Before the first heartbeat: the time since the agent's start.
        expr: `time() - max ${BY} (sallyport_heartbeat_last_success_timestamp_seconds > 0 or on (cluster, namespace, pod)
          (process_start_time_seconds and on (cluster, namespace, pod) sallyport_agent_build_info))`,
      },
      {
        record: "cluster_namespace:sallyport_operations_errors:ratio_rate30m",
        expr: `sum ${BY} (rate(${FAILED_RUNS}[30m])) / (sum ${BY} (rate(${RUNS}[30m])) > 0)`,
      },
      {
        record: "cluster_namespace_queue:sallyport_buffer_used:ratio",
        expr: `max by (cluster, namespace, queue) (sallyport_buffer_items)
          / max by (cluster, namespace, queue) (sallyport_buffer_capacity_items)`,
      },
      {
        record: "cluster_namespace_pod_controller:controller_runtime_reconcile_errors:ratio_rate5m",
        expr: `sum by (cluster, namespace, pod, controller) (rate(controller_runtime_reconcile_errors_total[5m]))
          / (sum by (cluster, namespace, pod, controller) (rate(controller_runtime_reconcile_total[5m])) > 0) ${OURS}`,
      },
    ],
  },
  {
    name: "sallyport.processes",
    alerts: [
      {
        name: "SallyportAgentDown",
        severity: "critical",
        expr: gone("sallyport_agent_build_info"),
        for: "15m",
        summary: `No Sallyport agent is seen${WHERE_KNOWN}.`,
        description: "Prometheus scrapes no agent. Requests do not reach this cluster, and answers do not leave it.",
      },
      {
        name: "SallyportOperatorDown",
        severity: "critical",
        expr: gone("sallyport_operator_build_info"),
        for: "15m",
        summary: `No Sallyport operator is seen${WHERE_KNOWN}.`,
        description: "Prometheus scrapes no operator. Granted work does not run, and access is not taken back on time.",
      },
      {
        name: "SallyportNoLeader",
        severity: "critical",
        expr: `max by (cluster, namespace, name) (leader_election_master_status ${OURS}) == 0`,
        for: "5m",
        summary: "No process holds the lease {{ $labels.name }} in {{ $labels.namespace }}.",
        description: "Replicas are there and none of them leads, so none of them works.",
      },
      {
        name: "SallyportLeaderFlapping",
        severity: "warning",
        expr: `sum by (cluster, namespace, name) (changes(leader_election_master_status[1h]) ${OURS}) > 6`,
        for: "5m",
        summary: "The lease {{ $labels.name }} in {{ $labels.namespace }} changes hands again and again.",
        description:
          "Leadership changed {{ $value }} times within an hour: the API server is slow, or a replica starves.",
      },
      {
        name: "SallyportReconcileErrors",
        severity: "warning",
        expr: "cluster_namespace_pod_controller:controller_runtime_reconcile_errors:ratio_rate5m > 0.4",
        for: "15m",
        summary: "The controller {{ $labels.controller }} of {{ $labels.pod }} mostly fails.",
        description: "{{ $value | humanizePercentage }} of its reconciles end in an error.",
      },
      {
        name: "SallyportRightsMissing",
        severity: "warning",
        expr: 'max by (cluster, namespace, reach) ({__name__=~"sallyport_(agent|operator)_missing_rights"}) > 0',
        for: "5m",
        summary: "Sallyport in {{ $labels.namespace }} lacks rights that it needs.",
        description:
          "{{ $value }} rules are missing where `reach` says ({{ $labels.reach }}); what needs them stands still.",
      },
      {
        name: "SallyportResourceDegraded",
        severity: "warning",
        expr: `max ${BY} (sum by (cluster, namespace, pod) (sallyport_resources{health="unhealthy"})) > 0`,
        for: "15m",
        summary: "Workloads that Sallyport reports are unhealthy.",
        description: "{{ $value }} workloads of accepted deployments have been unhealthy for 15 minutes.",
      },
      {
        name: "SallyportCollectionForbidden",
        severity: "warning",
        expr: 'max by (cluster, namespace, kind) (sallyport_collection_lists{state="unreadable"}) > 0',
        for: "15m",
        summary: "The agent may not read {{ $labels.kind }} in a namespace that a deployment is accepted for.",
        description: "In {{ $value }} namespaces. The vendor sees what was known of them as old, with unknown health.",
      },
      {
        name: "SallyportResourcesStale",
        severity: "warning",
        expr: `time() - max ${BY} (sallyport_resource_report_last_success_timestamp_seconds > 0) > 180
          and on (cluster, namespace) max ${BY} (sallyport_controlplane_connected) == 1
          and on (cluster, namespace) max ${BY} (sallyport_listed_deployments{answer="accepted"}) > 0`,
        for: "5m",
        summary: "The platform is reached, and has no news of workloads.",
        description:
          "The last report of resources succeeded {{ $value | humanizeDuration }} ago; one is due each minute.",
      },
      {
        name: "SallyportResourceResends",
        severity: "warning",
        expr: `sum ${BY} (increase(sallyport_resource_resends_total[1h])) > 3`,
        for: "5m",
        summary: "The platform asks for all resources again and again.",
        description: "{{ $value | humanize }} times within an hour: what it stores is not what the agent has told.",
      },
      {
        name: "SallyportWorkQueueStuck",
        severity: "warning",
        expr: `max by (cluster, namespace, pod, name) (workqueue_longest_running_processor_seconds ${OURS}) > 300`,
        for: "10m",
        summary: "A worker of the queue {{ $labels.name }} of {{ $labels.pod }} does not come back.",
        description: "One key has been in work for {{ $value | humanizeDuration }}.",
      },
      {
        name: "SallyportWatchStale",
        severity: "warning",
        expr: `time() - max by (cluster, namespace, pod, kind) (watch_last_event_timestamp_seconds > 0 ${OURS}) > 300`,
        for: "5m",
        summary: "{{ $labels.pod }} has heard nothing of {{ $labels.kind }} for a while.",
        description:
          "The API server sends a bookmark a minute; the last word came {{ $value | humanizeDuration }} ago. The cache is old.",
      },
      {
        name: "SallyportEventLoopLag",
        severity: "warning",
        expr: `max by (cluster, namespace, pod) (nodejs_eventloop_lag_p99_seconds ${OURS}) > 0.5`,
        for: "15m",
        summary: "{{ $labels.pod }} is short of CPU, or busy with something big.",
        description: "Its event loop comes {{ $value | humanizeDuration }} late; leases are lost at a few seconds.",
      },
    ],
  },
  {
    name: "sallyport.link",
    alerts: [
      {
        name: "SallyportControlPlaneDisconnected",
        severity: "warning",
        expr: `max ${BY} (sallyport_controlplane_connected{channel="sync"}) == 0`,
        for: "10m",
        summary: "The agent in {{ $labels.namespace }} does not reach the platform.",
        description: "Nothing new arrives from the vendor. What was granted goes on.",
      },
      {
        name: "SallyportControlPlaneUnreachable",
        severity: "critical",
        expr: `max ${BY} (sallyport_controlplane_connected{channel="sync"}) == 0`,
        for: "1h",
        summary: "The agent in {{ $labels.namespace }} has not reached the platform for an hour.",
        description: "The vendor cannot help in this cluster until the connection is back.",
      },
      {
        name: "SallyportHeartbeatStale",
        severity: "warning",
        expr: `cluster_namespace:sallyport_heartbeat_age:seconds
          > 3 * max ${BY} (sallyport_heartbeat_interval_seconds)`,
        for: "5m",
        summary: "The agent in {{ $labels.namespace }} has missed three heartbeats.",
        description:
          "The last one succeeded {{ $value | humanizeDuration }} ago, or the agent began then and none has.",
      },
      {
        name: "SallyportReconnectFlapping",
        severity: "warning",
        expr: `sum ${BY} (increase(sallyport_controlplane_connections_total{result="connected"}[15m])) > 10`,
        for: "15m",
        summary: "The connection of {{ $labels.namespace }} to the platform comes and goes.",
        description: "It was found again {{ $value | humanize }} times within 15 minutes.",
      },
      {
        name: "SallyportErrorBudgetBurn",
        severity: "critical",
        expr: `cluster_namespace:sallyport_controlplane_request_errors:ratio_rate5m > 0.144
          and cluster_namespace:sallyport_controlplane_request_errors:ratio_rate1h > 0.144`,
        for: "2m",
        summary: "Requests of {{ $labels.namespace }} to the platform fail.",
        description:
          "{{ $value | humanizePercentage }} of them, over minutes and over an hour: a month's budget of 1 % is gone in two days.",
      },
      {
        name: "SallyportAuthFailing",
        severity: "critical",
        expr: `sum ${BY} (increase(sallyport_controlplane_auth_failures_total[15m])) > 3`,
        for: "0m",
        summary: "The platform refuses the runtime key of {{ $labels.namespace }}.",
        description: "{{ $value | humanize }} refusals within 15 minutes.",
      },
      {
        name: "SallyportRuntimeKeyExpiring",
        severity: "warning",
        expr: `min ${BY} (sallyport_runtime_key_expiry_timestamp_seconds > 0) - time() < 14 * 86400`,
        for: "1h",
        summary: "The runtime key of {{ $labels.namespace }} expires within two weeks.",
        description: "It has {{ $value | humanizeDuration }} left.",
      },
      {
        name: "SallyportRuntimeKeyExpiringSoon",
        severity: "critical",
        expr: `min ${BY} (sallyport_runtime_key_expiry_timestamp_seconds > 0) - time() < 3 * 86400`,
        for: "1h",
        summary: "The runtime key of {{ $labels.namespace }} expires within three days.",
        description: "It has {{ $value | humanizeDuration }} left; after that nothing reaches this cluster.",
      },
      {
        name: "SallyportClockSkew",
        severity: "warning",
        expr: "max by (cluster, namespace, pod) (abs(sallyport_controlplane_clock_skew_seconds)) > 30",
        for: "15m",
        summary: "The clocks of {{ $labels.pod }} and of the platform differ.",
        description: "By {{ $value | humanizeDuration }}: tokens and windows are judged by the wrong time.",
      },
      {
        name: "SallyportBufferNearlyFull",
        severity: "warning",
        expr: "cluster_namespace_queue:sallyport_buffer_used:ratio > 0.8",
        for: "15m",
        summary: "The agent's memory for {{ $labels.queue }} in {{ $labels.namespace }} is nearly full.",
        description: "{{ $value | humanizePercentage }} of its room is taken; what finds none is left out.",
      },
      {
        name: "SallyportBufferDropping",
        severity: "warning",
        expr: `sum by (cluster, namespace, queue) (increase(sallyport_buffer_dropped_total[15m])) > 0`,
        for: "0m",
        summary: "The agent in {{ $labels.namespace }} leaves {{ $labels.queue }} out.",
        description: "{{ $value | humanize }} items found no room within 15 minutes.",
      },
    ],
  },
  {
    name: "sallyport.access",
    alerts: [
      {
        name: "SallyportOperationsFailing",
        severity: "warning",
        expr: `cluster_namespace:sallyport_operations_errors:ratio_rate30m > 0.2
          and sum ${BY} (increase(${RUNS}[30m])) >= 5`,
        for: "5m",
        summary: "Operations in {{ $labels.namespace }} fail.",
        description: "{{ $value | humanizePercentage }} of those of the last half hour.",
      },
      {
        name: "SallyportOperationsRefused",
        severity: "warning",
        expr: `sum by (cluster, namespace, reason) (increase(sallyport_refused_total[15m])) > 10`,
        for: "5m",
        summary: "The operator in {{ $labels.namespace }} refuses many commands.",
        description: "{{ $value | humanize }} within 15 minutes because of {{ $labels.reason }}.",
      },
      {
        name: "SallyportRequestsRefused",
        severity: "warning",
        expr: `sum by (cluster, namespace, reason) (increase(sallyport_requests_refused_total[15m])) > 5`,
        for: "5m",
        summary: "The agent in {{ $labels.namespace }} shows no requests of the platform to approvers.",
        description: "{{ $value | humanize }} within 15 minutes because of {{ $labels.reason }}.",
      },
      {
        name: "SallyportGrantPendingLong",
        severity: "info",
        expr: `max ${BY} (sallyport_grants_pending_late) > 0`,
        for: "5m",
        summary: "Access requests in {{ $labels.namespace }} wait for a decision.",
        description: "{{ $value }} of them have used more than half of their time.",
      },
      {
        name: "SallyportAdmissionPolicyMissing",
        severity: "critical",
        expr: `max by (cluster, namespace, policy) (sallyport_policies_required)
          > max by (cluster, namespace, policy) (sallyport_policies_present)`,
        for: "5m",
        summary: "The admission policy {{ $labels.policy }} is not in force.",
        description:
          "This installation's admission.mode needs it: names on decisions are not vouched for, or a rule for people and the operator does not hold.",
      },
      {
        name: "SallyportAccessSweepFailing",
        severity: "warning",
        expr: `sum ${BY} (increase(sallyport_access_sweeps_total{result="failed"}[15m])) > 0
          unless sum ${BY} (increase(sallyport_access_sweeps_total{result="ok"}[15m])) > 0`,
        for: "5m",
        summary: "The search for left-over access in {{ $labels.namespace }} fails.",
        description: "Access that something else forgot to take back would stay.",
      },
    ],
  },
  DEBUG_RULES,
  MACHINE_RULES,
  RELEASE_RULES,
];
