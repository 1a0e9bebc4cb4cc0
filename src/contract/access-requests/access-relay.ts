import Type, { type Static } from "typebox";
import { claim } from "../operations/commands.ts";
import { TierWord } from "../operations/operations.ts";
import type { ErrorCode } from "../wire/errors.ts";
import { NAMESPACE, RESOURCE_PLURAL } from "../wire/pasted-line.ts";
import { MANAGER } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import { AccessRequestId, Bounded, DeploymentId, FreeMap, Nullable, Strict, Timestamp, Words } from "../wire/schema.ts";
import { AccessRequestStatusWord, DECISION_OUTCOMES, IDENTITIES, PlanLine } from "./access-requests.ts";
import { RECEIPT_BYTES } from "./receipts.ts";

// One bad item never fails the others (§17): ids and texts of items are only bounded here, and judged one by one.
const RequestRef = Type.String({ minLength: 1, maxLength: 128 });
const PlanHash = Type.String({ maxLength: 128 });
const Name = Type.String({ maxLength: 512 });

/** What the customer granted, as the manager read it in the cluster. */
export const ApprovalReport = Strict({
  requestId: RequestRef,
  approvedUntil: Timestamp,
  approvedAt: Type.Optional(Timestamp),
  decidedBy: Type.Optional(Name),
  planHash: Type.Optional(PlanHash),
  identity: Type.Optional(Words(IDENTITIES)),
});
export type ApprovalReport = Static<typeof ApprovalReport>;

/** An end other than an approval. A grant that lapsed or was superseded in the cluster is reported as `expired`. */
export const DecisionReport = Strict({
  requestId: RequestRef,
  outcome: Words(DECISION_OUTCOMES.filter((outcome) => outcome !== "approved")),
  reason: Type.Optional(Type.String({ maxLength: 1024 })),
  decidedBy: Type.Optional(Name),
  identity: Type.Optional(Words(IDENTITIES)),
  at: Type.Optional(Timestamp),
  planHash: Type.Optional(PlanHash),
});
export type DecisionReport = Static<typeof DecisionReport>;

/** What became of a grant. The receipt is judged by its item: a cluster that is newer may say more in it. */
const ReceiptReport = Strict({
  requestId: RequestRef,
  digest: PlanHash,
  receipt: Bounded(RECEIPT_BYTES, FreeMap),
});
export type ReceiptReport = Static<typeof ReceiptReport>;

export const REPORT_OUTCOMES = ["recorded", "duplicate", "ignored"] as const;
/** Why an item was ignored. */
export const REPORT_CODES = [
  "NOT_FOUND",
  "CONFLICT",
  "PLAN_HASH_MISMATCH",
  "VALIDATION_ERROR",
  "INVALID_STATE_TRANSITION",
] as const satisfies readonly ErrorCode[];

export const ReportResult = Strict({
  requestId: RequestRef,
  outcome: Words(REPORT_OUTCOMES),
  code: Type.Optional(Words(REPORT_CODES)),
});
export type ReportResult = Static<typeof ReportResult>;

export const PendingRequest = Strict({
  id: AccessRequestId,
  title: Type.String(),
  reason: Nullable(Type.String()),
  commands: Type.Array(PlanLine),
  risk: TierWord,
  planHash: Type.String(),
  maxMinutes: Type.Integer(),
  decideBefore: Timestamp,
  debug: Type.Boolean(),
  requestedBy: Type.String(),
  createdAt: Timestamp,
});
export type PendingRequest = Static<typeof PendingRequest>;

const ClosedRequest = Strict({ requestId: AccessRequestId, status: AccessRequestStatusWord, at: Timestamp });

const answers = { recorded: Type.Integer({ minimum: 0 }), results: Type.Array(ReportResult) };
const reported = Strict(answers);

export const accessRelayRoutes = routes({
  pending: {
    method: "GET",
    path: "/v1/access-requests/pending",
    summary: "Every request of a deployment that waits for the customer, and those that need no decision any more.",
    roles: MANAGER,
    query: Type.Object({ deploymentId: DeploymentId }),
    success: 200,
    response: Strict({ requests: Type.Array(PendingRequest), closed: Type.Array(ClosedRequest) }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  materialized: {
    method: "POST",
    path: "/v1/access-requests/materialized",
    summary: "Where the grants of these requests lie in the cluster.",
    roles: MANAGER,
    body: Strict({
      deploymentId: DeploymentId,
      requestIds: Type.Array(RequestRef, { minItems: 1, maxItems: 100 }),
      namespace: Type.String({ pattern: NAMESPACE, maxLength: 63 }),
      resourcePlural: Type.String({ pattern: RESOURCE_PLURAL, maxLength: 253 }),
    }),
    success: 200,
    response: reported,
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  approvals: {
    method: "POST",
    path: "/v1/access-requests/approvals",
    summary: "Grants that the customer approved.",
    roles: MANAGER,
    body: Strict({
      deploymentId: DeploymentId,
      approvals: Type.Array(ApprovalReport, { minItems: 1, maxItems: 100 }),
      ...claim.body,
    }),
    success: 200,
    response: Strict({ ...answers, ...claim.response }),
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  decisions: {
    method: "POST",
    path: "/v1/access-requests/decisions",
    summary: "Grants that the customer denied or revoked, or that ended undecided.",
    roles: MANAGER,
    body: Strict({
      deploymentId: DeploymentId,
      decisions: Type.Array(DecisionReport, { minItems: 1, maxItems: 100 }),
    }),
    success: 200,
    response: reported,
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
  receipts: {
    method: "POST",
    path: "/v1/access-requests/receipts",
    summary: "Receipts of grants that have ended.",
    roles: MANAGER,
    body: Strict({
      deploymentId: DeploymentId,
      receipts: Type.Array(ReceiptReport, { minItems: 1, maxItems: 10 }),
    }),
    success: 200,
    response: reported,
    errors: ["NOT_FOUND"],
    repeat: "natural",
  },
});
