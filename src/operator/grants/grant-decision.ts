import { isDeepStrictEqual } from "node:util";
import type { AccessGrant, AccessGrantStatus, GrantState } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { MAX_BINDING_LINES } from "../../crds/kinds/lending.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import type { RequiredRight } from "../../crds/manifests/roles/required-rights.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { isSettled } from "../../crds/receipt.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import type { PlanLending } from "../access/role-lending.ts";
import type { Enforcement } from "../gate/enforcement.ts";
import type { CommandProblem } from "../gate/gate.ts";
import { type GrantWindow, isTooLate, newWindow, openedWindow } from "../gate/grant-window.ts";
import { planFault } from "../gate/plan-check.ts";
import { type CustomerPolicy, denialOf, wantedOf } from "../gate/policy.ts";
import { grantConditions } from "./grant-conditions.ts";
import { grantLines, isOver } from "./grant-lines.ts";

/** Everything that a decision about one grant looks at. */
export interface GrantFacts {
  readonly grant: AccessGrant;
  readonly policy: CustomerPolicy;
  readonly enforcement: Enforcement;
  readonly commands: CommandTable;
  readonly invocationOf: (commandId: string) => OperationInvocation | undefined;
  readonly sessionOf?: (sessionId: string) => DebugSession | undefined;
  readonly drainOf?: (commandId: string) => MachineDrain | undefined;
  /** Rights that the operator lacks and this plan needs. */
  readonly missing: readonly RequiredRight[];
  /** Commands of debug sessions that are switched off here. Default none. */
  readonly switchedOff?: readonly string[];
  /** Why an operation of a plugin cannot run here. Default: no plugin has one. */
  readonly problemOf?: (command: string) => CommandProblem | undefined;
  /** Where the plan acts and the customer does not accept its deployment: namespaces, or ANY_NAMESPACE. */
  readonly unaccepted: readonly string[];
  /** What approvers have to lend for it. Undefined where the operator lends, and once the grant is over. */
  readonly lending: PlanLending | undefined;
  /** The operator cannot read what it decides by: it closes what is to be closed, and opens nothing. */
  readonly isBlind: boolean;
}

export type GrantAction =
  /** Stop what is running under this grant; it does not wait for an answer. */
  | { readonly do: "stopRunning"; readonly because: "revoked" | "window closed" }
  /**
   * RoleBindings first, then the account: a deleted account's token works for 10 s more, a binding's end is at once.
   */
  | { readonly do: "closeAccess" }
  | { readonly do: "writeStatus"; readonly status: AccessGrantStatus }
  /** What is stored is what the receipt says. */
  | { readonly do: "linkReceipt" }
  | { readonly do: "comeBack"; readonly afterMs: number };

/** While an approved plan waits for a binding: those cannot be watched with what the operator may do. */
export const LOOK_AGAIN_MS = 3_000;

/**
 * What has to happen to this grant at `now`. Pure: no clock, no I/O, no log.
 *
 * Access is closed before the end is written: after a crash anywhere no access is left under a grant whose status says
 * that it is over.
 */
export function decideGrant(facts: GrantFacts, now: Date): readonly GrantAction[] {
  const { grant } = facts;
  const before = grant.status?.state ?? "Pending";
  const deleted = grant.metadata.deletionTimestamp !== undefined;
  const status = nextStatus(facts, now);
  const state = status.state ?? "Pending";
  const actions: GrantAction[] = [];
  const wasOpened = grant.status?.approvedAt !== undefined;
  if (wasOpened && (deleted || (isUndecidedOrApproved(before) && !isUndecidedOrApproved(state)))) {
    if (state !== "Completed") {
      actions.push({ do: "stopRunning", because: state === "Expired" ? "window closed" : "revoked" });
    }
    actions.push({ do: "closeAccess" });
  }
  // An equal status is not written: our own write comes back as an event, and would spin forever.
  if (!isDeepStrictEqual(status, grant.status)) actions.push({ do: "writeStatus", status });
  else if (isSettled(grant) && status.receipt === undefined && !deleted) actions.push({ do: "linkReceipt" });
  const next = nextInstant(facts, status, now);
  const awaits = state === "Approved" && (facts.lending?.missing.length ?? 0) > 0;
  if (next !== undefined) {
    const afterMs = Math.min(next - now.getTime(), awaits ? LOOK_AGAIN_MS : Number.POSITIVE_INFINITY);
    actions.push({ do: "comeBack", afterMs: Math.max(afterMs, 1) });
  }
  return actions;
}

function nextStatus(facts: GrantFacts, now: Date): AccessGrantStatus {
  const { grant, policy, commands, isBlind, missing, unaccepted } = facts;
  const fault = planFault(grant.spec, commands.tierOf);
  const late = isTooLate(grant, now);
  const opened = openedWindow(grant);
  // A window that opens now would use up the approval: the gate lets nothing of the plan through.
  const mustWait = isBlind || unaccepted.length > 0;
  const mayOpen = !mustWait && fault === undefined && !late && isUndecidedOrApproved(grant.status?.state ?? "Pending");
  const window = opened ?? (mayOpen ? newWindow(grant, policy.maxWindowMinutes, now) : undefined);
  const settled = nextState(grant, { fault: fault !== undefined, late, window, mustWait }, now);
  const lines = isSettled(grant) ? grant.status?.commands : grantLines({ ...facts, state: settled });
  // A plan that has run to its end is not "expired" a minute later.
  const complete = settled === "Approved" && lines?.every(isOver) === true;
  const state = complete ? "Completed" : settled;
  return {
    ...grant.status,
    state,
    commandCount: grant.spec.commands.length,
    observedGeneration: grant.metadata.generation ?? 0,
    ...recorded(grant, window, state),
    ...(isUndecidedOrApproved(grant.status?.state ?? "Pending") &&
      !isUndecidedOrApproved(state) && { endedAt: timestamp(now) }),
    ...(facts.lending && { bindings: shown(facts.lending) }),
    ...(lines && { commands: lines.map((line) => ({ ...line })) }),
    conditions: grantConditions(
      {
        grant,
        state,
        minutes: heldMinutes(window, grant, policy, now),
        commands,
        fault,
        lines: lines ?? [],
        enforcement: facts.enforcement,
        notify: policy.notify,
        missing,
        denied: deniedLines(facts),
        switchedOff: facts.switchedOff ?? [],
        pluginProblems: pluginProblems(facts),
        unaccepted,
        lending: facts.lending,
      },
      now,
    ),
  };
}

/** Of the window; before one is open, of that which would open now. */
function heldMinutes(
  window: GrantWindow | undefined,
  grant: AccessGrant,
  policy: CustomerPolicy,
  now: Date,
): number | undefined {
  const held = window ?? newWindow(grant, policy.maxWindowMinutes, now);
  return held && Math.floor((held.until.getTime() - held.from.getTime()) / 60_000);
}

/** The lines that the customer's policies hold whatever an approver says, each with the reason. */
function deniedLines({ grant, policy, commands }: GrantFacts): readonly string[] {
  const { commands: lines, deploymentId } = grant.spec;
  return lines.flatMap(({ command, params }, index) => {
    const denial = denialOf(policy, wantedOf(commands, command, params), deploymentId);
    return denial === undefined ? [] : [`line ${index + 1}: ${denial}`];
  });
}

function pluginProblems({ grant, problemOf }: GrantFacts): readonly CommandProblem[] {
  const commands = new Set(grant.spec.commands.map(({ command }) => command));
  return [...commands].flatMap((command) => problemOf?.(command) ?? []);
}

/** As many lines as the status can hold, those with a missing binding first. */
function shown({ lines, missing }: PlanLending): string[] {
  return [...new Set([...missing, ...lines])].slice(0, MAX_BINDING_LINES);
}

interface Facts {
  readonly fault: boolean;
  readonly late: boolean;
  readonly window: GrantWindow | undefined;
  readonly mustWait: boolean;
}

/**
 * The state at `now`. A final state never changes. Else the customer's decision rules, then a plan that cannot run,
 * then the clock.
 */
function nextState({ spec, status }: AccessGrant, { fault, late, window, mustWait }: Facts, now: Date): GrantState {
  const state = status?.state ?? "Pending";
  if (!isUndecidedOrApproved(state)) return state;
  if (spec.deniedReason !== undefined) return "Denied";
  if (spec.revokedReason !== undefined) return "Revoked";
  if (fault) return "Lapsed";
  if (spec.approvedForMinutes === undefined) return late ? "Lapsed" : "Pending";
  // An approval in time is not lost to a missing right of ours or a missing acceptance: it waits.
  if (window === undefined) return mustWait && !late ? state : "Lapsed";
  return now < window.until ? "Approved" : "Expired";
}

/** The window is written once, with the state that it opens; a decision that came to nothing leaves none behind. */
function recorded(
  { status }: AccessGrant,
  window: GrantWindow | undefined,
  state: GrantState,
): Pick<AccessGrantStatus, "approvedAt" | "approvedUntil"> {
  if (status?.approvedUntil !== undefined || window === undefined) return {};
  if (state !== "Approved" && state !== "Completed" && state !== "Expired") return {};
  return { approvedAt: timestamp(window.from), approvedUntil: timestamp(window.until) };
}

/** When the clock alone will change something; `decideBefore` itself is still in time, so one millisecond later. */
function nextInstant(
  { grant: { spec }, enforcement }: GrantFacts,
  status: AccessGrantStatus,
  now: Date,
): number | undefined {
  if (status.state === "Pending") {
    const late = Date.parse(spec.decideBefore) + 1;
    // From then on a decision's name can be vouched for, if the grant is seen undecided once more.
    return "since" in enforcement && now < enforcement.since ? Math.min(late, enforcement.since.getTime()) : late;
  }
  return status.state === "Approved" && status.approvedUntil !== undefined
    ? Date.parse(status.approvedUntil)
    : undefined;
}

function isUndecidedOrApproved(state: GrantState): boolean {
  return state === "Pending" || state === "Approved";
}
