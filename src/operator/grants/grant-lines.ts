import { canonicalDigest } from "../../crds/canonical-digest.ts";
import { debugAccount, grantAccount } from "../../crds/group.ts";
import type { AccessGrant, GrantLine, GrantState } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import type { CommandTable } from "../../crds/operations/catalog.ts";
import { isDebug } from "../../crds/operations/debug.ts";
import { isOfMachines } from "../../crds/operations/machines.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { claimDigest } from "../gate/gate.ts";
import { type CustomerPolicy, decisionOn, wantedOf } from "../gate/policy.ts";

export interface LineFacts {
  readonly grant: AccessGrant;
  readonly state: GrantState;
  readonly policy: CustomerPolicy;
  readonly commands: CommandTable;
  /** The invocation of a command, from the cache. */
  readonly invocationOf: (commandId: string) => OperationInvocation | undefined;
  /** The debug session that claimed a line, from the cache; none where debug sessions are switched off. */
  readonly sessionOf?: (sessionId: string) => DebugSession | undefined;
  /** The drain that claimed a line, from the cache; none where machines are switched off. */
  readonly drainOf?: (commandId: string) => MachineDrain | undefined;
}

/** One line per command of the plan, once there was an approval; before that there is nothing to say about them. */
export function grantLines(facts: LineFacts): readonly GrantLine[] | undefined {
  const { spec, status } = facts.grant;
  if (spec.approvedForMinutes === undefined && status?.commands === undefined) return undefined;
  return spec.commands.map((wanted, index) => {
    const line = status?.commands?.find((known) => known.index === index);
    if (line?.commandId === undefined) return unused(facts, wanted, index);
    if (isOfMachines(wanted.command)) return usedByDrain(facts, line);
    return isDebug(wanted.command) ? usedBySession(facts, line) : used(facts, line);
  });
}

function unused(
  { grant, state, policy, commands }: LineFacts,
  { command, params }: AccessGrant["spec"]["commands"][number],
  index: number,
): GrantLine {
  if (state !== "Approved") return { index, state: "Skipped", message: `the grant is ${state}` };
  if (decisionOn(policy, wantedOf(commands, command, params), grant.spec.deploymentId) === "deny") {
    return { index, state: "Held", message: "the customer's policy denies this operation" };
  }
  return { index, state: "Planned" };
}

/** What its invocation says became of a claimed line. The claim itself is the invocation reconciler's to write. */
function used({ grant, invocationOf }: LineFacts, line: GrantLine): GrantLine {
  if (line.state === "Succeeded" || line.state === "Failed" || line.state === "NotStarted") return line;
  const invocation = invocationOf(line.commandId ?? "");
  if (invocation === undefined || line.digest !== claimDigest(invocation.metadata.uid)) {
    return { ...line, state: "Unknown", message: "the invocation that claimed this line is gone" };
  }
  const { state, startedAt, finishedAt, error } = invocation.status ?? {};
  if (state === undefined || state === "Pending") return line;
  const times = {
    ...(startedAt && { startedAt, account: grantAccount(grant.metadata.uid) }),
    ...(finishedAt && { finishedAt, ...resultDigestOf(invocation) }),
  };
  const message = error && { message: lineWithoutCommands(`${error.code}: ${error.message}`, 1_024) };
  const { message: _, ...claimed } = line;
  if (state === "Held" || state === "Expired") {
    // This operator ends nothing that has started in this way. Where another writer did, the outcome is unknown here.
    const end = startedAt === undefined ? "NotStarted" : "Unknown";
    return { ...claimed, ...times, state: end, ...(message ?? { message: `the invocation is ${state}` }) };
  }
  return { ...claimed, ...times, state, ...message };
}

/** Of what the agent tells of it: the result, or the error where there is none. */
function resultDigestOf({ status }: OperationInvocation): Pick<GrantLine, "resultDigest"> {
  const told = status?.result ?? status?.error;
  return told === undefined ? {} : { resultDigest: canonicalDigest(told) };
}

/** What became of the session that claimed a line. Deleting a session ends it, so one that is gone is over. */
function usedBySession({ sessionOf }: LineFacts, line: GrantLine): GrantLine {
  if (isOver(line)) return line;
  const session = sessionOf?.(line.commandId ?? "");
  if (session === undefined || line.digest !== claimDigest(session.metadata.uid)) {
    const state = line.startedAt === undefined ? "NotStarted" : "Succeeded";
    return { ...line, state, message: "the session was deleted" };
  }
  const { state, openedAt, closedAt, closeReason, tunnel } = session.status ?? {};
  const opened = openedAt === undefined ? {} : { startedAt: openedAt, account: debugAccount(session.metadata.uid) };
  if (state === "Open" || (state === "Closing" && openedAt !== undefined))
    return { ...line, ...opened, state: "Running" };
  if (state !== "Closed" && state !== "Refused") return line;
  const message = `the session ended: ${closeReason}`;
  if (openedAt === undefined) return { ...line, state: "NotStarted", message };
  const { head } = tunnel?.audit ?? {};
  // The records of what was asked in the session are its result.
  const result = head === undefined ? {} : { resultDigest: `sha256:${head}` };
  return { ...line, ...opened, ...(closedAt && { finishedAt: closedAt }), ...result, state: "Succeeded", message };
}

/** What became of the drain that claimed a line. Deleting a drain cancels it. */
function usedByDrain({ drainOf }: LineFacts, line: GrantLine): GrantLine {
  if (isOver(line)) return line;
  const drain = drainOf?.(line.commandId ?? "");
  if (drain === undefined || line.digest !== claimDigest(drain.metadata.uid)) {
    const state = line.startedAt === undefined ? "NotStarted" : "Failed";
    return { ...line, state, message: "the drain was deleted" };
  }
  const { state, startedAt, drainedAt, conditions = [] } = drain.status ?? {};
  const begun = startedAt === undefined ? {} : { startedAt };
  const ended = drainedAt === undefined ? {} : { finishedAt: drainedAt };
  const isRemoved = conditions.some(({ type, status }) => type === "Removed" && status === "True");
  if (state === "Failed") {
    return startedAt === undefined
      ? { ...line, state: "NotStarted", message: "the node was not found" }
      : { ...line, ...begun, state: "Failed", message: "the drain failed" };
  }
  if (state === "Drained" && (drain.spec.requested?.remove !== true || isRemoved)) {
    return { ...line, ...begun, ...ended, state: "Succeeded" };
  }
  return startedAt === undefined ? line : { ...line, ...begun, state: "Running" };
}

/** Nothing more will come of it. */
export function isOver({ state }: GrantLine): boolean {
  return state === "Succeeded" || state === "Failed" || state === "NotStarted" || state === "Unknown";
}
