import type { MachineDrainReason } from "../../crds/conditions.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { tierOf } from "../../crds/operations/catalog.ts";
import type { MachineAct } from "../../crds/operations/machines.ts";
import { sameParams } from "../../crds/plan.ts";
import { closedBecause, type GateInput, placeRefusal } from "./gate.ts";
import { openedWindow } from "./grant-window.ts";
import { planFault } from "./plan-check.ts";
import { decisionOn } from "./policy.ts";

/** Everything that the decision about one drain looks at. It does no I/O. */
export interface DrainFacts extends Pick<GateInput, "policy" | "deployments" | "named" | "now"> {
  readonly drain: Pick<MachineDrain, "metadata" | "spec" | "status">;
  /** Of the cluster; those of other deployments count for nothing. */
  readonly grants: readonly AccessGrant[];
}

type Reason = MachineDrainReason<"Approved">;

/** Whether the customer's word covers a drain that the platform asked for: the condition Approved. */
interface DrainVerdict {
  readonly approved: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/**
 * What people wrote decides: the customer's policies, a grant's spec, an acceptance. Nothing is remembered, so that a
 * policy that changes and a grant that is revoked stop a drain at its next step. A window that ends does not stop one that
 * has begun within it: half an emptied node helps nobody.
 *
 * Undefined: a person made the drain, whose word it is.
 */
export function drainVerdict({ drain, grants, policy, deployments, named, now }: DrainFacts): DrainVerdict | undefined {
  const { requested } = drain.spec;
  if (requested === undefined) return undefined;
  const { deploymentId, machineId } = requested;
  const unserved = placeRefusal({ deployments, named }, deploymentId, undefined);
  if (unserved !== undefined) return { approved: false, reason: "DeploymentNotAccepted", message: unserved.message };
  const act: MachineAct = requested.remove === true ? "remove" : "drain";
  const wanted = { command: `machines/${act}`, tier: tierOf(`machines/${act}`), params: { machineId } };
  const decision = decisionOn(policy, wanted, deploymentId);
  if (decision === "deny") {
    return {
      approved: false,
      reason: "PolicyDenied",
      message: `the customer's policy denies ${wanted.command}, approved or not`,
    };
  }
  const begun = drain.status?.startedAt === undefined ? undefined : new Date(drain.status.startedAt);
  const covering = grants.find((grant) => covers(grant, wanted, deploymentId, begun ?? now, begun !== undefined));
  if (covering !== undefined) {
    return { approved: true, reason: "GrantMatched", message: `grant ${covering.metadata.name} has a line for it` };
  }
  if (decision === "auto") {
    return {
      approved: true,
      reason: "PolicyAuto",
      message: `the customer's policy lets ${wanted.command} run by itself`,
    };
  }
  return {
    approved: false,
    reason: "NoGrant",
    message: `${wanted.command} of ${machineId} needs an approved access grant with a line for it`,
  };
}

interface Wanted {
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Whether an approved plan has this very line, and its window was open at that instant. */
function covers(grant: AccessGrant, wanted: Wanted, deploymentId: string, at: Date, hasBegun: boolean): boolean {
  const { metadata, spec } = grant;
  if (spec.deploymentId !== deploymentId) return false;
  const ended = metadata.deletionTimestamp !== undefined || spec.revokedReason !== undefined;
  if (ended || spec.deniedReason !== undefined) return false;
  // Of a drain that has begun the window may be over.
  if (!hasBegun && closedBecause(grant) !== undefined) return false;
  if (planFault(spec, tierOf) !== undefined) return false;
  const window = openedWindow(grant);
  if (window === undefined || !(window.from <= at && at < window.until)) return false;
  return spec.commands.some(({ command, params }) => command === wanted.command && sameParams(params, wanted.params));
}
