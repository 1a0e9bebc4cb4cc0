import { awaiting, beforeItRuns, begun, planning, queued } from "./before-it-runs.ts";
import { type RolloutFacts, type RolloutStep, rest } from "./rollout-step.ts";
import { applying, gating, pruning, rollingBack, unknown, whileItRuns } from "./while-it-runs.ts";

/** What comes next for this rollout. Each state is stored before what it stands for is done, so a crash is resumed in it. */
export function nextRolloutStep(facts: RolloutFacts): RolloutStep {
  const { rollout } = facts;
  // Deleting it stops it where it is; the sweep takes its accounts and bindings.
  if (rollout.metadata.deletionTimestamp !== undefined) return rest();
  switch (rollout.status?.state) {
    case undefined:
      return begun(facts);
    case "Planning":
      return beforeItRuns(facts) ?? planning(facts);
    case "AwaitingApproval":
      return beforeItRuns(facts) ?? awaiting(facts);
    case "Queued":
      return beforeItRuns(facts) ?? queued(facts);
    case "Applying":
      return whileItRuns(facts) ?? applying(facts);
    case "Gating":
      return whileItRuns(facts) ?? gating(facts);
    case "Pruning":
      return pruning(facts);
    case "RollingBack":
      return rollingBack(facts);
    case "Unknown":
      return unknown();
    default:
      return rest();
  }
}
