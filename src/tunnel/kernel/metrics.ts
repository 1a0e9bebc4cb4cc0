import { Histogram, type Registry } from "prom-client";
import { RELOAD_RESULTS, type ReloadResult } from "../../api-client/runtime-key.ts";
import { closedCounter, closedGauge } from "../../base/closed-series.ts";
import {
  CLOSE_REASONS,
  type CloseReason,
  DEBUG_MODES,
  type DebugMode,
} from "../../contract/debug-sessions/debug-sessions.ts";

/** Why a request of the engineer did not go up. */
const DENIALS = [
  "path",
  "method",
  "resource",
  "namespace",
  "name",
  "port",
  "header",
  "impersonation",
  "body",
  "recording",
  "too-many",
  "too-long",
  "rate",
] as const;
export type Denial = (typeof DENIALS)[number];

const STREAM_KINDS = ["request", "watch", "log", "exec", "port-forward"] as const;
export type StreamKind = (typeof STREAM_KINDS)[number];

const DIRECTIONS = ["in", "out"] as const;
/** `share-full`: the session had used up its own part of the spool, which stops no other. */
const AUDIT_RESULTS = ["durable", "failed", "share-full"] as const;
const UPLOAD_RESULTS = ["ok", "failed", "given-up"] as const;

/** What the rest of the tunnel may do to metrics: verbs with typed arguments, no label objects. */
export interface TunnelMetrics {
  keyReloaded(result: ReloadResult): void;
  opened(mode: DebugMode): void;
  closed(reason: CloseReason, seconds: number): void;
  /** `in`: from the engineer towards the API server. */
  bytes(direction: (typeof DIRECTIONS)[number], count: number): void;
  streamOpened(kind: StreamKind): void;
  streamClosed(kind: StreamKind): void;
  denied(reason: Denial): void;
  audited(result: (typeof AUDIT_RESULTS)[number], records: number): void;
  fsynced(seconds: number): void;
  spooled(bytes: number): void;
  /** Files in the spool that are not as the tunnel left them. */
  setAside(files: number): void;
  /** Whether the spool has no room for one more session. */
  full(isFull: boolean): void;
  uploaded(result: (typeof UPLOAD_RESULTS)[number]): void;
  /** An epoch after the first one of a session. */
  reattached(): void;
  /** Sessions that this process serves. */
  connected(sessions: number): void;
}

/** Declares the tunnel's metrics on `registry`, every series at 0. */
export function tunnelMetrics(registry: Registry): TunnelMetrics {
  return { ...sessionMetrics(registry), ...auditMetrics(registry) };
}

type AuditMetrics = Pick<TunnelMetrics, "audited" | "fsynced" | "spooled" | "setAside" | "full" | "uploaded">;

function sessionMetrics(registry: Registry): Omit<TunnelMetrics, keyof AuditMetrics> {
  const counter = <L extends string>(name: string, help: string, labels: Readonly<Record<L, readonly string[]>>) =>
    closedCounter(registry, `sallyport_debug_${name}`, help, labels);
  const reloads = closedCounter(
    registry,
    "sallyport_runtime_key_reloads_total",
    "Reads of a changed runtime key file by result.",
    { result: RELOAD_RESULTS },
  );
  const opened = counter("opened_total", "Debug sessions that the tunnel began to serve.", { mode: DEBUG_MODES });
  const closed = counter("closed_total", "Debug sessions that the tunnel ended, by reason.", { reason: CLOSE_REASONS });
  const seconds = new Histogram({
    name: "sallyport_debug_duration_seconds",
    help: "How long debug sessions were served.",
    buckets: [10, 60, 300, 900, 1_800, 3_600, 14_400, 28_800],
    registers: [registry],
  });
  const bytes = counter("tunnel_bytes_total", "Bytes of debug sessions: in is from the engineer, out is to them.", {
    direction: DIRECTIONS,
  });
  const streams = closedGauge(registry, "sallyport_debug_streams", "Requests of engineers under way, by kind.", {
    kind: STREAM_KINDS,
  });
  const denied = counter("denied_total", "Requests of engineers that did not go up, by reason.", { reason: DENIALS });
  const reattached = counter("reattach_total", "Times that a session's two ends met again after a loss.", {});
  const connected = closedGauge(registry, "sallyport_tunnel_connected", "Debug sessions that this process serves.", {});
  return {
    keyReloaded: (result) => reloads.inc({ result }),
    opened: (mode) => opened.inc({ mode }),
    closed(reason, value) {
      closed.inc({ reason });
      seconds.observe(value);
    },
    bytes: (direction, count) => bytes.inc({ direction }, count),
    streamOpened: (kind) => streams.inc({ kind }),
    streamClosed: (kind) => streams.dec({ kind }),
    denied: (reason) => denied.inc({ reason }),
    reattached: () => reattached.inc(),
    connected: (sessions) => connected.set(sessions),
  };
}

function auditMetrics(registry: Registry): AuditMetrics {
  const audited = closedCounter(
    registry,
    "sallyport_debug_audit_events_total",
    "Records of debug sessions: on disk, or failed, or without room in the session's own share, which closes it.",
    { result: AUDIT_RESULTS },
  );
  const fsynced = new Histogram({
    name: "sallyport_debug_audit_fsync_seconds",
    help: "How long a write of audit records took to reach the disk.",
    buckets: [0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2],
    registers: [registry],
  });
  const spooled = closedGauge(
    registry,
    "sallyport_debug_audit_spool_bytes",
    "Bytes of audit files and recordings in the spool.",
    {},
  );
  const aside = closedGauge(
    registry,
    "sallyport_debug_audit_files_aside",
    "Audit files in the spool that were changed there: they are neither sent nor removed.",
    {},
  );
  const full = closedGauge(
    registry,
    "sallyport_debug_audit_spool_full",
    "Whether the spool has no room for one more session: none is taken then.",
    {},
  );
  const uploaded = closedCounter(
    registry,
    "sallyport_debug_uploads_total",
    "Files of debug sessions sent to the platform's storage; given-up ones stay in the spool.",
    { result: UPLOAD_RESULTS },
  );
  return {
    audited: (result, records) => audited.inc({ result }, records),
    fsynced: (value) => fsynced.observe(value),
    spooled: (value) => spooled.set(value),
    setAside: (files) => aside.set(files),
    full: (isFull) => full.set(isFull ? 1 : 0),
    uploaded: (result) => uploaded.inc({ result }),
  };
}
