import { grantAccount } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";

/** One thing that happened, by the cluster's own record. */
export interface TimelineEntry {
  /** RFC 3339. */
  readonly at: string;
  readonly who: string;
  readonly what: string;
}

export interface GrantRecord {
  readonly grant: AccessGrant;
  readonly invocations: readonly OperationInvocation[];
  readonly sessions: readonly DebugSession[];
}

/** Who asked, who decided, what ran as which account and how it ended, in order. */
export function timelineOf({ grant, invocations, sessions }: GrantRecord): readonly TimelineEntry[] {
  const account = grantAccount(grant.metadata.uid);
  const entries = [
    ...ofGrant(grant),
    ...invocations.flatMap((invocation) => ofInvocation(invocation, account)),
    ...sessions.flatMap(ofSession),
  ];
  return entries.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function ofGrant({ metadata, spec, status }: AccessGrant): readonly TimelineEntry[] {
  const condition = (type: string) => status?.conditions?.find((each) => each.type === type);
  const entries: TimelineEntry[] = [
    {
      at: metadata.creationTimestamp ?? "",
      who: spec.requestedBy ?? "the vendor",
      what: `asked for ${spec.commands.length} commands (${spec.risk}): ${spec.title}`,
    },
  ];
  const decider = spec.decidedBy ?? "a person without a name";
  const decided = condition("Approved");
  if (spec.deniedReason !== undefined && decided !== undefined) {
    entries.push({ at: decided.lastTransitionTime, who: decider, what: `denied: ${spec.deniedReason}` });
  }
  if (status?.approvedAt !== undefined) {
    const what = `approved for ${spec.approvedForMinutes} minutes, until ${status.approvedUntil}`;
    entries.push({ at: status.approvedAt, who: decider, what });
  }
  const active = condition("Active");
  if (spec.revokedReason !== undefined && active !== undefined) {
    const who = spec.revokedBy ?? "a person without a name";
    entries.push({ at: active.lastTransitionTime, who, what: `revoked: ${spec.revokedReason}` });
  } else if (active?.status === "False" && status?.approvedAt !== undefined) {
    entries.push({ at: active.lastTransitionTime, who: "the operator", what: `closed the window: ${active.message}` });
  }
  const succeeded = condition("Succeeded");
  if (succeeded !== undefined && succeeded.status !== "Unknown") {
    const what = `told the outcome: ${succeeded.reason}: ${succeeded.message}`;
    entries.push({ at: succeeded.lastTransitionTime, who: "the operator", what });
  }
  return entries;
}

function ofInvocation({ metadata, spec, status }: OperationInvocation, account: string): readonly TimelineEntry[] {
  const command = `${spec.plugin}/${spec.operation}`;
  const entries: TimelineEntry[] = [
    { at: metadata.creationTimestamp ?? "", who: "the vendor", what: `sent ${command} as ${metadata.name}` },
  ];
  if (status?.startedAt !== undefined) {
    entries.push({ at: status.startedAt, who: account, what: `began ${command}` });
  }
  if (status?.finishedAt !== undefined) {
    const error = status.error === undefined ? "" : `: ${status.error.code}: ${status.error.message}`;
    entries.push({ at: status.finishedAt, who: account, what: `ended ${command}, ${status.state}${error}` });
  }
  const authorized = status?.conditions?.find(({ type }) => type === "Authorized");
  if (status?.state === "Held" && authorized !== undefined) {
    const what = `held ${command}: ${authorized.reason}: ${authorized.message}`;
    entries.push({ at: authorized.lastTransitionTime, who: "the operator", what });
  }
  return entries;
}

function ofSession({ metadata, spec, status }: DebugSession): readonly TimelineEntry[] {
  const what = `debug session ${metadata.name} (${spec.mode} in ${spec.namespace})`;
  const { tunnel } = status ?? {};
  return [
    { at: metadata.creationTimestamp ?? "", who: spec.owner, what: `asked for the ${what}` },
    ...(tunnel?.attachedAt === undefined ? [] : [{ at: tunnel.attachedAt, who: spec.owner, what: `entered the ${what}` }]),
    ...(tunnel?.closed === undefined
      ? []
      : [{ at: tunnel.closed.at, who: "the tunnel", what: `closed the ${what}: ${tunnel.closed.reason}` }]),
  ];
}
