import type { AlertCase, Series } from "./alert-case.ts";
import { DEBUG_ALERT_CASES } from "./debug-alert-cases.ts";
import { MACHINE_ALERT_CASES } from "./machine-alert-cases.ts";
import { RELEASE_ALERT_CASES } from "./release-alert-cases.ts";

const DAY_S = 86_400;
/** One pod of an installation, with one more label or none. */
const of = (metric: string, labels = "", pod = "pod-0"): string =>
  `${metric}{cluster="east",namespace="sallyport-system",pod="${pod}"${labels && `,${labels}`}}`;

const agent = [of("sallyport_agent_build_info", 'version="1"'), "1x200"] as const;
const operator = [of("sallyport_operator_build_info", 'version="1"'), "1x200"] as const;
/** A pod of another vendor's operator in the same cluster, whose metrics have the same names. */
const strange = (metric: string, labels: string): string =>
  `${metric}{cluster="east",namespace="elsewhere",pod="other-0",${labels}}`;

const leader = (values: string, pod?: string): readonly [string, string] => [
  of("leader_election_master_status", 'name="sallyport-agent"', pod),
  values,
];
const reconciles = (name: string): string => of(`controller_runtime_${name}`, 'controller="grants"');
const requests = (codeClass: string): string =>
  of("sallyport_controlplane_requests_total", `route="sync.list",code_class="${codeClass}",code="other"`);
const operations = (result: string): string =>
  of("sallyport_operations_total", `plugin="kubernetes",operation="scale",result="${result}"`);
const policy = (name: string, present: string, required: string): Series => [
  [of("sallyport_policies_present", `policy="${name}"`), present],
  [of("sallyport_policies_required", `policy="${name}"`), required],
];
const http = (codeClass: string): string =>
  of("sallyport_http_requests_total", `method="GET",route="/v1/whoami",code_class="${codeClass}"`);
const httpSeconds = (route: string, le: string): string =>
  of("sallyport_http_request_duration_seconds_bucket", `method="GET",route="${route}",le="${le}"`);

/** Each alert, with series that fire it and series that must not. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  SallyportAgentDown: {
    at: "30m",
    fires: [[of("sallyport_agent_build_info"), "1x5 _x60"]],
    quiet: [
      [of("sallyport_agent_build_info"), "1x5 _x60"],
      [of("sallyport_agent_build_info", "", "pod-1"), "_x5 1x60"],
    ],
  },
  SallyportOperatorDown: {
    at: "30m",
    fires: [[of("sallyport_operator_build_info"), "1x5 _x60"]],
    quiet: [[of("sallyport_operator_build_info"), "1x60"]],
  },
  SallyportNoLeader: {
    at: "20m",
    fires: [agent, leader("1x5 0x60")],
    quiet: [
      agent,
      [of("sallyport_agent_build_info", "", "pod-1"), "1x60"],
      leader("1x5 0x60"),
      leader("0x5 1x60", "pod-1"),
    ],
    labels: ["name"],
  },
  SallyportLeaderFlapping: {
    at: "40m",
    fires: [agent, leader("0 1 0 1 0 1 0 1 0 1 0 1x60")],
    quiet: [
      agent,
      leader("0 1x10 0x10 1x60"),
      [strange("leader_election_master_status", 'name="theirs"'), "0 1 0 1 0 1 0 1 0 1 0 1x60"],
    ],
    labels: ["name"],
  },
  SallyportReconcileErrors: {
    at: "30m",
    fires: [operator, [reconciles("reconcile_errors_total"), "0+6x60"], [reconciles("reconcile_total"), "0+10x60"]],
    quiet: [
      operator,
      [reconciles("reconcile_errors_total"), "0+3x60"],
      [reconciles("reconcile_total"), "0+10x60"],
      [strange("controller_runtime_reconcile_errors_total", 'controller="x"'), "0+9x60"],
      [strange("controller_runtime_reconcile_total", 'controller="x"'), "0+9x60"],
    ],
    labels: ["pod", "controller"],
  },
  SallyportRightsMissing: {
    at: "10m",
    fires: [[of("sallyport_operator_missing_rights", 'reach="opened"'), "0 2x60"]],
    quiet: [
      [of("sallyport_operator_missing_rights", 'reach="opened"'), "0x60"],
      [of("sallyport_agent_missing_rights", 'reach="grants"'), "0x7 1x60"],
    ],
    labels: ["reach"],
  },
  SallyportResourceDegraded: {
    at: "30m",
    fires: [[of("sallyport_resources", 'kind="Deployment",health="unhealthy"'), "0x5 2x60"]],
    quiet: [
      [of("sallyport_resources", 'kind="Deployment",health="degraded"'), "3x60"],
      [of("sallyport_resources", 'kind="DaemonSet",health="unhealthy"'), "1x10 0x60"],
    ],
  },
  SallyportCollectionForbidden: {
    at: "30m",
    fires: [[of("sallyport_collection_lists", 'kind="DaemonSet",state="unreadable"'), "1x60"]],
    quiet: [
      [of("sallyport_collection_lists", 'kind="DaemonSet",state="unreadable"'), "0x60"],
      [of("sallyport_collection_lists", 'kind="DaemonSet",state="starting"'), "1x60"],
    ],
    labels: ["kind"],
  },
  SallyportResourcesStale: {
    at: "30m",
    fires: [
      [of("sallyport_resource_report_last_success_timestamp_seconds"), "600x60"],
      [of("sallyport_controlplane_connected"), "1x60"],
      [of("sallyport_listed_deployments", 'answer="accepted"'), "1x60"],
    ],
    quiet: [
      [of("sallyport_resource_report_last_success_timestamp_seconds"), "600x60"],
      [of("sallyport_controlplane_connected"), "1x60"],
      // No deployment is accepted (any more): nothing is reported.
      [of("sallyport_listed_deployments", 'answer="accepted"'), "0x60"],
      [of("sallyport_resource_report_last_success_timestamp_seconds", "", "pod-1"), "0x60"],
    ],
  },
  SallyportResourceResends: {
    at: "50m",
    fires: [[of("sallyport_resource_resends_total"), "0+1x60"]],
    quiet: [[of("sallyport_resource_resends_total"), "0x20 2x60"]],
  },
  SallyportWorkQueueStuck: {
    at: "30m",
    fires: [operator, [of("workqueue_longest_running_processor_seconds", 'name="grants"'), "0+60x60"]],
    quiet: [
      operator,
      [of("workqueue_longest_running_processor_seconds", 'name="grants"'), "200x60"],
      [strange("workqueue_longest_running_processor_seconds", 'name="x"'), "9000x60"],
    ],
    labels: ["pod", "name"],
  },
  SallyportWatchStale: {
    at: "20m",
    fires: [agent, [of("watch_last_event_timestamp_seconds", 'kind="accessgrants"'), "60x60"]],
    quiet: [
      agent,
      [of("watch_last_event_timestamp_seconds", 'kind="accessgrants"'), "0+60x60"],
      // Not watched yet.
      [of("watch_last_event_timestamp_seconds", 'kind="pods"'), "0x60"],
    ],
    labels: ["pod", "kind"],
  },
  SallyportEventLoopLag: {
    at: "30m",
    fires: [operator, [of("nodejs_eventloop_lag_p99_seconds"), "0.8x60"]],
    quiet: [
      operator,
      [of("nodejs_eventloop_lag_p99_seconds"), "0.02x60"],
      [strange("nodejs_eventloop_lag_p99_seconds", 'a="b"'), "9x60"],
    ],
    labels: ["pod"],
  },
  SallyportControlPlaneDisconnected: {
    at: "15m",
    fires: [[of("sallyport_controlplane_connected", 'channel="sync"'), "1x2 0x60"]],
    // The replica that does not lead is never connected.
    quiet: [
      [of("sallyport_controlplane_connected", 'channel="sync"'), "1x60"],
      [of("sallyport_controlplane_connected", 'channel="sync"', "pod-1"), "0x60"],
    ],
  },
  SallyportControlPlaneUnreachable: {
    at: "70m",
    fires: [[of("sallyport_controlplane_connected", 'channel="sync"'), "0x100"]],
    quiet: [[of("sallyport_controlplane_connected", 'channel="sync"'), "0x50 1x50"]],
  },
  SallyportHeartbeatStale: {
    at: "15m",
    // The process has started, and no call has succeeded.
    fires: [
      agent,
      [of("process_start_time_seconds"), "60x60"],
      [of("sallyport_heartbeat_last_success_timestamp_seconds"), "0x60"],
      [of("sallyport_heartbeat_interval_seconds"), "60x60"],
    ],
    quiet: [
      [of("sallyport_heartbeat_last_success_timestamp_seconds"), "0+60x60"],
      [of("sallyport_heartbeat_last_success_timestamp_seconds", "", "pod-1"), "0x60"],
      agent,
      [of("process_start_time_seconds"), "1x60"],
      [of("sallyport_heartbeat_interval_seconds"), "60x60"],
    ],
  },
  SallyportReconnectFlapping: {
    at: "40m",
    fires: [[of("sallyport_controlplane_connections_total", 'channel="work",result="connected"'), "0+1x60"]],
    quiet: [[of("sallyport_controlplane_connections_total", 'channel="work",result="connected"'), "0+0.5x60"]],
  },
  SallyportErrorBudgetBurn: {
    at: "70m",
    fires: [
      [requests("2xx"), "0+8x100"],
      [requests("none"), "0+2x100"],
    ],
    // Failures for some minutes only, and refusals, which are the platform's answer and no failure.
    quiet: [
      [requests("2xx"), "0+10x100"],
      [requests("5xx"), "0x62 0+10x30"],
      [requests("4xx"), "0+10x100"],
    ],
  },
  SallyportAuthFailing: {
    at: "10m",
    fires: [[of("sallyport_controlplane_auth_failures_total", 'reason="revoked"'), "0 0 1 2 3 4 5 5x60"]],
    quiet: [[of("sallyport_controlplane_auth_failures_total", 'reason="revoked"'), "0 0 1 2 2x60"]],
  },
  SallyportRuntimeKeyExpiring: {
    at: "70m",
    fires: [[of("sallyport_runtime_key_expiry_timestamp_seconds"), `${10 * DAY_S}x100`]],
    quiet: [[of("sallyport_runtime_key_expiry_timestamp_seconds"), `${20 * DAY_S}x100`]],
  },
  SallyportRuntimeKeyExpiringSoon: {
    at: "70m",
    fires: [[of("sallyport_runtime_key_expiry_timestamp_seconds"), `${2 * DAY_S}x100`]],
    // 0: it does not expire.
    quiet: [[of("sallyport_runtime_key_expiry_timestamp_seconds"), "0x100"]],
  },
  SallyportClockSkew: {
    at: "20m",
    fires: [[of("sallyport_controlplane_clock_skew_seconds"), "-90x60"]],
    quiet: [[of("sallyport_controlplane_clock_skew_seconds"), "-20x60"]],
    labels: ["pod"],
  },
  SallyportBufferNearlyFull: {
    at: "20m",
    fires: [
      [of("sallyport_buffer_items", 'queue="commands"'), "1900x60"],
      [of("sallyport_buffer_capacity_items", 'queue="commands"'), "2000x60"],
    ],
    quiet: [
      [of("sallyport_buffer_items", 'queue="commands"'), "1000x60"],
      [of("sallyport_buffer_capacity_items", 'queue="commands"'), "2000x60"],
    ],
    labels: ["queue"],
  },
  SallyportBufferDropping: {
    at: "10m",
    fires: [[of("sallyport_buffer_dropped_total", 'queue="requests",reason="full"'), "0x5 1x60"]],
    quiet: [[of("sallyport_buffer_dropped_total", 'queue="requests",reason="full"'), "7x60"]],
    labels: ["queue"],
  },
  SallyportOperationsFailing: {
    at: "25m",
    fires: [
      [operations("success"), "0+1x60"],
      [operations("failed"), "0+1x60"],
    ],
    // Half of the operations failed, but only four ran in half an hour; and many that the gate refused.
    quiet: [
      [operations("success"), "0 0 0 1 2 2x60"],
      [operations("failed"), "0 0 0 1 2 2x60"],
      [operations("held"), "0+9x60"],
    ],
  },
  SallyportOperationsRefused: {
    at: "30m",
    fires: [[of("sallyport_refused_total", 'reason="NoGrant"'), "0+2x60"]],
    quiet: [[of("sallyport_refused_total", 'reason="NoGrant"'), "0+0.2x60"]],
    labels: ["reason"],
  },
  SallyportRequestsRefused: {
    at: "30m",
    fires: [[of("sallyport_requests_refused_total", 'reason="plan_mismatch"'), "0+1x60"]],
    quiet: [[of("sallyport_requests_refused_total", 'reason="plan_mismatch"'), "0 0 1 2 2x60"]],
    labels: ["reason"],
  },
  SallyportGrantPendingLong: {
    at: "10m",
    fires: [[of("sallyport_grants_pending_late"), "2x60"]],
    quiet: [[of("sallyport_grants_pending_late"), "0x7 1x60"]],
  },
  SallyportAdmissionPolicyMissing: {
    at: "10m",
    // All of them at once, in stamping mode: the alert has one series a policy, so the case counts three.
    fires: ["sallyport-stamp-decider", "sallyport-stamp-revoker", "sallyport-named-decisions"].flatMap((name) =>
      policy(name, "1 0x60", "1x60"),
    ),
    count: 3,
    // The other replica has not checked yet; with validating-only the stampers are not required; with rbac.selfCheck
    // off no operator checks.
    quiet: [
      ...policy("sallyport-grant-decisions", "1x60", "1x60"),
      [of("sallyport_policies_present", 'policy="sallyport-grant-decisions"', "pod-1"), "0x60"],
      ...policy("sallyport-stamp-decider", "0x60", "0x60"),
      ...policy("sallyport-named-decisions", "0x60", "0x60"),
      ...policy("sallyport-plan-hygiene", "0 stale", "1 stale"),
    ],
    labels: ["policy"],
  },
  SallyportAccessSweepFailing: {
    at: "30m",
    fires: [
      [of("sallyport_access_sweeps_total", 'result="failed"'), "0+1x60"],
      [of("sallyport_access_sweeps_total", 'result="ok"'), "5x60"],
    ],
    quiet: [
      [of("sallyport_access_sweeps_total", 'result="failed"'), "0+1x60"],
      [of("sallyport_access_sweeps_total", 'result="ok"'), "0+1x60"],
    ],
  },
  SallyportPlatformDown: {
    at: "20m",
    fires: [[of("sallyport_platform_build_info"), "1x5 _x60"]],
    quiet: [[of("sallyport_platform_build_info"), "1x60"]],
  },
  SallyportPlatformErrors: {
    at: "20m",
    fires: [
      [http("2xx"), "0+9x60"],
      [http("5xx"), "0+1x60"],
    ],
    quiet: [
      [http("2xx"), "0+99x60"],
      [http("4xx"), "0+50x60"],
      [http("5xx"), "0+1x60"],
    ],
  },
  SallyportPlatformSlow: {
    at: "30m",
    fires: [
      [httpSeconds("/v1/whoami", "1"), "0+9x60"],
      [httpSeconds("/v1/whoami", "5"), "0+10x60"],
      [httpSeconds("/v1/whoami", "+Inf"), "0+10x60"],
    ],
    quiet: [
      [httpSeconds("/v1/whoami", "1"), "0+10x60"],
      [httpSeconds("/v1/whoami", "5"), "0+10x60"],
      [httpSeconds("/v1/whoami", "+Inf"), "0+10x60"],
      // Held on purpose.
      [httpSeconds("/v1/managers/{id}/work", "1"), "0x60"],
      [httpSeconds("/v1/managers/{id}/work", "+Inf"), "0+90x60"],
    ],
  },
  SallyportPlatformDatabaseBusy: {
    at: "15m",
    fires: [
      [of("sallyport_database_connections_waiting"), "3x60"],
      [of("sallyport_database_connections_busy"), "10x60"],
      [of("sallyport_database_connections_max"), "10x60"],
    ],
    quiet: [
      [of("sallyport_database_connections_waiting"), "0x60"],
      [of("sallyport_database_connections_busy"), "10x60"],
      [of("sallyport_database_connections_max"), "10x60"],
      // These wait for a connection that is being opened.
      [of("sallyport_database_connections_waiting", "", "pod-1"), "1x60"],
      [of("sallyport_database_connections_busy", "", "pod-1"), "3x60"],
      [of("sallyport_database_connections_max", "", "pod-1"), "10x60"],
    ],
    labels: ["pod"],
  },
  SallyportPlatformSweepFailing: {
    at: "30m",
    fires: [
      [of("sallyport_sweeps_total", 'sweep="commands",result="failed"'), "0+1x60"],
      [of("sallyport_sweeps_total", 'sweep="commands",result="ok"'), "9x60"],
      [of("sallyport_sweeps_total", 'sweep="sync",result="ok"'), "0+1x60"],
    ],
    quiet: [
      [of("sallyport_sweeps_total", 'sweep="commands",result="failed"'), "0x20 1x60"],
      [of("sallyport_sweeps_total", 'sweep="commands",result="ok"'), "0+1x60"],
    ],
    labels: ["sweep"],
  },
  ...DEBUG_ALERT_CASES,
  ...MACHINE_ALERT_CASES,
  ...RELEASE_ALERT_CASES,
};
