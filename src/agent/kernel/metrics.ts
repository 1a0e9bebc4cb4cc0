import { Gauge, Histogram, type Registry } from "prom-client";
import { RELOAD_RESULTS, type ReloadResult } from "../../api-client/runtime-key.ts";
import { closedCounter, closedGauge } from "../../base/closed-series.ts";
import { REPORT_OUTCOMES } from "../../contract/access-requests/access-relay.ts";
import { TERMINAL_COMMAND_STATES, type TerminalCommandState } from "../../contract/operations/commands.ts";
import { GRANT_STATES, type GrantState } from "../../crds/kinds/access-grant.ts";
import { type LinkMetrics, linkMetrics } from "../platform-link/link-metrics.ts";
import { type ResourceMetrics, resourceMetrics } from "./resource-metrics.ts";

// Every label is one of these lists, or of the contract's. Never a name, id, URL or error text: each value is a series.
const REFUSALS = ["unfit", "plan_mismatch", "unreadable", "too_many_open"] as const;
const REPORT_KINDS = ["reportMaterialized", "reportApproval", "reportDecision", "reportReceipt"] as const;
const SESSION_REPORTS = ["failed", "stopping", "stopped", "head"] as const;
const SESSION_OUTCOMES = ["recorded", "ignored"] as const;
export const BUFFERS = ["requests", "commands", "deployments", "deletions", "sessions", "deletedSessions"] as const;
export const DEPLOYMENT_ANSWERS = ["accepted", "waiting", "unshown"] as const;
const DISPATCHES = ["won", "lost"] as const;
const RESULTS = ["ok", "failed"] as const;
/** Ends of a command that an operator of alerts tells apart; all others are `other`. */
const END_CODES = ["none", "COMMAND_HELD", "OUTCOME_UNKNOWN", "HANDLER_ERROR", "HANDLER_TIMEOUT", "other"] as const;

/** Most items of each: far above what a platform of good will has, and small beside this process. */
export const BUFFER_CAPACITY = {
  requests: 2_000,
  commands: 2_000,
  deployments: 500,
  deletions: 1_000,
  sessions: 200,
  deletedSessions: 200,
} as const satisfies Readonly<Record<(typeof BUFFERS)[number], number>>;
export type Buffer = (typeof BUFFERS)[number];

/** What the rest of the agent may do to metrics: verbs with typed arguments, no label objects. */
export interface AgentMetrics extends LinkMetrics, ResourceMetrics {
  keyReloaded(result: ReloadResult): void;
  heartbeat(result: (typeof RESULTS)[number], seconds: number, at: Date): void;
  buffered(buffer: Buffer, items: number): void;
  dropped(buffer: Buffer): void;
  requestRefused(reason: (typeof REFUSALS)[number]): void;
  reported(kind: (typeof REPORT_KINDS)[number], outcome: (typeof REPORT_OUTCOMES)[number]): void;
  commandDispatched(result: (typeof DISPATCHES)[number]): void;
  commandEnded(state: TerminalCommandState, code: string | undefined): void;
  sessionReported(kind: (typeof SESSION_REPORTS)[number], outcome: (typeof SESSION_OUTCOMES)[number]): void;
  leasesHeld(count: number): void;
}

/**
 * Declares the agent's metrics on `registry`, every series at 0.
 *
 * @param grantStates of all grants in the cache, asked at each scrape.
 */
export function agentMetrics(
  registry: Registry,
  grantStates: () => Iterable<GrantState>,
  settings: { readonly heartbeatIntervalMs: number },
): AgentMetrics {
  closedGauge(registry, "sallyport_heartbeat_interval_seconds", "Pause between heartbeats, as configured.", {}).set(
    settings.heartbeatIntervalMs / 1_000,
  );
  countGrants(registry, grantStates);
  return {
    ...linkMetrics(registry),
    ...selfMetrics(registry),
    ...workMetrics(registry),
    ...resourceMetrics(registry),
  };
}

function countGrants(registry: Registry, grantStates: () => Iterable<GrantState>): void {
  new Gauge({
    name: "sallyport_grants",
    help: "Access grants in the cluster by state: who is waiting, what is open?",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      for (const state of GRANT_STATES) this.set({ state }, 0);
      for (const state of grantStates()) this.inc({ state });
    },
  });
}

/** Declares how many deployments the platform lists, by what the customer says of them; asked at each scrape. */
export function deploymentsGauge(
  registry: Registry,
  states: () => Iterable<(typeof DEPLOYMENT_ANSWERS)[number]>,
): void {
  new Gauge({
    name: "sallyport_listed_deployments",
    help: "Deployments that the platform lists by what the customer says of them; unshown ones found no room to wait in.",
    labelNames: ["answer"],
    registers: [registry],
    collect() {
      for (const answer of DEPLOYMENT_ANSWERS) this.set({ answer }, 0);
      for (const answer of states()) this.inc({ answer });
    },
  });
}

type SelfMetrics = Pick<AgentMetrics, "keyReloaded" | "heartbeat" | "buffered" | "dropped">;

function selfMetrics(registry: Registry): SelfMetrics {
  const reloads = closedCounter(
    registry,
    "sallyport_runtime_key_reloads_total",
    "Reads of a changed runtime key file by result.",
    { result: RELOAD_RESULTS },
  );
  const beats = closedCounter(registry, "sallyport_heartbeats_total", "Heartbeats sent by result.", {
    result: RESULTS,
  });
  const lastBeat = closedGauge(
    registry,
    "sallyport_heartbeat_last_success_timestamp_seconds",
    "When a heartbeat last succeeded; 0 before the first.",
    {},
  );
  const beatSeconds = new Histogram({
    name: "sallyport_heartbeat_duration_seconds",
    help: "How long a heartbeat took.",
    buckets: [0.025, 0.1, 0.25, 1, 5, 15, 35],
    registers: [registry],
  });
  const items = closedGauge(registry, "sallyport_buffer_items", "Items in each bounded memory: what waits?", {
    queue: BUFFERS,
  });
  const capacity = closedGauge(registry, "sallyport_buffer_capacity_items", "Most items that each memory takes.", {
    queue: BUFFERS,
  });
  for (const queue of BUFFERS) capacity.set({ queue }, BUFFER_CAPACITY[queue]);
  const dropped = closedCounter(
    registry,
    "sallyport_buffer_dropped_total",
    "Items that found no capacity: a platform or a customer beyond all bounds.",
    {
      queue: BUFFERS,
      reason: ["full"],
    },
  );
  return {
    keyReloaded: (result) => reloads.inc({ result }),
    heartbeat(result, seconds, at) {
      beats.inc({ result });
      beatSeconds.observe(seconds);
      if (result === "ok") lastBeat.set(at.getTime() / 1_000);
    },
    buffered: (queue, count) => items.set({ queue }, count),
    dropped: (queue) => dropped.inc({ queue, reason: "full" }),
  };
}

type WorkMetrics = Omit<AgentMetrics, keyof LinkMetrics | keyof SelfMetrics | keyof ResourceMetrics>;

function workMetrics(registry: Registry): WorkMetrics {
  const refused = closedCounter(
    registry,
    "sallyport_requests_refused_total",
    "Access requests that this cluster does not show.",
    { reason: REFUSALS },
  );
  const reports = closedCounter(
    registry,
    "sallyport_grant_reports_total",
    "Reports on grants that the platform answered.",
    {
      kind: REPORT_KINDS,
      outcome: REPORT_OUTCOMES,
    },
  );
  const dispatches = closedCounter(
    registry,
    "sallyport_command_dispatches_total",
    "Claims of commands: won, or lost to an earlier claim.",
    { result: DISPATCHES },
  );
  const ends = closedCounter(
    registry,
    "sallyport_commands_ended_total",
    "Commands reported as ended, by state and error.",
    {
      state: TERMINAL_COMMAND_STATES,
      code: END_CODES,
    },
  );
  const sessions = closedCounter(
    registry,
    "sallyport_debug_session_reports_total",
    "Reports on debug sessions that the platform answered: refused here, ending, ended, and the head of the audit.",
    { kind: SESSION_REPORTS, outcome: SESSION_OUTCOMES },
  );
  const leases = closedGauge(
    registry,
    "sallyport_deployment_leases",
    "Deployments of the platform that this agent holds.",
    {},
  );
  return {
    requestRefused: (reason) => refused.inc({ reason }),
    reported: (kind, outcome) => reports.inc({ kind, outcome }),
    commandDispatched: (result) => dispatches.inc({ result }),
    commandEnded: (state, code = "none") =>
      ends.inc({ state, code: END_CODES.find((each) => each === code) ?? "other" }),
    sessionReported: (kind, outcome) => sessions.inc({ kind, outcome }),
    leasesHeld: (count) => leases.set(count),
  };
}
