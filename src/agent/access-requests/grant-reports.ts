import type { ApprovalReport, DecisionReport, ReceiptReport } from "../../contract/access-requests/access-relay.ts";
import type { Identity } from "../../contract/access-requests/access-requests.ts";
import type { GrantReason } from "../../crds/conditions.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { linkedReceipt } from "../../crds/receipt.ts";

/** Longest reason of a report (§17.4). */
export const MAX_REASON = 1_024;

/** One report about a grant, which must reach the platform at least once. */
export type GrantReport =
  | { readonly kind: "approval"; readonly key: string; readonly report: ApprovalReport }
  | { readonly kind: "decision"; readonly key: string; readonly report: DecisionReport }
  | { readonly kind: "receipt"; readonly key: string; readonly report: ReceiptReport };

/**
 * All reports that must have reached the platform about this grant by now, in order: a revocation means nothing to a
 * platform that has no approval. Read from the operator's status and from what people wrote in spec, never guessed.
 *
 * @param gone the object was deleted: the last state seen, and deletion is an end of its own (§17.4).
 * @param awaited the platform still lists the request: it had no decision when it made the list.
 */
export function reportsOf(grant: AccessGrant, gone: boolean, awaited: boolean, now: Date): readonly GrantReport[] {
  const approval = approvalOf(grant, now);
  // The platform takes no revocation of what it does not know as approved (§17.4): it gets a denial instead.
  const isApprovedThere = approval.length > 0 || (grant.status?.approvedUntil !== undefined && !awaited);
  const end = endOf(grant, gone, isApprovedThere, now);
  return [...approval, ...(end === undefined ? [] : [end]), ...receiptReport(grant)];
}

/** The platform computes the digest anew, and refuses a receipt that has another one. */
function receiptReport(grant: AccessGrant): readonly GrantReport[] {
  const linked = linkedReceipt(grant);
  if (linked === undefined) return [];
  const digest = grant.status?.receipt?.digest ?? linked.digest;
  const report = { requestId: grant.spec.requestId, digest, receipt: { ...linked.receipt } };
  return [{ kind: "receipt", key: "receipt", report }];
}

function approvalOf(grant: AccessGrant, now: Date): readonly GrantReport[] {
  const { spec, status } = grant;
  if (status?.approvedUntil === undefined || spec.approvedForMinutes === undefined) return [];
  // A window that is over opens nothing any more, and the platform would refuse it (§17.3).
  if (Date.parse(status.approvedUntil) <= now.getTime()) return [];
  const report: ApprovalReport = {
    requestId: spec.requestId,
    approvedUntil: status.approvedUntil,
    ...(status.approvedAt === undefined ? {} : { approvedAt: status.approvedAt }),
    ...(spec.decidedBy === undefined ? {} : { decidedBy: spec.decidedBy }),
    planHash: spec.planHash,
    identity: identityOf(grant),
  };
  return [{ kind: "approval", key: `approval/${status.approvedUntil}`, report }];
}

function endOf(grant: AccessGrant, gone: boolean, isApprovedThere: boolean, now: Date): GrantReport | undefined {
  const { spec, status } = grant;
  switch (status?.state) {
    case "Denied":
      return decision(grant, "denied", spec.deniedReason, spec.decidedBy, now);
    case "Revoked":
      return decision(grant, isApprovedThere ? "revoked" : "denied", spec.revokedReason, spec.revokedBy, now);
    case "Lapsed":
      return decision(grant, "expired", lapseOf(grant), undefined, now);
    case "Superseded":
      return decision(grant, "expired", "superseded in the cluster", undefined, now);
    case "Expired":
      return decision(grant, "expired", "the approved window is over", undefined, now);
    case "Completed":
      return undefined;
    default: {
      if (!gone && grant.metadata.deletionTimestamp === undefined) return undefined;
      const outcome = spec.approvedForMinutes === undefined || !isApprovedThere ? "denied" : "revoked";
      return decision(grant, outcome, "the grant was deleted in the cluster", undefined, now);
    }
  }
}

function decision(
  grant: AccessGrant,
  outcome: DecisionReport["outcome"],
  reason: string | undefined,
  decidedBy: string | undefined,
  now: Date,
): GrantReport {
  const report: DecisionReport = {
    requestId: grant.spec.requestId,
    outcome,
    ...(reason === undefined ? {} : { reason }),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    identity: decidedBy === undefined ? "unknown" : identityOf(grant),
    at: grant.status?.endedAt ?? now.toISOString(),
    planHash: grant.spec.planHash,
  };
  return { kind: "decision", key: outcome, report };
}

/** The plan's faults, on which no person could decide; else nothing was decided. */
const FAULTS: readonly string[] = ["PlanHashMismatch", "RiskUnderstated"] satisfies GrantReason<"Approved">[];

/** Why a grant lapsed: what the operator says of its plan, and which operation it does not have. */
function lapseOf({ status }: AccessGrant): string {
  const denied = (wanted: string) =>
    status?.conditions?.find((each) => each.type === wanted && each.status === "False");
  const approved = denied("Approved");
  if (approved === undefined || !FAULTS.includes(approved.reason)) return "no decision in time";
  const permitted = denied("Permitted");
  const missing = permitted?.reason === "OperationMissing" ? `: ${permitted.message}` : "";
  return `${approved.message}${missing}`.slice(0, MAX_REASON);
}

/** How far the name can be trusted; the operator has checked the admission policies that stamp it. */
function identityOf({ spec, status }: AccessGrant): Identity {
  const condition = status?.conditions?.find(({ type }) => type === "IdentityVerified");
  if (condition?.status === "True") return "verified";
  return spec.decidedBy === undefined ? "unknown" : "claimed";
}
