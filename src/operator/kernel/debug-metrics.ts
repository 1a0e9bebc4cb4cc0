import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import {
  DEBUG_CLOSE_REASONS,
  DEBUG_SESSION_STATES,
  type DebugCloseReason,
  type DebugSession,
  type DebugSessionState,
} from "../../crds/kinds/debug-session.ts";
import { DEBUG_MODES, type DebugMode } from "../../crds/operations/debug.ts";

/** What the rest of the operator may do to the metrics of debug sessions. */
export interface DebugMetrics {
  opened(mode: DebugMode): void;
  /** @param seconds from opened to closed; undefined when it was never open. */
  closed(reason: DebugCloseReason, seconds?: number): void;
}

/** A session whose end passed this long ago, and that is not closed, has outlived it. */
const OVERDUE_MS = 60_000;

export interface DebugReadings {
  /** Asked at each scrape: those in the cache. */
  readonly sessions: () => Iterable<Pick<DebugSession, "status">>;
  /** Modes that the installation has switched on; none without debug sessions. */
  readonly modes: readonly DebugMode[];
  readonly now: () => Date;
}

export function debugMetrics(registry: Registry, { sessions, modes, now }: DebugReadings): DebugMetrics {
  sessionGauges(registry, sessions, now);
  const enabled = new Gauge({
    name: "sallyport_debug_mode_enabled",
    help: "Is the mode switched on in this installation?",
    labelNames: ["mode"],
    registers: [registry],
  });
  for (const mode of DEBUG_MODES) enabled.set({ mode }, modes.includes(mode) ? 1 : 0);
  return sessionCounters(registry);
}

function sessionGauges(registry: Registry, sessions: DebugReadings["sessions"], now: () => Date): void {
  new Gauge({
    name: "sallyport_debug_sessions",
    help: "Debug sessions by state: who is inside now?",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const counts = new Map<DebugSessionState, number>(DEBUG_SESSION_STATES.map((state) => [state, 0]));
      for (const { status } of sessions()) {
        const state = status?.state ?? "Pending";
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
      for (const [state, count] of counts) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "sallyport_debug_sessions_overdue",
    help: "Debug sessions that should have ended more than a minute ago, and are not closed.",
    registers: [registry],
    collect() {
      const before = now().getTime() - OVERDUE_MS;
      const isOverdue = ({ status }: Pick<DebugSession, "status">): boolean =>
        status?.until !== undefined && status.state !== "Closed" && Date.parse(status.until) < before;
      this.set([...sessions()].filter(isOverdue).length);
    },
  });
}

function sessionCounters(registry: Registry): DebugMetrics {
  const openedTotal = new Counter({
    name: "sallyport_debug_opened_total",
    help: "Debug sessions that were opened, by mode.",
    labelNames: ["mode"],
    registers: [registry],
  });
  const closedTotal = new Counter({
    name: "sallyport_debug_closed_total",
    help: "Debug sessions that ended or were refused, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  const duration = new Histogram({
    name: "sallyport_debug_duration_seconds",
    help: "From opened to closed.",
    // A session lasts eight hours at most.
    buckets: [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800],
    registers: [registry],
  });
  for (const mode of DEBUG_MODES) openedTotal.inc({ mode }, 0);
  for (const reason of DEBUG_CLOSE_REASONS) closedTotal.inc({ reason }, 0);
  duration.zero({});
  return {
    opened: (mode) => openedTotal.inc({ mode }),
    closed(reason, seconds) {
      closedTotal.inc({ reason });
      if (seconds !== undefined) duration.observe(seconds);
    },
  };
}
