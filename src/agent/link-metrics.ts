import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { TRANSPORT_ERRORS } from "../api-client/api-error.ts";
import type { Attempt } from "../api-client/client.ts";
import { ERRORS } from "../contract/errors.ts";

/** `sync`: ordinary calls; `work`: the long-poll. */
export const CHANNELS = ["sync", "work"] as const;
export type Channel = (typeof CHANNELS)[number];
export const CONNECTION_RESULTS = ["connected", "failed", "closed"] as const;
export const AUTH_FAILURES = ["expired", "revoked", "invalid"] as const;
/** The routes that the agent calls, as `area.route` of the contract. */
export const LINK_ROUTES = [
  "whoami.get",
  "managerRuntime.heartbeat",
  "managerRuntime.work",
  "sync.list",
  "sync.acquire",
  "sync.renew",
  "sync.reconcile",
  "sync.release",
  "accessRelay.pending",
  "accessRelay.materialized",
  "accessRelay.approvals",
  "accessRelay.decisions",
  "commands.list",
  "commands.get",
  "commands.dispatch",
  "commands.complete",
  "other",
] as const;
const CODE_CLASSES = ["2xx", "4xx", "5xx", "none"] as const;

/** Verbs on the metrics of the connection to the platform. */
export interface LinkMetrics {
  attempted(attempt: Attempt): void;
  connection(channel: Channel, result: (typeof CONNECTION_RESULTS)[number], at: Date): void;
  backingOff(channel: Channel, seconds: number): void;
  /** The platform's clock minus ours. */
  clockSkew(seconds: number): void;
}

export function linkMetrics(registry: Registry): LinkMetrics {
  const registers = [registry];
  const connected = new Gauge({
    name: "sallyport_controlplane_connected",
    help: "1 while the platform answers on this channel.",
    labelNames: ["channel"],
    registers,
  });
  const connectedAt = new Gauge({
    name: "sallyport_controlplane_connection_start_timestamp_seconds",
    help: "Since when it answers; 0 before the first time.",
    labelNames: ["channel"],
    registers,
  });
  const connections = new Counter({
    name: "sallyport_controlplane_connections_total",
    help: "Connections found and lost: does it flap?",
    labelNames: ["channel", "result"],
    registers,
  });
  const requests = new Counter({
    name: "sallyport_controlplane_requests_total",
    help: "Requests to the platform by route, status class and the API's error code (empty when it went well).",
    labelNames: ["route", "code_class", "code"],
    registers,
  });
  const seconds = new Histogram({
    name: "sallyport_controlplane_request_duration_seconds",
    help: "How long requests to the platform took; long-polls with their wait.",
    labelNames: ["route"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 40],
    registers,
  });
  const bytes = new Counter({
    name: "sallyport_controlplane_request_bytes_total",
    help: "Bytes of bodies exchanged with the platform: what does the egress cost?",
    labelNames: ["route", "direction"],
    registers,
  });
  const backoff = new Gauge({
    name: "sallyport_controlplane_backoff_seconds",
    help: "How long the agent waits before it tries again; 0 while connected.",
    labelNames: ["channel"],
    registers,
  });
  const authFailures = new Counter({
    name: "sallyport_controlplane_auth_failures_total",
    help: "Runtime keys that the platform refused.",
    labelNames: ["reason"],
    registers,
  });
  const skew = new Gauge({
    name: "sallyport_controlplane_clock_skew_seconds",
    help: "The platform's clock minus ours, from the last heartbeat.",
    registers,
  });

  for (const channel of CHANNELS) {
    connected.set({ channel }, 0);
    connectedAt.set({ channel }, 0);
    backoff.set({ channel }, 0);
    for (const result of CONNECTION_RESULTS) connections.inc({ channel, result }, 0);
  }
  for (const reason of AUTH_FAILURES) authFailures.inc({ reason }, 0);
  for (const route of LINK_ROUTES) {
    requests.inc({ route, code_class: "2xx", code: "" }, 0);
    for (const code_class of CODE_CLASSES.slice(1)) requests.inc({ route, code_class, code: "other" }, 0);
    seconds.zero({ route });
    for (const direction of ["sent", "received"]) bytes.inc({ route, direction }, 0);
  }

  return {
    attempted({ area, route: name, status, code, durationMs, sentBytes, receivedBytes }) {
      const route = LINK_ROUTES.find((each) => each === `${area}.${name}`) ?? "other";
      requests.inc({ route, code_class: classOf(status), code: knownCode(code) });
      seconds.observe({ route }, durationMs / 1_000);
      bytes.inc({ route, direction: "sent" }, sentBytes);
      bytes.inc({ route, direction: "received" }, receivedBytes);
      if (status === 401) authFailures.inc({ reason: refusalOf(code) });
    },
    connection(channel, result, at) {
      connections.inc({ channel, result });
      connected.set({ channel }, result === "connected" ? 1 : 0);
      if (result === "connected") connectedAt.set({ channel }, at.getTime() / 1_000);
    },
    backingOff: (channel, value) => backoff.set({ channel }, value),
    clockSkew: (value) => skew.set(value),
  };
}

function classOf(status: number): (typeof CODE_CLASSES)[number] {
  if (status === 0) return "none";
  return status < 400 ? "2xx" : status < 500 ? "4xx" : "5xx";
}

/** A platform that invents codes must not make series. */
function knownCode(code: string | undefined): string {
  if (code === undefined) return "";
  return Object.hasOwn(ERRORS, code) || Object.hasOwn(TRANSPORT_ERRORS, code) ? code : "other";
}

function refusalOf(code: string | undefined): (typeof AUTH_FAILURES)[number] {
  if (code === "API_KEY_EXPIRED" || code === "TOKEN_EXPIRED") return "expired";
  return code === "API_KEY_REVOKED" || code === "API_KEY_DISABLED" ? "revoked" : "invalid";
}
