import { Counter, Gauge, type Registry } from "prom-client";
import type { WatchMetrics, WatchRestartReason } from "./metrics.ts";

const EVENT_TYPES = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const;
/** A record, so that the compiler asks for a reason that is missing here. */
const RESTART_REASONS: Readonly<Record<WatchRestartReason, true>> = {
  closed: true,
  expired: true,
  gone: true,
  idle: true,
  decode: true,
  throttled: true,
  error: true,
  short: true,
  "too-large": true,
  unmarked: true,
};

/** Our own names: client-go has none that are still written. A kind's series are zeroed when it is first named. */
export function watchMetrics(registry: Registry): WatchMetrics {
  const registers = [registry];
  const events = new Counter({
    name: "watch_events_total",
    help: "Watch events received, by type.",
    labelNames: ["kind", "type"],
    registers,
  });
  const restarts = new Counter({
    name: "watch_restarts_total",
    help: "Watches begun again, by reason: is the API server, or something before it, cutting us?",
    labelNames: ["kind", "reason"],
    registers,
  });
  const gauge = (name: string, help: string): Gauge<"kind"> =>
    new Gauge({ name, help, labelNames: ["kind"], registers });
  const cached = gauge("cache_objects", "Objects in the cache.");
  const synced = gauge("cache_synced", "1 once the cache has held the full set.");
  const lastEvent = gauge(
    "watch_last_event_timestamp_seconds",
    "When anything last arrived, bookmarks included; 0 before. Older than two minutes: the cache is stale.",
  );

  const known = new Set<string>();
  const zeroed = (kind: string): string => {
    if (known.has(kind)) return kind;
    known.add(kind);
    for (const type of EVENT_TYPES) events.inc({ kind, type }, 0);
    for (const reason of Object.keys(RESTART_REASONS)) restarts.inc({ kind, reason }, 0);
    for (const each of [cached, synced, lastEvent]) each.set({ kind }, 0);
    return kind;
  };
  return {
    event: (kind, type, count) => events.inc({ kind: zeroed(kind), type }, count),
    restart: (kind, reason) => restarts.inc({ kind: zeroed(kind), reason }),
    lastEvent: (kind, timestampSeconds) => lastEvent.set({ kind: zeroed(kind) }, timestampSeconds),
    objects: (kind, count) => cached.set({ kind: zeroed(kind) }, count),
    synced: (kind, isSynced) => synced.set({ kind: zeroed(kind) }, isSynced ? 1 : 0),
  };
}
