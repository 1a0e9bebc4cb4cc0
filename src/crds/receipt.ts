import { canonicalDigest } from "./canonical-digest.ts";
import { type AccessGrant, FINAL_GRANT_STATES, type GrantLine } from "./kinds/access-grant.ts";

/** Where a receipt stands among those of its deployment. `previous` is left out of the first one. */
export interface ReceiptLink {
  readonly sequence: number;
  readonly previous?: string | undefined;
}

/** Whether the name on a decision was written by the API server, typed and compared with the user, or neither. */
type NameFrom = "stamped" | "checked" | "unchecked";

/**
 * What became of one grant. Everything in it is said by the grant itself, so that each program that reads the grant
 * computes the same bytes. A field that has nothing to say is null: a field that is missing is then a change.
 */
export interface Receipt {
  readonly version: "v1";
  readonly deploymentId: string;
  readonly sequence: number;
  readonly previous: string | null;
  readonly request: {
    readonly id: string;
    readonly title: string;
    readonly risk: string;
    readonly planHash: string;
    readonly maxMinutes: number;
    readonly decideBefore: string;
    /** Each with the digest of its name and params. */
    readonly commands: readonly { readonly command: string; readonly digest: string }[];
  };
  readonly grant: { readonly uid: string; readonly createdAt: string };
  readonly decision: {
    readonly outcome: "approved" | "denied" | "none";
    readonly by: string | null;
    readonly nameFrom: NameFrom | null;
    readonly minutes: number | null;
    readonly reason: string | null;
  };
  readonly revocation: { readonly by: string | null; readonly reason: string } | null;
  readonly window: { readonly from: string; readonly until: string } | null;
  readonly state: string;
  readonly endedAt: string;
  readonly lines: readonly ReceiptLine[];
}

interface ReceiptLine {
  readonly index: number;
  readonly state: string;
  readonly commandId: string | null;
  /** The ServiceAccount that it ran as. */
  readonly account: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly resultDigest: string | null;
}

/** A receipt as it is shown, told and kept: with the digest that the grant's status holds and the next receipt names. */
export interface DigestedReceipt {
  readonly digest: string;
  readonly receipt: Receipt;
}

/**
 * The grant is over and nothing of it runs any more. From then on the API server refuses every change of what its receipt
 * says (rules of the CRD).
 */
export function isSettled({ status }: Pick<AccessGrant, "status">): boolean {
  if (status?.endedAt === undefined || !FINAL_GRANT_STATES.some((final) => final === status.state)) return false;
  return (status.commands ?? []).every(({ state }) => state !== "Starting" && state !== "Running");
}

/** Pure: the grant and the place in the chain are all that it reads. Undefined before the grant is settled. */
export function receiptOf(grant: AccessGrant, link: ReceiptLink | undefined): Receipt | undefined {
  const { metadata, spec, status } = grant;
  if (link === undefined || status?.state === undefined || status.endedAt === undefined || !isSettled(grant)) {
    return undefined;
  }
  const { approvedAt: from, approvedUntil: until } = status;
  return {
    version: "v1",
    deploymentId: spec.deploymentId,
    sequence: link.sequence,
    previous: link.previous ?? null,
    request: {
      id: spec.requestId,
      title: spec.title,
      risk: spec.risk,
      planHash: spec.planHash,
      maxMinutes: spec.maxMinutes,
      decideBefore: spec.decideBefore,
      commands: spec.commands.map(({ command, params = {} }) => ({
        command,
        digest: canonicalDigest({ command, params }),
      })),
    },
    grant: { uid: metadata.uid, createdAt: metadata.creationTimestamp },
    decision: decisionOf(grant),
    revocation: spec.revokedReason === undefined ? null : { by: spec.revokedBy ?? null, reason: spec.revokedReason },
    window: from === undefined || until === undefined ? null : { from, until },
    state: status.state,
    endedAt: status.endedAt,
    lines: (status.commands ?? []).map(lineOf),
  };
}

/** The receipt that the operator has linked, with its digest. */
export function linkedReceipt(grant: AccessGrant): DigestedReceipt | undefined {
  const receipt = receiptOf(grant, grant.status?.receipt);
  return receipt === undefined ? undefined : { digest: canonicalDigest(receipt), receipt };
}

function decisionOf({ spec, status }: AccessGrant): Receipt["decision"] {
  const { approvedForMinutes, deniedReason, decidedBy } = spec;
  const outcome = deniedReason !== undefined ? "denied" : approvedForMinutes !== undefined ? "approved" : "none";
  const identity = status?.conditions?.find(({ type }) => type === "IdentityVerified");
  const isVerified = identity?.status === "True";
  const nameFrom = !isVerified ? "unchecked" : identity.reason === "StampedByAdmission" ? "stamped" : "checked";
  return {
    outcome,
    by: decidedBy ?? null,
    nameFrom: decidedBy === undefined ? null : nameFrom,
    minutes: approvedForMinutes ?? null,
    reason: deniedReason ?? null,
  };
}

function lineOf({ index, state, commandId, account, startedAt, finishedAt, resultDigest }: GrantLine): ReceiptLine {
  return {
    index,
    state,
    commandId: commandId ?? null,
    account: account ?? null,
    startedAt: startedAt ?? null,
    finishedAt: finishedAt ?? null,
    resultDigest: resultDigest ?? null,
  };
}
