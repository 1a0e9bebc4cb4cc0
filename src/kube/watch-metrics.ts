import { Counter, Gauge, type Registry } from "prom-client";
import type { Clock } from "./clock.ts";
import type { KubeMetrics, WatchMetrics } from "./metrics.ts";

export const WATCH_EVENT_TYPES = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const;
export const WATCH_RESTART_REASONS = ["closed", "idle", "gone", "bad_data", "network", "server_error"] as const;

/** Our own names: client-go has none that are still written. */
export function watchMetrics(registry: Registry, clock: Clock): KubeMetrics["watch"] {
  const registers = [registry];
  const events = new Counter({
    name: "watch_events_total",
    help: "Watch events received, by type.",
    labelNames: ["kind", "type"],
    registers,
  });
  const restarts = new Counter({
    name: "watch_restarts_total",
    help: "Watches that ended and were begun again, by reason: is the API server, or something before it, cutting us?",
    labelNames: ["kind", "reason"],
    registers,
  });
  const objects = new Gauge({
    name: "cache_objects",
    help: "Objects in the cache.",
    labelNames: ["kind"],
    registers,
  });
  const synced = new Gauge({
    name: "cache_synced",
    help: "1 once the cache has held the full set.",
    labelNames: ["kind"],
    registers,
  });
  const lastEventMs = new Map<string, number>();
  new Gauge({
    name: "watch_last_event_age_seconds",
    help: "Time since the last event, bookmarks included, or since the start. Above two minutes: the cache is stale.",
    labelNames: ["kind"],
    registers,
    collect() {
      for (const [kind, atMs] of lastEventMs) this.set({ kind }, (clock.monotonicMs() - atMs) / 1000);
    },
  });
  return (kind): WatchMetrics => {
    for (const type of WATCH_EVENT_TYPES) events.inc({ kind, type }, 0);
    for (const reason of WATCH_RESTART_REASONS) restarts.inc({ kind, reason }, 0);
    objects.set({ kind }, 0);
    synced.set({ kind }, 0);
    lastEventMs.set(kind, clock.monotonicMs());
    return {
      received(type) {
        events.inc({ kind, type });
        lastEventMs.set(kind, clock.monotonicMs());
      },
      restarted: (reason) => restarts.inc({ kind, reason }),
      cached: (count) => objects.set({ kind }, count),
      synced: (isSynced) => synced.set({ kind }, isSynced ? 1 : 0),
    };
  };
}
