import { minutesText } from "../../crds/approved-minutes.ts";
import type { GrantConditionType, GrantReason } from "../../crds/conditions.ts";
import { objectName } from "../../crds/group.ts";
import type { AccessGrant, AccessGrantStatus, GrantLine, GrantState } from "../../crds/kinds/access-grant.ts";
import { FINAL_GRANT_STATES } from "../../crds/kinds/access-grant.ts";
import { type RequiredRight, rightsText } from "../../crds/manifests/roles/required-rights.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type Condition, withCondition } from "../../kube/objects/conditions.ts";
import type { PlanLending } from "../access/role-lending.ts";
import type { Enforcement } from "../gate/enforcement.ts";
import type { CommandProblem } from "../gate/gate.ts";
import type { PlanFault } from "../gate/plan-check.ts";

/**
 * What was true of the decision when it was taken stays on record, also when policies and operators change later.
 */
const HISTORY: ReadonlySet<string> = new Set<GrantConditionType>(["Approved", "IdentityVerified"]);
/** Said while something may still run; what was true at the end stays. */
const WHILE_OPEN: ReadonlySet<string> = new Set<GrantConditionType>(["Permitted", "Accepted"]);

interface Said<T extends GrantConditionType> {
  readonly status: Condition["status"];
  readonly reason: GrantReason<T>;
  readonly message: string;
}

/** In place of namespaces, when a plan names none and the customer accepts its deployment in none. */
export const ANY_NAMESPACE = "any namespace";

export interface Outlook {
  readonly grant: AccessGrant;
  readonly state: GrantState;
  /** How long an approval holds, which may be less than was typed. Undefined: there is none. */
  readonly minutes: number | undefined;
  readonly commands: CommandTable;
  readonly fault: PlanFault | undefined;
  readonly lines: readonly GrantLine[];
  readonly enforcement: Enforcement;
  /** Who the customer's policy wants told of a waiting request. */
  readonly notify: readonly string[];
  /** Rights that the operator lacks and this plan needs. */
  readonly missing: readonly RequiredRight[];
  /** Lines of the plan that the customer's policies hold, approved or not, each with the reason. */
  readonly denied: readonly string[];
  /** Commands of debug sessions that are switched off here. */
  readonly switchedOff: readonly string[];
  /** Why operations of plugins in this plan cannot run here, each once. */
  readonly pluginProblems: readonly CommandProblem[];
  /** Where the plan acts and the customer does not accept its deployment: namespaces, or {@link ANY_NAMESPACE}. */
  readonly unaccepted: readonly string[];
  /** Undefined where the operator lends, and once the grant is over. */
  readonly lending: PlanLending | undefined;
}

/**
 * All conditions but `Lent`, which is said only where approvers lend, from the first visit on. A final grant keeps what
 * was said about its decision and its names.
 */
export function grantConditions(outlook: Outlook, now: Date): NonNullable<AccessGrantStatus["conditions"]> {
  const said: { readonly [T in GrantConditionType]: Said<T> | undefined } = {
    Approved: approved(outlook),
    Active: active(outlook),
    Succeeded: succeeded(outlook),
    IdentityVerified: identityVerified(outlook, now),
    // The agent reports and cannot write here; the operator does not know whether it did, and does not pretend to.
    Reported: {
      status: "Unknown",
      reason: "AwaitingReport",
      message: "the agent reports to the platform and cannot write here; its own metrics and log say how far it is",
    },
    Permitted: permitted(outlook),
    Accepted: accepted(outlook),
    Lent: lent(outlook),
  };
  let conditions: readonly Condition[] = known(outlook.grant);
  const observedGeneration = outlook.grant.metadata.generation ?? 0;
  const wasFinal = FINAL_GRANT_STATES.some((final) => final === outlook.grant.status?.state);
  for (const [type, words] of Object.entries(said)) {
    if (words === undefined) continue;
    const { status, reason, message } = words;
    if (wasFinal && WHILE_OPEN.has(type)) continue;
    if (wasFinal && HISTORY.has(type) && conditions.some((condition) => condition.type === type)) continue;
    const next = { type, status, reason, message: lineWithoutCommands(message, 1_024), observedGeneration };
    conditions = withCondition(conditions, next, now);
  }
  return conditions.map((condition) => ({ ...condition }));
}

function known({ metadata, status }: AccessGrant): readonly Condition[] {
  const observedGeneration = metadata.generation ?? 0;
  return (status?.conditions ?? []).map((condition) => ({ observedGeneration, ...condition }));
}

function approved({ grant, state, minutes, fault, notify }: Outlook): Said<"Approved"> {
  const { spec } = grant;
  if (spec.deniedReason !== undefined)
    return no("DeniedByCustomer", `denied${by(spec.decidedBy)}: ${spec.deniedReason}`);
  if (state === "Superseded") return no("Superseded", "another plan has taken this request's place");
  if (fault !== undefined) return no(fault.reason, `${fault.message}; nothing of it runs`);
  if (state === "Lapsed") return no("DecisionTooLate", `no decision was seen by ${spec.decideBefore}`);
  if (spec.approvedForMinutes !== undefined) {
    const asked = spec.approvedForMinutes;
    return yes("ApprovedByCustomer", `approved${by(spec.decidedBy)} for ${minutesText(asked, minutes ?? asked)}`);
  }
  const told = notify.length > 0 ? `; to be told: ${notify.join(", ")}` : "";
  return {
    status: "Unknown",
    reason: "AwaitingDecision",
    message: `waits for a decision until ${spec.decideBefore}${told}`,
  };
}

function active({ grant, state }: Outlook): Said<"Active"> {
  if (grant.metadata.deletionTimestamp !== undefined) return no("Deleted", `the grant is being deleted; ${UNSENT}`);
  switch (state) {
    case "Pending":
      return no("AwaitingDecision", "no window before a decision");
    case "Approved":
      return yes("WindowOpen", "the lines of the plan may run until status.approvedUntil");
    case "Revoked":
      return no("Revoked", `revoked${by(grant.spec.revokedBy)}: ${grant.spec.revokedReason ?? ""}; ${UNSENT}`);
    case "Expired":
      return no("WindowClosed", `the window is over; ${UNSENT}`);
    case "Completed":
      return no("WindowClosed", "every line of the plan was used");
    case "Denied":
    case "Lapsed":
    case "Superseded":
      return no("WindowClosed", "no window was opened");
  }
}

const UNSENT = "nothing more starts; what had already been sent to the cluster cannot be unsent";

function succeeded({ state, lines }: Outlook): Said<"Succeeded"> {
  const count = (wanted: GrantLine["state"]): number => lines.filter((line) => line.state === wanted).length;
  const [done, failed, unknown] = [count("Succeeded"), count("Failed"), count("Unknown")];
  const going = count("Starting") + count("Running");
  const tally =
    `${done} succeeded, ${failed} failed, ${unknown} of unknown outcome, ` +
    `${count("NotStarted")} not started, ${count("Skipped")} skipped`;
  const open = state === "Pending" || state === "Approved";
  if (state === "Approved" && lines.length > 0 && count("Held") === lines.length)
    return no("NothingRan", "no line of the plan can run: the customer's policies deny each");
  if (open || going > 0) {
    return {
      status: "Unknown",
      reason: "NothingYet",
      message: open ? "the plan is not over" : "the last line is still running",
    };
  }
  if (unknown > 0) return { status: "Unknown", reason: "OutcomeUnknown", message: tally };
  if (failed > 0) return no("SomeFailed", tally);
  if (done === 0) return no("NothingRan", "no line of the plan ran");
  return done === lines.length ? yes("AllSucceeded", tally) : no("SomeNotStarted", tally);
}

/**
 * Whether the name on the decision can be believed: the admission policies must have been in force since before the
 * decision. That instant is not on record (managed-fields times can be forged), so the last moment at which we saw the
 * grant undecided stands for it, or its creation. Before an API server enforces policies that are there, anybody may type
 * any name.
 */
function identityVerified({ grant, enforcement }: Outlook, now: Date): Said<"IdentityVerified"> {
  const { spec, metadata, status } = grant;
  const decided = spec.approvedForMinutes !== undefined || spec.deniedReason !== undefined;
  if (enforcement.kind === "none") {
    return no("NotEnforced", `admission policies are missing: ${enforcement.missing.join(", ")}`);
  }
  if (enforcement.kind === "unseen") {
    return no(
      "NotEnforced",
      "the operator may not look at the admission policies: it needs get on validatingadmissionpolicies, mutatingadmissionpolicies and their bindings",
    );
  }
  if (!decided && now < enforcement.since) {
    const from = enforcement.since.toISOString();
    return no(
      "NotEnforced",
      `the admission policies are new: wait with the decision until ${from}, or its name is not vouched for`,
    );
  }
  if (!decided) return { status: "Unknown", reason: "AwaitingDecision", message: "no decision yet" };
  const before = status?.conditions?.find(({ type }) => type === "IdentityVerified");
  const trusted = before !== undefined && before.status !== "False";
  const undecidedAt = trusted ? before.lastTransitionTime : metadata.creationTimestamp;
  // Times have whole seconds. A policy that was taken away and put back in the grant's first second came before it or after.
  const youngest = Date.parse(undecidedAt) - (trusted ? 0 : 1_000);
  if (!(enforcement.since.getTime() <= youngest)) {
    return no(
      "NotEnforced",
      "the API server may not have enforced an admission policy yet when the decision was made: to have the name vouched for, revoke, and let the vendor ask again",
    );
  }
  if (spec.decidedBy === undefined) return no("NoName", "the decision carries no name");
  if (enforcement.kind === "stamped") return yes("StampedByAdmission", `the API server vouches for ${spec.decidedBy}`);
  return yes("ClaimCheckedByPolicy", `${spec.decidedBy} typed their own name, and a policy compared it with the user`);
}

/** Written before an approval of what could not run, and while it waits. */
function permitted({ grant, missing, denied, switchedOff, pluginProblems }: Outlook): Said<"Permitted"> {
  const lacks = missing.length === 0 ? [] : [`the operator may not ${rightsText(missing)}`];
  if (denied.length > 0) return no("PolicyDenied", `held also when approved: ${[...denied, ...lacks].join("; ")}`);
  const off = grant.spec.commands.flatMap(({ command }) => (switchedOff.includes(command) ? [command] : []));
  if (off.length > 0) {
    return no("ModeDisabled", `${off.join(", ")} is switched off in this cluster: no session opens, approved or not`);
  }
  const [problem] = pluginProblems;
  if (problem !== undefined) {
    const reason = problem.reason === "RuleMissing" ? "RuleMissing" : "OperationMissing";
    return no(reason, [...pluginProblems.map(({ message }) => message), ...lacks].join("; "));
  }
  if (lacks.length === 0) return yes("RightsComplete", "the operator has every right that this plan needs");
  return no("RuleMissing", lacks.join());
}

/** Before an approver decides on what could not run, and while it waits. */
function accepted({ grant, unaccepted, commands: known }: Outlook): Said<"Accepted"> {
  const { deploymentId, commands } = grant.spec;
  if (unaccepted.length === 0) {
    const wide = commands.some(({ command }) => known.isClusterWide(command));
    const where = wide
      ? "in its namespaces; the condition Permitted says what it may do outside them"
      : "where this plan acts";
    return yes("NamespacesAccepted", `deployment ${deploymentId} is accepted ${where}`);
  }
  return no(
    "NotAccepted",
    `deployment ${deploymentId} is not accepted in ${unaccepted.join(", ")}: an approval waits until it is; the ManagedDeployment ${objectName(deploymentId)} says how to accept it`,
  );
}

/** Where approvers lend: nothing of the plan can run before they have. */
function lent({ lending }: Outlook): Said<"Lent"> | undefined {
  if (lending === undefined) return undefined;
  const { lines, missing } = lending;
  if (missing.length === 0) return yes("BindingsSeen", "every binding that this plan needs is there");
  return no(
    "AwaitingBinding",
    `an approver makes ${missing.length} of ${lines.length} bindings; status.bindings has their lines`,
  );
}

function by(name: string | undefined): string {
  return name === undefined ? "" : ` by ${name}`;
}

function yes<Reason>(reason: Reason, message: string): { status: "True"; reason: Reason; message: string } {
  return { status: "True", reason, message };
}

function no<Reason>(reason: Reason, message: string): { status: "False"; reason: Reason; message: string } {
  return { status: "False", reason, message };
}
