import Type from "typebox";
import {
  Conditions,
  DateTime,
  DeploymentRef,
  Digest,
  Generation,
  GrantName,
  Line,
  PlatformId,
  rules,
  Text,
  Words,
} from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { asAsked, namedAfter, SAID_IN_TIME, STATUS_STAYS, saidOnce, stateGoesOn, writeOnce } from "./kind-rules.ts";
import { MAX_RELEASE_OBJECTS, MAX_WAVES } from "./release-content.ts";

export const ROLLOUT_ACTIONS = ["install", "update", "delete", "detach"] as const;
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

export const ROLLOUT_STATES = [
  "Planning",
  "AwaitingApproval",
  "Queued",
  "Applying",
  "Gating",
  "Pruning",
  "RollingBack",
  "Unknown",
  "Succeeded",
  "RolledBack",
  "Failed",
  "Denied",
  "Superseded",
  "Aborted",
] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];
export const FINAL_ROLLOUT_STATES = [
  "Succeeded",
  "RolledBack",
  "Failed",
  "Denied",
  "Superseded",
  "Aborted",
] as const satisfies readonly RolloutState[];
export type FinalRolloutState = (typeof FINAL_ROLLOUT_STATES)[number];

/** Where each state may lead. Unknown is one for which no operator was there until its time was over. */
const NEXT: Readonly<Record<RolloutState, readonly RolloutState[]>> = {
  Planning: ["Planning", "AwaitingApproval", "Queued", "Failed", "Denied", "Superseded", "Aborted"],
  AwaitingApproval: ["AwaitingApproval", "Queued", "Planning", "Failed", "Denied", "Superseded", "Aborted"],
  Queued: ["Queued", "Applying", "Planning", "Failed", "Denied", "Superseded", "Aborted"],
  Applying: ["Applying", "Gating", "Pruning", "RollingBack", "Unknown", "Failed", "Aborted"],
  Gating: ["Gating", "Applying", "Pruning", "RollingBack", "Unknown", "Failed", "Aborted"],
  Pruning: ["Pruning", "RollingBack", "Succeeded", "Failed", "Aborted"],
  RollingBack: ["RollingBack", "RolledBack", "Failed"],
  Unknown: ["Unknown", "Failed"],
  Succeeded: ["Succeeded"],
  RolledBack: ["RolledBack"],
  Failed: ["Failed"],
  Denied: ["Denied"],
  Superseded: ["Superseded"],
  Aborted: ["Aborted"],
};

/** Of one deployment; more are not accepted. */
const MAX_PLACES = 128;
const Count = Type.Integer({ minimum: 0, maximum: 10_000 });
const ObjectRef = Type.String({ maxLength: 320, description: "Kind.group/namespace/name." });
const ASKED = ["deploymentId", "action", "requestedAt", "deadline"];
const OPTIONALLY_ASKED = ["contentName", "contentDigest", "version", "needsApproval"];

const Spec = Type.Object(
  {
    // What was asked for: the agent writes it at create, and it never changes.
    rolloutId: PlatformId,
    deploymentId: DeploymentRef,
    action: Words(ROLLOUT_ACTIONS),
    contentName: Type.Optional(GrantName),
    contentDigest: Type.Optional(Digest),
    /** As the content has it, for people: what is planned and approved is the digest. */
    version: Type.Optional(Line(1, 256)),
    requestedAt: DateTime,
    deadline: DateTime,
    needsApproval: Type.Optional(
      Type.Boolean({
        description:
          "The deployment's setting `updates` is approval-required: a person approves, also where a policy would let it run by itself.",
      }),
    ),
    // The customer's words.
    approvedDigest: Type.Optional(Digest),
    approvedBy: Type.Optional(Line(1, 512)),
    deniedReason: Type.Optional(Text(1, 1024)),
    deniedBy: Type.Optional(Line(1, 512)),
    pausedReason: Type.Optional(Text(1, 1024)),
    abortReason: Type.Optional(Text(1, 1024)),
    abortedBy: Type.Optional(Line(1, 512)),
    takeOver: Type.Optional(
      Type.Array(
        Type.Object({
          kind: Type.String({ maxLength: 63, pattern: "^[A-Za-z0-9]+$" }),
          name: Type.String({ maxLength: 253, pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" }),
        }),
        {
          maxItems: 50,
          "x-kubernetes-list-type": "atomic",
          description:
            "Objects whose fields the release takes back from their present managers. Left out: the customer's fields stay.",
        },
      ),
    ),
  },
  rules(
    asAsked(
      ["rolloutId", ...ASKED],
      OPTIONALLY_ASKED,
      "what was asked for is immutable; a changed wish is a new rollout",
    ),
    {
      rule:
        "oldSelf.hasValue() || !(has(self.approvedDigest) || has(self.approvedBy) || has(self.deniedReason) || " +
        "has(self.deniedBy) || has(self.abortReason) || has(self.abortedBy) || has(self.takeOver))",
      optionalOldSelf: true,
      message: "a rollout cannot be created already decided",
    },
    {
      // A deletion's plan shows no content: one that it could name would count as installed afterwards.
      rule: "has(self.contentName) == has(self.contentDigest) && (self.action in ['install', 'update']) == has(self.contentName)",
      message:
        "contentName and contentDigest belong together; an install or update needs both, a deletion or detachment has none",
    },
    saidOnce(["approvedDigest", "approvedBy"], "an approval is final; abortReason ends the rollout"),
    saidOnce(["deniedReason", "deniedBy"], "a denial is final"),
    saidOnce(["abortReason", "abortedBy"], "an abort is final"),
    {
      rule: "!has(self.approvedBy) || has(self.approvedDigest)",
      message: "approvedBy may only accompany approvedDigest",
    },
    { rule: "!has(self.deniedBy) || has(self.deniedReason)", message: "deniedBy may only accompany deniedReason" },
    { rule: "!has(self.abortedBy) || has(self.abortReason)", message: "abortedBy may only accompany abortReason" },
    {
      rule: "!has(oldSelf.takeOver) || (has(self.takeOver) && oldSelf.takeOver.all(t, self.takeOver.exists(n, n == t)))",
      message: "takeOver only grows",
    },
  ),
);

/** A list of this length may have been cut. */
export const MAX_OVERRIDES = 50;
const Override = Type.Object({
  ref: ObjectRef,
  field: Type.String({ maxLength: 256 }),
  manager: Line(0, 128),
});
const Refusal = Type.Object({ ref: ObjectRef, message: Text(0, 512) });

const Plan = Type.Object({
  create: Count,
  change: Count,
  prune: Count,
  /** Deleted and made anew, because a field of them cannot be changed: they do not run in between. */
  recreate: Type.Optional(Type.Array(ObjectRef, { maxItems: 50, "x-kubernetes-list-type": "atomic" })),
  unchanged: Count,
  // The customer reads these; the objects themselves stand in the content.
  changes: Type.Optional(Type.Array(Line(0, 400), { maxItems: 100, "x-kubernetes-list-type": "atomic" })),
  overrides: Type.Optional(Type.Array(Override, { maxItems: MAX_OVERRIDES, "x-kubernetes-list-type": "atomic" })),
  refused: Type.Optional(Type.Array(Refusal, { maxItems: 50, "x-kubernetes-list-type": "atomic" })),
});

/** Most lines about drift: they are to be read, and each is one field. */
export const MAX_DRIFT = 50;
const Drift = Type.Object({
  ref: ObjectRef,
  field: Type.Optional(Type.String({ maxLength: 256, description: "Absent: the object is missing." })),
  manager: Type.Optional(Line(0, 128)),
});

const ResourceState = Type.Object({
  resourceId: Line(1, 128),
  state: Words(["pending", "provisioning", "updating", "running", "deleting", "deleted", "failed"]),
  health: Words(["healthy", "degraded", "unhealthy", "unknown"]),
  message: Text(0, 512),
});

const Status = Type.Object(
  {
    state: Type.Optional(Words(ROLLOUT_STATES)),
    plan: Type.Optional(Plan),
    /** What the deployment has now: what is pruned is of it, and a rollout that fails goes back to it. */
    formerContent: Type.Optional(GrantName),
    /** Of that content when it was applied: one of the same name that was made anew is not gone back to. */
    formerDigest: Type.Optional(Digest),
    /** The digest that an approval has to name: of what was planned. */
    plannedDigest: Type.Optional(Digest),
    plannedAt: Type.Optional(DateTime),
    /** How many objects of spec.takeOver the plan knows: that list only grows. */
    plannedTakeOver: Type.Optional(Count),
    /** Where its accounts may have rights: the accepted namespaces that it was planned with. */
    namespaces: Type.Optional(
      Type.Array(Type.String({ maxLength: 63 }), { maxItems: MAX_PLACES, "x-kubernetes-list-type": "atomic" }),
    ),
    approvalLine: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: `^kubectl patch rout [-a-z0-9]+ -n [-a-z0-9]+ --type=merge -p '[{]"spec":[{]"approvedDigest":"sha256:[0-9a-f]{64}"[}][}]'$`,
        description: "While it waits for a person: the kubectl line that lets it go on.",
      }),
    ),
    wave: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAVES })),
    waves: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_WAVES })),
    waveOf: Type.Optional(Type.String({ maxLength: 7, pattern: "^[0-9]+/[0-9]+$" })),
    waveStartedAt: Type.Optional(DateTime),
    resources: Type.Optional(
      Type.Array(ResourceState, {
        maxItems: MAX_RELEASE_OBJECTS,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["resourceId"],
      }),
    ),
    startedAt: Type.Optional(DateTime),
    finishedAt: Type.Optional(DateTime),
    until: Type.Optional(DateTime),
    appliedDigest: Type.Optional(Digest),
    rolledBackTo: Type.Optional(GrantName),
    drift: Type.Optional(
      Type.Array(Drift, {
        minItems: 1,
        maxItems: MAX_DRIFT,
        "x-kubernetes-list-type": "atomic",
        description:
          "Of the rollout that brought what is installed: what others have changed of it since, or deleted. Never values.",
      }),
    ),
    observedGeneration: Type.Optional(Generation),
    conditions: Type.Optional(Conditions),
  },
  rules(
    stateGoesOn(NEXT, "status.state goes only where a rollout may go; its end is final"),
    ...writeOnce("startedAt", "finishedAt", "until"),
    {
      rule: "!has(self.state) || !(self.state in ['Applying', 'Gating', 'Pruning', 'RollingBack']) || (has(self.startedAt) && has(self.until))",
      message: "a rollout that runs needs startedAt and until",
    },
    {
      rule: "!has(self.until) || (has(self.startedAt) && (self.until - self.startedAt).getSeconds() <= 7200)",
      message: "a rollout runs for two hours at most",
    },
    {
      rule: "!has(oldSelf.plannedDigest) || !has(oldSelf.startedAt) || (has(self.plannedDigest) && self.plannedDigest == oldSelf.plannedDigest)",
      message: "what was planned stays once the rollout has started",
    },
  ),
);

/** One wish to have a release's content in the cluster: asked for by the agent, allowed by the customer, done by the operator. */
export const ROLLOUT = {
  kind: "Rollout",
  plural: "rollouts",
  // `ro` is that of Argo Rollouts.
  shortName: "rout",
  description: "A release that is to be installed, updated or deleted here. Delete it to stop it.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.deploymentId", ".status.state"],
  columns: [
    { name: "Deployment", type: "string", jsonPath: ".spec.deploymentId" },
    { name: "Action", type: "string", jsonPath: ".spec.action" },
    { name: "Version", type: "string", jsonPath: ".spec.version" },
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Wave", type: "string", jsonPath: ".status.waveOf" },
    { name: "Applied", type: "string", jsonPath: '.status.conditions[?(@.type=="Applied")].reason' },
    { name: "Creates", type: "integer", jsonPath: ".status.plan.create" },
    { name: "Changes", type: "integer", jsonPath: ".status.plan.change" },
    { name: "Deletes", type: "integer", jsonPath: ".status.plan.prune" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Content", type: "string", jsonPath: ".spec.contentName", priority: 1 },
    { name: "Approve", type: "string", jsonPath: ".status.approvalLine", priority: 1 },
    { name: "Approved-By", type: "string", jsonPath: ".spec.approvedBy", priority: 1 },
  ],
  rules: [
    namedAfter("rolloutId"),
    STATUS_STAYS,
    SAID_IN_TIME,
    {
      rule:
        "!has(oldSelf.status) || !has(oldSelf.status.startedAt) || (has(self.spec.takeOver) == has(oldSelf.spec.takeOver) && " +
        "(!has(self.spec.takeOver) || self.spec.takeOver.size() == oldSelf.spec.takeOver.size()))",
      message: "takeOver counts before the rollout starts: what it takes later no plan has shown",
    },
    {
      rule:
        "!has(self.status) || !has(self.status.state) || !(self.status.state in ['Applying', 'Pruning']) || " +
        "!has(self.spec.deniedReason) || (has(oldSelf.status) && has(oldSelf.status.state) && oldSelf.status.state == self.status.state)",
      message: "a rollout that was denied goes no further",
    },
  ],
} as const satisfies Kind;

export const rollouts = resourceOf(ROLLOUT);
export type Rollout = ObjectOf<typeof ROLLOUT>;
export type RolloutSpec = Rollout["spec"];
export type RolloutStatus = NonNullable<Rollout["status"]>;
export type RolloutPlan = NonNullable<RolloutStatus["plan"]>;
export type Drift = NonNullable<RolloutStatus["drift"]>[number];
