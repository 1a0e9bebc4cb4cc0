import { isLabelSelector } from "../../base/label-selector.ts";
import type { DebugSessionReason } from "../../crds/conditions.ts";
import type { LendingMode } from "../../crds/group.ts";
import type { NamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import type { AccessGrant, GrantLine } from "../../crds/kinds/access-grant.ts";
import type { DebugCloseReason, DebugSession } from "../../crds/kinds/debug-session.ts";
import type { ManagedDeployment } from "../../crds/kinds/managed-deployment.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { DEBUG_OPERATIONS, type DebugMode } from "../../crds/operations/debug.ts";
import { parseParams } from "../../crds/operations/params.ts";
import { sameParams } from "../../crds/plan.ts";
import { type ClaimableLine, claimDigest, closedBecause, placeRefusal } from "../gate/gate.ts";
import { openedWindow } from "../gate/grant-window.ts";
import { planFault } from "../gate/plan-check.ts";
import { type CustomerPolicy, decisionOn, wantedOf } from "../gate/policy.ts";

/** What the installation allows. */
export interface DebugLimits {
  readonly modes: readonly DebugMode[];
  readonly maxTtlMs: number;
  readonly maxConcurrent: number;
  readonly lendingMode: LendingMode;
}

/** Everything that the decision about one session looks at. It does no I/O. */
export interface SessionFacts {
  readonly session: DebugSession;
  /** The grant that the session names, if it names one and there is one. */
  readonly grant: AccessGrant | undefined;
  readonly policy: CustomerPolicy;
  readonly commands: CommandTable;
  readonly deployments: readonly Pick<ManagedDeployment, "spec" | "status">[];
  readonly named: NamedDeployments;
  readonly limits: DebugLimits;
  /** Other sessions that are opening, open or closing. */
  readonly others: number;
  readonly now: Date;
}

type Reason = DebugSessionReason<"Authorized">;
/** Why not; each is a reason of the condition Authorized, and final. */
export type SessionRefusal = Exclude<Reason, "GrantMatched" | "PolicyAuto">;

export interface OpenVerdict {
  readonly do: "open";
  readonly reason: "GrantMatched" | "PolicyAuto";
  /** Absent when the policy alone opens it. */
  readonly granted?: ClaimableLine & { readonly grantUid: string };
}

export interface WaitVerdict {
  readonly do: "wait";
  /** What it would be refused for. */
  readonly reason: SessionRefusal;
  readonly message: string;
  readonly againMs?: number;
}

export type SessionVerdict =
  | OpenVerdict
  | WaitVerdict
  | { readonly do: "refuse"; readonly reason: SessionRefusal; readonly message: string };

/** A session that has not been opened by then is not opened any more: its engineer has gone. */
export const OPEN_WITHIN_MS = 60_000;
const LONGEST_MS = 8 * 3_600_000;

/**
 * May this session be opened now? What people wrote decides (the grant's spec, policies, deployments); a fact that is
 * missing or makes no sense leads to a refusal.
 *
 * A line is claimed once and never freed. A session that is refused although it has claimed one, because its operator died
 * between the claim and the next step, is refused with `LineUsed`: every other reason says that the approval is not used up.
 */
export function sessionVerdict(facts: SessionFacts): SessionVerdict {
  const verdict = judged(facts);
  const mine = verdict.do === "refuse" ? ownLine(facts) : undefined;
  if (verdict.do !== "refuse" || verdict.reason === "LineUsed" || mine === undefined) return verdict;
  return refuse("LineUsed", `${verdict.message}; line ${mine.index + 1} of the plan is used up`);
}

/** Every rule, in order, the first that applies wins. */
function judged(facts: SessionFacts): SessionVerdict {
  const { session, policy, limits, now } = facts;
  const { spec, metadata } = session;
  const ended = endedBy(session, now);
  if (ended !== undefined) return refuse("Ended", ended);
  const ageMs = now.getTime() - Date.parse(metadata.creationTimestamp);
  if (!(ageMs < OPEN_WITHIN_MS)) return refuse("NotOpenedInTime", "it could not be opened within a minute");
  if (!(Date.parse(spec.expiresAt) - Date.parse(metadata.creationTimestamp) <= LONGEST_MS)) {
    return refuse("TooLong", "a session ends at most 8 hours after it was asked for");
  }
  if (limits.lendingMode !== "operator") {
    return refuse(
      "LendingByApprovers",
      "debug sessions need lending.mode=operator: only the operator can lend for one",
    );
  }
  if (!limits.modes.includes(spec.mode)) return refuse("ModeDisabled", `mode ${spec.mode} is switched off here`);
  // The API server takes a blank one for every pod, and the customer may have approved it as a restriction.
  if (spec.selector !== undefined && !isLabelSelector(spec.selector)) {
    return refuse("ModeMismatch", "the session's selector is no label selector");
  }
  const unserved = unservedPlace(facts);
  if (unserved !== undefined) return unserved;
  const command = `debug/${spec.mode}`;
  const params = paramsOf(session);
  const decision = decisionOn(policy, wantedOf(facts.commands, command, params), spec.deploymentId);
  if (decision === "deny") return refuse("PolicyDenied", `the customer's policy denies ${command}, approved or not`);
  if (spec.grantName !== undefined) return withPlace(facts, withGrant(facts, command, params));
  if (decision === "auto") return withPlace(facts, { do: "open", reason: "PolicyAuto" });
  return refuse("NoGrant", `${command} needs an approved access grant`);
}

function withPlace({ others, limits: { maxConcurrent } }: SessionFacts, verdict: SessionVerdict): SessionVerdict {
  if (verdict.do !== "open" || others < maxConcurrent) return verdict;
  const message = `${maxConcurrent} sessions may be open at a time`;
  // Another took the place while no operator ran. A refusal would use up the line for nothing.
  if (verdict.granted?.claimed) return { do: "wait", reason: "TooMany", message };
  return refuse("TooMany", message);
}

/** The params that a line of a plan has for this very session: nothing less, nothing more. */
export function paramsOf({ spec }: Pick<DebugSession, "spec">): Readonly<Record<string, unknown>> {
  const { namespace, mode, clientKey, ports, selector } = spec;
  return { namespace, mode, clientKey, ...(ports && { ports }), ...(selector !== undefined && { selector }) };
}

function endedBy({ metadata, spec }: DebugSession, now: Date): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return "the session is being deleted";
  if (spec.endedReason !== undefined) return "a person ended it before it was opened";
  return now.getTime() < Date.parse(spec.expiresAt) ? undefined : "its time was over before it was opened";
}

function unservedPlace({ session: { spec }, ...facts }: SessionFacts): SessionVerdict | undefined {
  const unserved = placeRefusal(facts, spec.deploymentId, spec.namespace);
  if (unserved === undefined) return undefined;
  const { reason, message } = unserved;
  return refuse(reason === "DeploymentNotAccepted" ? "DeploymentNotServed" : reason, message);
}

function withGrant(
  { session, grant, commands, now }: SessionFacts,
  command: string,
  params: Readonly<Record<string, unknown>>,
): SessionVerdict {
  const { grantName, deploymentId } = session.spec;
  if (grant === undefined) return refuse("NoGrant", `there is no access grant ${grantName}`);
  if (grant.spec.deploymentId !== deploymentId) {
    return refuse("ModeMismatch", `grant ${grantName} is for deployment ${grant.spec.deploymentId}`);
  }
  const closed = closedBecause(grant);
  if (closed !== undefined) return refuse("GrantClosed", closed);
  const fault = planFault(grant.spec, commands.tierOf);
  if (fault !== undefined) return refuse("GrantClosed", `nothing runs under this plan: ${fault.message}`);
  const window = openedWindow(grant);
  if (window === undefined) {
    const message = "the approval is being recorded";
    if (grant.status?.approvedAt === undefined) return { do: "wait", reason: "NoGrant", message };
    return refuse("GrantClosed", "the recorded window does not follow from the approval");
  }
  if (now < window.from) {
    const againMs = window.from.getTime() - now.getTime();
    return { do: "wait", reason: "NoGrant", message: "the window has not begun", againMs };
  }
  if (now >= window.until) return refuse("GrantClosed", `the window ended at ${window.until.toISOString()}`);
  const line = lineFor(session, grant, command, params);
  return "do" in line
    ? line
    : { do: "open", reason: "GrantMatched", granted: { ...line, grantUid: grant.metadata.uid } };
}

/** The first unused line that is exactly this mode with exactly this namespace, key, ports and selector. */
function lineFor(
  session: DebugSession,
  grant: AccessGrant,
  command: string,
  params: Readonly<Record<string, unknown>>,
): ClaimableLine | SessionVerdict {
  const { metadata, spec } = session;
  const { spec: plan, status } = grant;
  const declared = DEBUG_OPERATIONS.find((each) => each.command === command);
  const matching = plan.commands.flatMap((line, index) =>
    line.command === command && sameParams(line.params, params) ? [index] : [],
  );
  if (declared === undefined || !parseParams(declared.params, params).ok || matching.length === 0) {
    return refuse(
      "ModeMismatch",
      `no line of the plan is ${command} with this namespace, client key, ports and selector`,
    );
  }
  const lines = status?.commands ?? [];
  const mine = ownLine({ session, grant });
  if (mine !== undefined) {
    const resumable = mine.state === "Starting" && mine.digest === claimDigest(metadata.uid);
    if (resumable && matching.includes(mine.index)) return { index: mine.index, claimed: true };
    return refuse("LineUsed", `session ${spec.sessionId} has used line ${mine.index + 1} of the plan`);
  }
  const free = matching.find((index) => lines.find((line) => line.index === index)?.commandId === undefined);
  if (free !== undefined) return { index: free, claimed: false };
  return refuse("LineUsed", `every line of the plan that is ${command} with these params has been used`);
}

/** The line that was claimed for this session. */
function ownLine({ session, grant }: Pick<SessionFacts, "session" | "grant">): GrantLine | undefined {
  return grant?.status?.commands?.find(({ commandId }) => commandId === session.spec.sessionId);
}

/** Everything that ends an open session: the first that holds, with the word that the platform is told. */
export function endOf(facts: SessionFacts): DebugCloseReason | undefined {
  const { session, policy, limits, grant, now } = facts;
  const { metadata, spec, status } = session;
  if (metadata.deletionTimestamp !== undefined) return "killed";
  if (spec.endedReason !== undefined) return "revoked";
  if (status?.tunnel?.closed !== undefined) return status.tunnel.closed.reason;
  const until = status?.until ?? spec.expiresAt;
  // Written so that an unreadable instant ends the session.
  if (!(now.getTime() < Date.parse(until))) return "expired";
  const command = `debug/${spec.mode}`;
  const wanted = wantedOf(facts.commands, command, paramsOf(session));
  const decision = decisionOn(policy, wanted, spec.deploymentId);
  if (decision === "deny") return "revoked";
  if (!limits.modes.includes(spec.mode) || limits.lendingMode !== "operator") return "revoked";
  if (unservedPlace(facts) !== undefined) return "revoked";
  // The policy alone opened it: without that rule nothing allows it any more.
  if (spec.grantName === undefined) return decision === "auto" ? undefined : "revoked";
  if (grant === undefined || closedBecause(grant) !== undefined) return "revoked";
  const window = openedWindow(grant);
  return window !== undefined && now < window.until ? undefined : "expired";
}

/** When it ends by itself at the latest, if it was authorized at `from`. Always the same for the same session. */
export function untilOf(
  { session, grant, limits }: Pick<SessionFacts, "session" | "grant" | "limits">,
  from: Date,
): Date {
  const window = grant === undefined ? undefined : openedWindow(grant);
  const ends = [
    Date.parse(session.spec.expiresAt),
    from.getTime() + Math.min(limits.maxTtlMs, LONGEST_MS),
    ...(window ? [window.until.getTime()] : []),
  ];
  // Whole seconds, as Kubernetes writes times.
  return new Date(Math.floor(Math.min(...ends) / 1_000) * 1_000);
}

function refuse(reason: SessionRefusal, message: string): SessionVerdict {
  return { do: "refuse", reason, message };
}
