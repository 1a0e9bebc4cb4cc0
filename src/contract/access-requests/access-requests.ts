import Type, { type Static } from "typebox";
import { COMMAND_STATES } from "../operations/commands.ts";
import { OperationParams, OperationRef, TierWord } from "../operations/operations.ts";
import { AcceptedStale, AcceptStale } from "../resources/stale-state.ts";
import { Actor } from "../wire/actor.ts";
import { READERS, WRITERS } from "../wire/roles.ts";
import { routes } from "../wire/route.ts";
import {
  AccessRequestId,
  CommandId,
  DeploymentId,
  HumanLine,
  HumanText,
  Nullable,
  Page,
  ProjectRef,
  pageQuery,
  Strict,
  Timestamp,
  WordList,
  Words,
} from "../wire/schema.ts";
import { StoredError } from "../wire/stored-error.ts";
import { StoredReceipt } from "./receipts.ts";

export const ACCESS_REQUEST_STATUSES = [
  "pending-approval",
  "queued",
  "customer-approved",
  "expired",
  "rejected",
] as const;
export type AccessRequestStatus = (typeof ACCESS_REQUEST_STATUSES)[number];
export const AccessRequestStatusWord: Type.TUnsafe<AccessRequestStatus> = Words(ACCESS_REQUEST_STATUSES);

export const EXECUTION_STATES = ["idle", "running", "succeeded", "failed", "stopped"] as const;
export type ExecutionState = (typeof EXECUTION_STATES)[number];

export const DECISION_OUTCOMES = ["approved", "denied", "revoked", "expired"] as const;
export type DecisionOutcome = (typeof DECISION_OUTCOMES)[number];

/** Where the approver's name comes from: stamped by the cluster's admission, typed by the approver, or unknown. */
export const IDENTITIES = ["verified", "claimed", "unknown"] as const;
export type Identity = (typeof IDENTITIES)[number];

/** State of one line of a plan: not reached yet, never to be reached, or the state of the line's command. */
const LINE_STATES = ["WAITING", "SKIPPED", ...COMMAND_STATES] as const;
export type LineState = (typeof LINE_STATES)[number];

/** One line of a plan, within the limits of the custom resources, which store it in the customer's cluster (§2.4). */
export const PlanLine = Strict({
  command: OperationRef,
  summary: HumanLine(1, 512),
  params: Type.Optional(OperationParams),
});
export type PlanLine = Static<typeof PlanLine>;

export const Decision = Strict({
  outcome: Words(DECISION_OUTCOMES),
  by: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  at: Timestamp,
  approvedUntil: Nullable(Timestamp),
  identity: Words(IDENTITIES),
});
export type Decision = Static<typeof Decision>;

const Materialized = Strict({
  namespace: Type.String(),
  resourcePlural: Type.String(),
  name: Type.String(),
  at: Timestamp,
});

const Execution = Strict({
  state: Words(EXECUTION_STATES),
  commands: Type.Array(
    Strict({
      index: Type.Integer({ minimum: 0 }),
      command: OperationRef,
      commandId: Nullable(CommandId),
      state: Words(LINE_STATES),
      completedAt: Nullable(Timestamp),
      error: Nullable(StoredError),
    }),
  ),
});
export type Execution = Static<typeof Execution>;

const record = {
  id: AccessRequestId,
  deploymentId: DeploymentId,
  remediationPlanId: Type.String(),
  title: Type.String(),
  reason: Nullable(Type.String()),
  commands: Type.Array(PlanLine),
  status: AccessRequestStatusWord,
  risk: TierWord,
  planHash: Type.String({ pattern: "^sha256:[0-9a-f]{64}$" }),
  maxMinutes: Type.Integer(),
  debug: Type.Boolean(),
  decideBefore: Timestamp,
  approvedUntil: Nullable(Timestamp),
  decision: Nullable(Decision),
  materialized: Nullable(Materialized),
  queuedBy: Nullable(Actor),
  queuedAt: Nullable(Timestamp),
  acceptedStale: AcceptedStale,
  createdBy: Actor,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  execution: Execution,
} as const;

/** A plan that an engineer wants to run in a customer's cluster, and what became of it. */
export const AccessRequest = Strict(record);
export type AccessRequest = Static<typeof AccessRequest>;

const KubectlApprove = Nullable(
  Type.String({ description: "What the customer types. Null unless the grant lies in the cluster, undecided." }),
);
const AccessRequestWithApproval = Strict({ ...record, kubectlApprove: KubectlApprove });
export type AccessRequestWithApproval = Static<typeof AccessRequestWithApproval>;

const params = Strict({ id: AccessRequestId });

export const accessRequestRoutes = routes({
  create: {
    method: "POST",
    path: "/v1/access-requests",
    summary: "Propose a plan of commands for a deployment.",
    roles: WRITERS,
    body: Strict({
      deploymentId: DeploymentId,
      remediationPlanId: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]*$", minLength: 1, maxLength: 128 }),
      title: HumanLine(1, 256),
      reason: Type.Optional(HumanText(0, 2048)),
      commands: Type.Array(PlanLine, { minItems: 1, maxItems: 50 }),
      maxMinutes: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 43_200,
          default: 480,
          description: "Longest window the customer may grant.",
        }),
      ),
      decideWithinMinutes: Type.Optional(Type.Integer({ minimum: 5, maximum: 10_080, default: 1440 })),
      debug: Type.Optional(Type.Boolean({ default: false })),
    }),
    success: 201,
    response: AccessRequest,
    errors: [
      "NOT_FOUND",
      "UNKNOWN_OPERATION",
      "INVALID_OPERATION_PARAMS",
      "PLUGIN_DISABLED",
      "DEPLOYMENT_HAS_NO_MANAGER",
      "PARAMS_TOO_LARGE",
    ],
    repeat: "key",
  },
  queue: {
    method: "POST",
    path: "/v1/access-requests/{id}/queue",
    summary: "Sends the request to the customer.",
    roles: WRITERS,
    params,
    body: Strict({ acceptStale: AcceptStale }),
    bodyOptional: true,
    success: 200,
    response: AccessRequestWithApproval,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION", "DEPLOYMENT_HAS_NO_MANAGER", "RESOURCE_STATE_STALE"],
    repeat: "state",
  },
  coordinates: {
    method: "GET",
    path: "/v1/access-requests/{id}/coordinates",
    summary: "The status and, once the grant lies in the cluster, the words with which the customer approves it.",
    roles: READERS,
    params,
    success: 200,
    response: Strict({ status: AccessRequestStatusWord, kubectlApprove: KubectlApprove }),
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  list: {
    method: "GET",
    path: "/v1/access-requests",
    summary: "Access requests, newest first.",
    roles: READERS,
    query: Type.Object({
      project: Type.Optional(ProjectRef),
      deploymentId: Type.Optional(DeploymentId),
      status: Type.Optional(WordList(ACCESS_REQUEST_STATUSES)),
      remediationPlanId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
      ...pageQuery,
    }),
    success: 200,
    response: Page(AccessRequest),
    errors: ["NOT_FOUND", "INVALID_CURSOR"],
    paginated: true,
    repeat: "safe",
  },
  get: {
    method: "GET",
    path: "/v1/access-requests/{id}",
    summary: "One access request, with its decision and its execution.",
    roles: READERS,
    params,
    success: 200,
    response: AccessRequestWithApproval,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  receipt: {
    method: "GET",
    path: "/v1/access-requests/{id}/receipt",
    summary: "What became of the request in the customer's cluster, as the cluster says it, and whether it fits.",
    roles: READERS,
    params,
    success: 200,
    response: StoredReceipt,
    errors: ["NOT_FOUND"],
    repeat: "safe",
  },
  reject: {
    method: "POST",
    path: "/v1/access-requests/{id}/reject",
    summary: "Withdraw a request before the customer has decided.",
    roles: WRITERS,
    params,
    body: Strict({ reason: Type.Optional(HumanText(1, 1024)) }),
    bodyOptional: true,
    success: 200,
    response: AccessRequest,
    errors: ["NOT_FOUND", "INVALID_STATE_TRANSITION"],
    repeat: "state",
  },
});
