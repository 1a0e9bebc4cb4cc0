import type { ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";
import { withoutCommands } from "../../crds/without-commands.ts";
import { driftLine, type Installed } from "../releases/installed.ts";
import type { DeploymentCondition } from "./conditions.ts";

const MAX_SHOWN = 10;
/** Lines in one message. */
const MAX_NAMED = 3;

/** What the customer is shown of the release. */
export function releaseOf({
  releaseId: id,
  version,
  appliedAt,
  rollout,
  drift,
}: Installed): NonNullable<ManagedDeploymentStatus["release"]> {
  return {
    ...(id !== undefined && { id }),
    ...(version !== undefined && { version }),
    ...(appliedAt !== undefined && { appliedAt }),
    rollout,
    ...(drift.length > 0 && { drift: drift.slice(0, MAX_SHOWN).map((each) => withoutCommands(driftLine(each))) }),
  };
}

/** Whether others have changed what the release installed. True only where the operator has looked at all of it. */
export function driftCondition({ drift, notCompared, rollout }: Installed): DeploymentCondition {
  if (drift.length === 0) {
    if (notCompared !== undefined) {
      return { type: "AsReleased", status: "Unknown", reason: "NotCompared", message: notCompared };
    }
    return {
      type: "AsReleased",
      status: "True",
      reason: "NoDrift",
      message: "what is installed is as it was released",
    };
  }
  const named = drift.slice(0, MAX_NAMED).map(driftLine);
  const more = drift.length > MAX_NAMED ? `; and ${drift.length - MAX_NAMED} more, in status.drift of ${rollout}` : "";
  return { type: "AsReleased", status: "False", reason: "Drifted", message: `${named.join("; ")}${more}` };
}
