import Type from "typebox";
import { TIERS } from "../plan.ts";
import { RELEASE_PREFIX } from "../released/releases.ts";
import {
  Conditions,
  DateTime,
  DeploymentRef,
  Digest,
  FreeObject,
  Generation,
  KeyedList,
  Line,
  PlatformId,
  rules,
  Text,
  unchanged,
  Words,
} from "../schema.ts";
import { CommandLine } from "./grant-line.ts";
import { decidedBeforeTheEnd, GrantReceipt, RECEIPT_RULES } from "./grant-receipt.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { asAsked, namedAfter, STATUS_STAYS, saidOnce } from "./kind-rules.ts";
import { BINDING_LINE, MAX_BINDING_LINES } from "./lending.ts";

/** Pending and Approved can change; the others are final. */
export const GRANT_STATES = [
  "Pending",
  "Approved",
  "Denied",
  "Lapsed",
  "Revoked",
  "Expired",
  "Superseded",
  "Completed",
] as const;
export type GrantState = (typeof GRANT_STATES)[number];
export const FINAL_GRANT_STATES = ["Denied", "Lapsed", "Revoked", "Expired", "Superseded", "Completed"] as const;

/** Longest window: 30 days. */
export const MAX_MINUTES = 43_200;

/** Characters of the words that a decision comes with. */
export const MAX_REASON = 1_024;

/** Fields of the plan that the agent always writes, then those it may leave out. */
const PLAN = [
  "requestId",
  "deploymentId",
  "title",
  "risk",
  "maxMinutes",
  "decideBefore",
  "planHash",
  "planHashVersion",
  "commands",
];
const OPTIONAL_PLAN = ["reason", "requestedBy"];
const DECISION = ["approvedForMinutes", "deniedReason", "decidedBy", "approvedPlanHash"];

const Command = Type.Object(
  {
    command: Type.String({ maxLength: 128, pattern: "^[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$" }),
    summary: Line(1, 512),
    params: Type.Optional(FreeObject(32)),
  },
  rules({
    rule: `!self.command.startsWith('${RELEASE_PREFIX}')`,
    message: "a release is allowed by its Rollout, and by no grant",
  }),
);

const Spec = Type.Object(
  {
    // The frozen plan: the agent writes it at create, and it never changes.
    requestId: PlatformId,
    deploymentId: DeploymentRef,
    title: Line(1, 256),
    reason: Type.Optional(Text(0, 2048)),
    requestedBy: Type.Optional(Line(0, 256)),
    risk: Words(TIERS),
    maxMinutes: Type.Integer({ minimum: 1, maximum: MAX_MINUTES }),
    decideBefore: DateTime,
    planHash: Digest,
    planHashVersion: Type.String({ maxLength: 8, pattern: "^v[0-9]+$" }),
    commands: Type.Array(Command, { minItems: 1, maxItems: 50, "x-kubernetes-list-type": "atomic" }),
    // The decision: people write these fields once, on the main resource.
    approvedForMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_MINUTES })),
    approvedPlanHash: Type.Optional(Type.String({ maxLength: 71 })),
    deniedReason: Type.Optional(Text(1, MAX_REASON)),
    revokedReason: Type.Optional(Text(1, MAX_REASON)),
    decidedBy: Type.Optional(Line(1, 512)),
    revokedBy: Type.Optional(Line(1, 512)),
  },
  rules(
    asAsked(PLAN, OPTIONAL_PLAN, "the requested plan is immutable; a changed plan is a new request"),
    {
      rule:
        "oldSelf.hasValue() || !(has(self.approvedForMinutes) || has(self.approvedPlanHash) || " +
        "has(self.deniedReason) || has(self.revokedReason) || has(self.decidedBy) || has(self.revokedBy))",
      optionalOldSelf: true,
      message: "an access grant cannot be created already decided",
    },
    {
      rule: `!(has(oldSelf.approvedForMinutes) || has(oldSelf.deniedReason)) || (${DECISION.map(unchanged).join(" && ")})`,
      message: "already decided; ask for a new request",
    },
    {
      rule: "!(has(self.approvedForMinutes) && has(self.deniedReason))",
      message: "approve and deny are mutually exclusive",
    },
    {
      rule: "!has(self.decidedBy) || has(self.approvedForMinutes) || has(self.deniedReason)",
      message: "decidedBy may only accompany a decision",
    },
    { rule: "!has(self.revokedBy) || has(self.revokedReason)", message: "revokedBy may only accompany revokedReason" },
    {
      rule: "!has(self.approvedPlanHash) || has(self.approvedForMinutes)",
      message: "approvedPlanHash may only accompany approvedForMinutes",
    },
    {
      rule: "!has(self.approvedPlanHash) || self.approvedPlanHash == self.planHash",
      message: "approvedPlanHash is not the hash of this plan",
    },
    {
      rule: "!(has(self.approvedForMinutes) && self.risk == 'destructive') || has(self.approvedPlanHash)",
      message: "a destructive plan must be approved with approvedPlanHash",
    },
    {
      rule: "!has(self.approvedForMinutes) || self.approvedForMinutes <= self.maxMinutes",
      message: "approvedForMinutes exceeds maxMinutes",
    },
    {
      rule: "!has(self.revokedReason) || has(self.approvedForMinutes)",
      message: "only an approved grant can be revoked",
    },
    saidOnce(["revokedReason", "revokedBy"], "revocation is terminal"),
  ),
);

const FINAL = FINAL_GRANT_STATES.map((state) => `'${state}'`).join(", ");

const Status = Type.Object(
  {
    state: Type.Optional(Words(GRANT_STATES)),
    commandCount: Type.Optional(Type.Integer({ minimum: 0, maximum: 50 })),
    approvedAt: Type.Optional(DateTime),
    approvedUntil: Type.Optional(DateTime),
    endedAt: Type.Optional(DateTime),
    receipt: Type.Optional(GrantReceipt),
    observedGeneration: Type.Optional(Generation),
    conditions: Type.Optional(Conditions),
    bindings: Type.Optional(
      Type.Array(Type.String({ maxLength: 400, pattern: BINDING_LINE }), {
        maxItems: MAX_BINDING_LINES,
        "x-kubernetes-list-type": "atomic",
        description: "Where approvers lend: the kubectl line of each binding that this plan needs.",
      }),
    ),
    commands: Type.Optional(
      KeyedList(
        CommandLine,
        "index",
        50,
        {
          rule: "oldSelf.all(o, self.exists(n, n.index == o.index))",
          message: "a command line cannot be dropped from status",
        },
        {
          rule: "self.all(a, !has(a.commandId) || self.exists_one(b, has(b.commandId) && b.commandId == a.commandId))",
          message: "one commandId claims one command line",
        },
      ),
    ),
  },
  rules(
    { rule: "!has(oldSelf.commands) || has(self.commands)", message: "command lines cannot be dropped from status" },
    {
      rule:
        "(!has(oldSelf.approvedAt) || (has(self.approvedAt) && self.approvedAt == oldSelf.approvedAt)) && " +
        "(!has(oldSelf.approvedUntil) || (has(self.approvedUntil) && self.approvedUntil == oldSelf.approvedUntil))",
      message: "the approval window is write-once",
    },
    {
      rule: `!has(oldSelf.state) || !(oldSelf.state in [${FINAL}]) || (has(self.state) && self.state == oldSelf.state)`,
      message: "status.state is terminal",
    },
    ...RECEIPT_RULES,
  ),
);

/**
 * A vendor's request to run named operations here (frozen plan), the customer's answer and the operator's report
 * (status). No finalizers: deleting a grant is revoking it.
 */
export const ACCESS_GRANT = {
  kind: "AccessGrant",
  plural: "accessgrants",
  shortName: "ag",
  description: "A vendor's request to run named operations here, and the customer's answer to it.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.requestId", ".spec.deploymentId", ".spec.risk", ".status.state"],
  columns: [
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Risk", type: "string", jsonPath: ".spec.risk" },
    { name: "Commands", type: "integer", jsonPath: ".status.commandCount" },
    { name: "Decided-By", type: "string", jsonPath: ".spec.decidedBy" },
    // A string on purpose: a date column prints <invalid> for an instant in the future.
    { name: "Approved-Until", type: "string", jsonPath: ".status.approvedUntil" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Plan", type: "string", jsonPath: ".spec.planHash", priority: 1 },
    { name: "Title", type: "string", jsonPath: ".spec.title", priority: 1 },
    { name: "Lent", type: "string", jsonPath: ".status.conditions[?(@.type=='Lent')].status", priority: 1 },
    { name: "Bindings", type: "string", jsonPath: ".status.bindings[*]", priority: 1 },
  ],
  rules: [
    namedAfter("requestId"),
    STATUS_STAYS,
    {
      rule:
        "!has(self.status) || !has(self.status.approvedUntil) || " +
        "(has(self.spec.approvedForMinutes) && has(self.status.approvedAt) && " +
        "(self.status.approvedUntil - self.status.approvedAt).getSeconds() <= self.spec.approvedForMinutes * 60)",
      message: "the approval window cannot be longer than approvedForMinutes",
    },
    // CEL has no clock. This bounds how late a window can start, even when the operator's clock is wrong.
    {
      rule: "!has(self.status) || !has(self.status.approvedAt) || self.status.approvedAt <= self.spec.decideBefore",
      message: "approvedAt is after decideBefore",
    },
    {
      rule:
        "!has(self.status) || !has(self.status.state) || " +
        "(!(self.status.state in ['Approved', 'Expired', 'Completed']) || has(self.spec.approvedForMinutes)) && " +
        "(self.status.state != 'Denied' || has(self.spec.deniedReason)) && " +
        "(self.status.state != 'Revoked' || has(self.spec.revokedReason))",
      message: "status.state claims a decision that spec does not hold",
    },
    {
      rule:
        "!has(oldSelf.status) || !has(oldSelf.status.state) || !(oldSelf.status.state in ['Lapsed', 'Superseded']) || " +
        "!has(self.spec.approvedForMinutes) || has(oldSelf.spec.approvedForMinutes)",
      message: "this grant has lapsed or was superseded; ask for a new one",
    },
    {
      rule:
        "!has(self.status) || !has(self.status.commands) || " +
        "self.status.commands.all(c, c.index < size(self.spec.commands))",
      message: "status names a command line that the plan does not have",
    },
    decidedBeforeTheEnd([...DECISION, "revokedReason", "revokedBy"]),
    // Approvers paste these lines into a shell, and a stolen operator could write them.
    {
      rule:
        "!has(self.status) || !has(self.status.bindings) || self.status.bindings.all(b, self.spec.commands.exists(c, " +
        "b.contains('role=sallyport-op-' + c.command.replace('/', '-') + ' --serviceaccount=')))",
      message: "status.bindings lends a role that no line of the plan needs",
    },
    {
      rule:
        "!has(self.status) || !has(self.status.commands) || has(self.spec.approvedForMinutes) || " +
        "!self.status.commands.exists(c, has(c.commandId))",
      message: "a command line of an unapproved grant cannot be claimed",
    },
    {
      rule:
        "!has(oldSelf.spec.revokedReason) || !has(self.status) || !has(self.status.commands) || " +
        "self.status.commands.all(c, !has(c.commandId) || (has(oldSelf.status) && has(oldSelf.status.commands) && " +
        "oldSelf.status.commands.exists(o, o.index == c.index && has(o.commandId))))",
      message: "a command line of a revoked grant cannot be claimed",
    },
  ],
} as const satisfies Kind;

export type AccessGrant = ObjectOf<typeof ACCESS_GRANT>;
export type AccessGrantSpec = AccessGrant["spec"];
export type AccessGrantStatus = NonNullable<AccessGrant["status"]>;
export type GrantLine = NonNullable<AccessGrantStatus["commands"]>[number];
export const accessGrants = resourceOf(ACCESS_GRANT);
