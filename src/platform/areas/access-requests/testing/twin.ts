import type { AccessRequestStatus, ExecutionState } from "../../../../contract/access-requests/access-requests.ts";

/** Far ahead, so that the running platform's own sweep, which goes by the real clock, finds nothing to end. */
export const START_MS = Date.parse("2100-03-01T12:00:00.000Z");
export const MINUTE_MS = 60_000;
export const GRACE_MS = 5 * MINUTE_MS;
export const OUTCOMES = ["denied", "revoked", "expired"] as const;
export const ENDS = ["SUCCEEDED", "FAILED", "EXPIRED"] as const;
export type End = (typeof ENDS)[number];

/** The twin. */
export interface Twin {
  readonly id: string;
  readonly planHash: string;
  readonly debug: boolean;
  readonly destructive: boolean;
  readonly decideBeforeMs: number;
  readonly maxMinutes: number;
  status: AccessRequestStatus;
  execution: ExecutionState;
  untilMs: number | undefined;
  outcome: string | undefined;
  readonly lines: string[];
}

export interface Model {
  nowMs: number;
  readonly twins: Twin[];
}

export const isOver = ({ status }: Twin): boolean => status === "rejected" || status === "expired";
export const isApproved = ({ status }: Twin): boolean => status === "customer-approved";
export const isUndecided = ({ status }: Twin): boolean => status === "pending-approval" || status === "queued";
export const isUnfinished = ({ execution }: Twin): boolean => execution === "idle" || execution === "running";

export function stop(twin: Twin, status: "rejected" | "expired", outcome: string): void {
  if (isApproved(twin) && isUnfinished(twin)) twin.execution = "stopped";
  twin.status = status;
  twin.outcome = outcome;
  twin.lines.forEach((line, index) => {
    if (line === "PENDING") twin.lines[index] = "EXPIRED";
  });
}

/** What time does, in the order in which it does it. */
export function tick(model: Model): void {
  for (const twin of model.twins) {
    if (isUndecided(twin) && model.nowMs >= twin.decideBeforeMs + GRACE_MS) stop(twin, "expired", "expired");
    const { untilMs } = twin;
    if (untilMs === undefined) continue;
    if (isApproved(twin) && isUnfinished(twin) && model.nowMs >= untilMs) stop(twin, "expired", "expired");
    twin.lines.forEach((line, index) => {
      if (line === "DISPATCHED" && model.nowMs >= untilMs + MINUTE_MS) twin.lines[index] = "EXPIRED";
    });
  }
}

export function shown(twin: Twin): readonly string[] {
  const never = isOver(twin) || twin.execution === "failed";
  return twin.lines.map((line) => (line === "" ? (never ? "SKIPPED" : "WAITING") : line));
}
