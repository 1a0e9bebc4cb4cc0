import type { Clock } from "../../../base/clock.ts";
import {
  FINAL_ROLLOUT_STATES,
  type Rollout,
  type RolloutState,
  type RolloutStatus,
} from "../../../crds/kinds/rollout.ts";
import type { ReconcileContext } from "../../../kube/controller/controller.ts";
import type { EventPublisher, RolloutEvent } from "../../kernel/event-publisher.ts";
import type { RolloutMetrics } from "../../kernel/rollout-metrics.ts";
import { type Redact, statusAs } from "./rollout-status.ts";
import { conditionOf, type Fields, type Said } from "./rollout-step.ts";
import type { RunningRollouts } from "./running-rollouts.ts";

export interface RolloutWriterPorts {
  readonly clock: Clock;
  /** Throws when another process may be leading; right before each write. */
  readonly fence: () => void;
  /** With the resourceVersion that was read. */
  readonly writeRollout: (rollout: Rollout, status: RolloutStatus, signal: AbortSignal) => Promise<Rollout>;
  readonly redact: Redact;
  readonly running: Pick<RunningRollouts, "wrote">;
  readonly metrics: Pick<RolloutMetrics, "phase" | "ended">;
  readonly publisher: Pick<EventPublisher, "rolloutBecame">;
}

/** Writes the status, then logs, counts and publishes what it changed. @returns the rollout as it was stored. */
export async function write(
  rollout: Rollout,
  to: RolloutState | undefined,
  said: readonly Said[],
  fields: Fields,
  ports: RolloutWriterPorts,
  { signal, log }: ReconcileContext,
): Promise<Rollout> {
  const from = rollout.status?.state;
  const state = to ?? from ?? "Planning";
  const now = ports.clock.wallNow();
  const status = statusAs(rollout, state, said, fields, ports.redact, now);
  signal.throwIfAborted();
  ports.fence();
  const stored = await ports.writeRollout(rollout, status, signal);
  ports.running.wrote(rollout, stored);
  for (const [event, condition] of eventsOf(rollout, stored)) {
    ports.publisher.rolloutBecame(stored, event, conditionOf(stored, condition)?.message ?? "");
  }
  if (from === state) return stored;
  const reason = said.at(-1)?.[2];
  log.info({ rollout: rollout.metadata.name, from, to: state, wave: status.waveOf, reason }, "rollout changed state");
  count(rollout, stored, now, ports.metrics);
  return stored;
}

/** Each with the condition whose message says what happened. */
function eventsOf(
  before: Rollout,
  after: Rollout,
): readonly (readonly [RolloutEvent, Parameters<typeof conditionOf>[1]])[] {
  const from = before.status?.state;
  const to = after.status?.state;
  const events: (readonly [RolloutEvent, Parameters<typeof conditionOf>[1]])[] = [];
  const overrides = (rollout: Rollout): number => rollout.status?.plan?.overrides?.length ?? 0;
  if (overrides(after) > overrides(before) && conditionOf(after, "Overridden")?.status === "True") {
    events.push(["FieldOverridden", "Overridden"]);
  }
  const reason = (rollout: Rollout): string | undefined => conditionOf(rollout, "Planned")?.reason;
  const isPlanned = reason(after) === "PlanMade" && reason(before) !== "PlanMade";
  if (isPlanned) events.push(["Planned", "Planned"]);
  // A plan that finds objects of the customer in the way once more is no news.
  if (to === "AwaitingApproval" && (from !== to || isPlanned)) {
    events.push(["ApprovalNeeded", isPlanned ? "Approved" : "Planned"]);
  }
  if (from === to) return events;
  if (from === "Applying" && (to === "Gating" || to === "Pruning")) events.push(["WaveApplied", "Applied"]);
  if (from === "Gating" && conditionOf(after, "Applied")?.reason === "GateFailed")
    events.push(["GateFailed", "Applied"]);
  if (to === "RolledBack") events.push(["RolledBack", "Applied"]);
  if (from === "Pruning") events.push(["Pruned", "Pruned"]);
  if (to === "Failed" && from === "RollingBack") events.push(["Failed", "Healthy"]);
  else if (to === "Failed") events.push(["Failed", failedCondition(after)]);
  return events;
}

function failedCondition(rollout: Rollout): "Applied" | "Planned" | "Approved" {
  return (
    (["Applied", "Planned", "Approved"] as const).find((type) => conditionOf(rollout, type)?.status === "False") ??
    "Applied"
  );
}

function count(before: Rollout, after: Rollout, now: Date, metrics: RolloutWriterPorts["metrics"]): void {
  const { state, plannedAt, startedAt } = after.status ?? {};
  const sinceSeconds = (at: string): number => (now.getTime() - Date.parse(at)) / 1_000;
  const begins = before.status?.startedAt === undefined && startedAt !== undefined;
  if (begins && plannedAt !== undefined) metrics.phase("wait", sinceSeconds(after.metadata.creationTimestamp));
  const startedWave = before.status?.waveStartedAt;
  if (before.status?.state === "Gating" && startedWave !== undefined) metrics.phase("gate", sinceSeconds(startedWave));
  const final = FINAL_ROLLOUT_STATES.find((each) => each === state);
  if (final === undefined) return;
  if (startedAt !== undefined) metrics.phase("run", sinceSeconds(startedAt));
  metrics.ended(after.spec.action, final);
}
