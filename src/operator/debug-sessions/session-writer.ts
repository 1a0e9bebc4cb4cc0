import type { Clock } from "../../base/clock.ts";
import type { DebugSession, DebugSessionStatus } from "../../crds/kinds/debug-session.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { DebugMetrics } from "../kernel/debug-metrics.ts";
import type { EventPublisher } from "../kernel/event-publisher.ts";
import { conditionOf } from "./session-status.ts";

export interface SessionWriterPorts {
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** With the resourceVersion that was read. */
  readonly writeSession: (s: DebugSession, status: DebugSessionStatus, signal: AbortSignal) => Promise<DebugSession>;
  readonly metrics: Pick<DebugMetrics, "opened" | "closed">;
  readonly publisher: Pick<EventPublisher, "sessionBecame">;
}

/** Writes the status, then logs, counts and publishes what it changed. @returns the session as it was stored. */
export async function write(
  session: DebugSession,
  status: DebugSessionStatus,
  ports: SessionWriterPorts,
  { signal, log }: ReconcileContext,
): Promise<DebugSession> {
  signal.throwIfAborted();
  ports.fence();
  const stored = await ports.writeSession(session, status, signal);
  const isAttached = (each: DebugSession): boolean => conditionOf(each, "Attached")?.status === "True";
  if (!isAttached(session) && isAttached(stored)) ports.publisher.sessionBecame(stored, "Attached");
  const from = session.status?.state ?? "Pending";
  const to = status.state ?? "Pending";
  if (from === to) return stored;
  log.info({ from, to, reason: status.closeReason, until: status.until }, "debug session changed state");
  if (to === "Open") {
    ports.metrics.opened(stored.spec.mode);
    ports.publisher.sessionBecame(stored, "Opened");
  } else if (to === "Refused") {
    ports.metrics.closed("refused");
    ports.publisher.sessionBecame(stored, "Denied");
  } else if (to === "Closed") {
    const { openedAt, closeReason = "refused" } = status;
    const seconds =
      openedAt === undefined ? undefined : (ports.clock.wallNow().getTime() - Date.parse(openedAt)) / 1_000;
    ports.metrics.closed(closeReason, seconds);
    ports.publisher.sessionBecame(stored, "Ended");
  }
  return stored;
}
