import { Histogram, type Registry } from "prom-client";
import { TRANSPORT_ERRORS } from "../../api-client/api-error.ts";
import type { Attempt } from "../../api-client/client.ts";
import { closedCounter, closedGauge } from "../../base/closed-series.ts";
import { ERRORS } from "../../contract/wire/errors.ts";

/** `sync`: ordinary calls; `work`: the long-poll. */
const CHANNELS = ["sync", "work"] as const;
export type Channel = (typeof CHANNELS)[number];
const CONNECTION_RESULTS = ["connected", "failed", "closed"] as const;
const AUTH_FAILURES = ["expired", "revoked", "invalid"] as const;
/** The routes that the agent calls, as `area.route` of the contract. */
const LINK_ROUTES = [
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
  "accessRelay.receipts",
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
  /** When the key in use ends; undefined: never. */
  keyExpires(at: Date | undefined): void;
}

export function linkMetrics(registry: Registry): LinkMetrics {
  const { connected, connectedAt, connections, requests, seconds, bytes, backoff, authFailures, skew } =
    declare(registry);
  const expiry = closedGauge(
    registry,
    "sallyport_runtime_key_expiry_timestamp_seconds",
    "When the runtime key in use expires, as the platform says; 0 while it says nothing: the key does not expire.",
    {},
  );
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
    keyExpires: (at) => expiry.set((at?.getTime() ?? 0) / 1_000),
  };
}

function declare(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labels: Readonly<Record<L, readonly string[]>>) =>
    closedCounter(registry, `sallyport_controlplane_${name}`, help, labels);
  const gauge = <L extends string>(name: string, help: string, labels: Readonly<Record<L, readonly string[]>>) =>
    closedGauge(registry, `sallyport_controlplane_${name}`, help, labels);
  const channel = CHANNELS;
  const route = LINK_ROUTES;
  const seconds = new Histogram({
    name: "sallyport_controlplane_request_duration_seconds",
    help: "How long requests to the platform took; long-polls with their wait.",
    labelNames: ["route"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 40],
    registers: [registry],
  });
  for (const each of route) seconds.zero({ route: each });
  const about = "Requests to the platform by route, status class and the API's error code (empty when it went well).";
  const requests = counter("requests_total", about, { route, code_class: CODE_CLASSES, code: ["other"] });
  for (const each of route) requests.inc({ route: each, code_class: "2xx", code: "" }, 0);
  return {
    seconds,
    requests,
    connected: gauge("connected", "1 while the platform answers on this channel.", { channel }),
    connectedAt: gauge("connection_start_timestamp_seconds", "Since when it answers; 0 before the first time.", {
      channel,
    }),
    connections: counter("connections_total", "Connections found and lost: does it flap?", {
      channel,
      result: CONNECTION_RESULTS,
    }),
    bytes: counter("request_bytes_total", "Bytes of bodies: what does the egress cost?", {
      route,
      direction: ["sent", "received"],
    }),
    backoff: gauge("backoff_seconds", "How long the agent waits before it tries again; 0 while connected.", {
      channel,
    }),
    authFailures: counter("auth_failures_total", "Runtime keys that the platform refused.", { reason: AUTH_FAILURES }),
    skew: gauge("clock_skew_seconds", "The platform's clock minus ours, from the Date header of its last answer.", {}),
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
