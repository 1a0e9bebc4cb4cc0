import { Histogram, type Registry } from "prom-client";
import { closedCounter } from "../../base/closed-series.ts";
import { DEBUG_CLOSE_REASONS, type DebugCloseReason } from "../../crds/kinds/debug-session.ts";
import { DEBUG_MODES, type DebugMode } from "../../crds/operations/debug.ts";

/** What the rest of the operator may do to the metrics of debug sessions. */
export interface DebugMetrics {
  opened(mode: DebugMode): void;
  /** @param seconds from opened to closed; undefined when it was never open. */
  closed(reason: DebugCloseReason, seconds?: number): void;
}

/**
 * What the operator did to debug sessions. Those that are there, and those that have outlived their end, are the agent's to
 * tell: it sees the sessions that the operator forgot.
 */
export function debugMetrics(registry: Registry): DebugMetrics {
  const openedTotal = closedCounter(
    registry,
    "sallyport_debug_opened_total",
    "Debug sessions that were opened, by mode.",
    { mode: DEBUG_MODES },
  );
  const closedTotal = closedCounter(
    registry,
    "sallyport_debug_closed_total",
    "Debug sessions that ended or were refused, by reason.",
    { reason: DEBUG_CLOSE_REASONS },
  );
  const duration = new Histogram({
    name: "sallyport_debug_duration_seconds",
    help: "From opened to closed.",
    // A session lasts eight hours at most.
    buckets: [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800],
    registers: [registry],
  });
  duration.zero({});
  return {
    opened: (mode) => openedTotal.inc({ mode }),
    closed(reason, seconds) {
      closedTotal.inc({ reason });
      if (seconds !== undefined) duration.observe(seconds);
    },
  };
}
