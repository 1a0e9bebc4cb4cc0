import { minutesText } from "../../crds/approved-minutes.ts";
import { grantAccount } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import { Table } from "../kernel/output.ts";

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

/**
 * Who asked, who decided, what ran as which account and how it ended, in order. Most of the cluster's times are whole seconds: what
 * has the same one stands in the order in which it can have happened.
 */
export function timelineOf({ grant, invocations, sessions }: GrantRecord): readonly TimelineEntry[] {
  const account = grantAccount(grant.metadata.uid);
  const entries = [
    ...beginningOf(grant),
    ...invocations.flatMap((invocation) => ofInvocation(invocation, account)),
    ...sessions.flatMap(ofSession),
    ...endOf(grant),
  ];
  return entries.sort((one, other) => second(one) - second(other));
}

function second({ at }: TimelineEntry): number {
  return Math.floor(Date.parse(at) / 1_000);
}

const NAMELESS = "a person without a name";
const OPERATOR = "the operator";

function beginningOf({ metadata, spec, status }: AccessGrant): readonly TimelineEntry[] {
  const lines = spec.commands.length === 1 ? "one command" : `${spec.commands.length} commands`;
  const entries = [
    {
      at: metadata.creationTimestamp ?? "",
      who: spec.requestedBy ?? "the vendor",
      what: `asked for ${lines} (${spec.risk}): ${spec.title}`,
    },
  ];
  const who = spec.decidedBy ?? NAMELESS;
  const decision = conditionOf(status, "Approved");
  if (spec.deniedReason !== undefined && decision !== undefined) {
    entries.push({ at: decision.lastTransitionTime, who, what: `denied: ${spec.deniedReason}` });
  }
  if (status?.approvedAt !== undefined) {
    const { approvedAt, approvedUntil = "" } = status;
    const held = Math.floor((Date.parse(approvedUntil) - Date.parse(approvedAt)) / 60_000);
    const what = `approved for ${minutesText(spec.approvedForMinutes ?? held, held)}, until ${approvedUntil}`;
    entries.push({ at: status.approvedAt, who, what });
  }
  return entries;
}

function endOf({ spec, status }: AccessGrant): readonly TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  const active = conditionOf(status, "Active");
  if (spec.revokedReason !== undefined && active !== undefined) {
    const who = spec.revokedBy ?? NAMELESS;
    entries.push({ at: active.lastTransitionTime, who, what: `revoked: ${spec.revokedReason}` });
  } else if (active?.status === "False" && status?.approvedAt !== undefined) {
    entries.push({ at: active.lastTransitionTime, who: OPERATOR, what: `closed the window: ${active.message}` });
  }
  const succeeded = conditionOf(status, "Succeeded");
  if (succeeded !== undefined && succeeded.status !== "Unknown") {
    const what = `told the outcome, ${succeeded.reason}: ${succeeded.message}`;
    entries.push({ at: succeeded.lastTransitionTime, who: OPERATOR, what });
  }
  return entries;
}

function ofInvocation({ metadata, spec, status }: OperationInvocation, account: string): readonly TimelineEntry[] {
  const command = `${spec.plugin}/${spec.operation}`;
  const entries = [
    { at: metadata.creationTimestamp ?? "", who: "the vendor", what: `sent ${command} as ${metadata.name}` },
  ];
  const { startedAt, finishedAt, state, error } = status ?? {};
  if (startedAt !== undefined) entries.push({ at: startedAt, who: account, what: `began ${command}` });
  if (finishedAt !== undefined) {
    const why = error === undefined ? "" : `: ${error.code}: ${error.message}`;
    // What never began was ended by the operator.
    const who = startedAt === undefined ? OPERATOR : account;
    entries.push({ at: finishedAt, who, what: `ended ${command}, ${state}${why}` });
  }
  const authorized = conditionOf(status, "Authorized");
  if (state === "Held" && authorized !== undefined) {
    const what = `held ${command}, ${authorized.reason}: ${authorized.message}`;
    entries.push({ at: authorized.lastTransitionTime, who: OPERATOR, what });
  }
  return entries;
}

function ofSession({ metadata, spec, status }: DebugSession): readonly TimelineEntry[] {
  const session = `debug session ${metadata.name}`;
  const { tunnel, closedAt, closeReason } = status ?? {};
  const what = `asked for ${session}, ${spec.mode} in ${spec.namespace}`;
  const entries = [{ at: metadata.creationTimestamp ?? "", who: spec.owner, what }];
  if (tunnel?.attachedAt !== undefined) {
    entries.push({ at: tunnel.attachedAt, who: spec.owner, what: `entered ${session}` });
  }
  if (closedAt !== undefined) entries.push({ at: closedAt, who: OPERATOR, what: `closed ${session}: ${closeReason}` });
  return entries;
}

interface Told {
  readonly conditions?:
    | readonly {
        readonly type: string;
        readonly status: string;
        readonly reason: string;
        readonly message: string;
        readonly lastTransitionTime: string;
      }[]
    | undefined;
}

function conditionOf(status: Told | undefined, type: string) {
  return status?.conditions?.find((each) => each.type === type);
}

export function timelineTable(entries: readonly TimelineEntry[]): string {
  return new Table(["at", "who", "what"]).lines(entries.map((entry) => ({ ...entry })));
}
