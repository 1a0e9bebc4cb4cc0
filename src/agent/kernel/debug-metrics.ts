import { Gauge, type Registry } from "prom-client";
import type { Clock } from "../../base/clock.ts";
import { closedGauge } from "../../base/closed-series.ts";
import { DEBUG_MODES, type DebugMode } from "../../contract/debug-sessions/debug-sessions.ts";
import { DEBUG_SESSION_STATES, type DebugSession } from "../../crds/kinds/debug-session.ts";

/** Time after its end in which a session may still be closing: the operator takes its access away, the tunnel its streams. */
const CLOSING_MS = 60_000;
const INSIDE: readonly string[] = ["Opening", "Open", "Closing"];

/**
 * Declares what the agent sees of debug sessions in the cluster, asked at each scrape. Neither the operator nor the tunnel
 * tells it, so a session that one of them forgot is seen here.
 */
export function debugGauges(
  registry: Registry,
  modes: readonly DebugMode[],
  sessions: () => readonly Pick<DebugSession, "status">[],
  clock: Pick<Clock, "wallNow">,
): void {
  const enabled = closedGauge(
    registry,
    "sallyport_debug_mode_enabled",
    "1: sessions of this mode may be opened here.",
    {
      mode: DEBUG_MODES,
    },
  );
  for (const mode of modes) enabled.set({ mode }, 1);
  new Gauge({
    name: "sallyport_debug_sessions",
    help: "Debug sessions in the cluster by state: who is inside?",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      for (const state of DEBUG_SESSION_STATES) this.set({ state }, 0);
      for (const { status } of sessions()) this.inc({ state: status?.state ?? "Pending" });
    },
  });
  new Gauge({
    name: "sallyport_debug_sessions_overdue",
    help: "Debug sessions that should have ended more than a minute ago, and have not.",
    registers: [registry],
    collect() {
      const due = clock.wallNow().getTime() - CLOSING_MS;
      this.set(sessions().filter(({ status }) => isOverdue(status, due)).length);
    },
  });
}

function isOverdue(status: DebugSession["status"], due: number): boolean {
  return INSIDE.includes(status?.state ?? "") && status?.until !== undefined && Date.parse(status.until) < due;
}
