import Type from "typebox";
import {
  Conditions,
  DateTime,
  DeploymentRef,
  Generation,
  GrantName,
  Line,
  rules,
  Text,
  unchanged,
  Words,
} from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { STATUS_STAYS, writeOnce } from "./kind-rules.ts";

/** Drained and Failed are final. Waiting: a grant, an older drain of the node, or the pool's turn is waited for. */
export const MACHINE_DRAIN_STATES = ["Waiting", "Cordoning", "Draining", "Blocked", "Drained", "Failed"] as const;
export type MachineDrainState = (typeof MACHINE_DRAIN_STATES)[number];

/** Why a pod is still there, in the platform's words. A test compares the list with the contract's. */
export const DRAIN_BLOCKERS = [
  "pod-disruption-budget",
  "unmanaged-pod",
  "local-storage",
  "terminating",
  "eviction-error",
  "misconfigured-budget",
  "daemon",
] as const;
export type DrainBlocker = (typeof DRAIN_BLOCKERS)[number];

/** Any node, also one that did not join through a pool: a DNS name. */
const AnyNode = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
});

const Spec = Type.Object(
  {
    nodeName: AnyNode,
    deadlineAt: Type.Optional(
      Type.String({
        format: "date-time",
        description:
          "When waiting ends. An instant that has passed means now, and not never. Left out: the pool's default.",
      }),
    ),
    force: Type.Optional(
      Type.Boolean({
        default: false,
        description: "At the deadline delete what is left, also what a budget protects, if the pool allows it.",
      }),
    ),
    reason: Type.Optional(Text(0, 1024)),
    // Written by the agent: which wish of the platform it is, and the grant that covers it. Or by the join server: which
    // machine wants to leave.
    requested: Type.Optional(
      Type.Object({
        deploymentId: DeploymentRef,
        machineId: Type.String({ maxLength: 128, pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$" }),
        revision: Type.Integer({ format: "int64", minimum: 0 }),
        remove: Type.Optional(Type.Boolean({ description: "Delete the node once it is empty." })),
        grantName: Type.Optional(GrantName),
        leaving: Type.Optional(
          Type.Boolean({ description: "Not the platform but the machine itself asks, with its node's certificate." }),
        ),
      }),
    ),
  },
  rules(
    { rule: "self.nodeName == oldSelf.nodeName", message: "nodeName is immutable; a changed wish is a new drain" },
    {
      rule: "!has(oldSelf.deadlineAt) || (has(self.deadlineAt) && self.deadlineAt <= oldSelf.deadlineAt)",
      message: "a deadline only comes nearer",
    },
    { rule: "!oldSelf.force || self.force", message: "force cannot be taken back; delete the drain to cancel it" },
    { rule: unchanged("requested"), message: "requested is written at create, and never changes" },
  ),
);

const count = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Name = Type.String({ maxLength: 340 });

const Status = Type.Object(
  {
    state: Type.Optional(Words(MACHINE_DRAIN_STATES)),
    cordonedByUs: Type.Optional(Type.Boolean()),
    startedAt: Type.Optional(DateTime),
    deadlineAt: Type.Optional(DateTime),
    drainedAt: Type.Optional(DateTime),
    counts: Type.Optional(Type.Object({ total: count, gone: count, waiting: count, blocked: count, skipped: count })),
    left: Type.Optional(Type.String({ maxLength: 16, pattern: "^[0-9]+/[0-9]+$", description: "Pods left of all." })),
    summary: Type.Optional(Line(0, 256)),
    blockers: Type.Optional(
      Type.Array(
        Type.Object({
          reason: Words(DRAIN_BLOCKERS),
          workload: Type.Optional(Name),
          budget: Type.Optional(Name),
          pods: Type.Array(Name, { maxItems: 3, "x-kubernetes-list-type": "atomic" }),
          count,
          message: Text(0, 512),
          since: DateTime,
        }),
        { maxItems: 20, "x-kubernetes-list-type": "atomic" },
      ),
    ),
    observedGeneration: Type.Optional(Generation),
    conditions: Type.Optional(Conditions),
  },
  rules(
    {
      rule: "!has(oldSelf.state) || !(oldSelf.state in ['Drained', 'Failed']) || (has(self.state) && self.state == oldSelf.state)",
      message: "a drain ends once",
    },
    ...writeOnce("cordonedByUs", "startedAt", "drainedAt"),
    {
      rule: "!has(oldSelf.deadlineAt) || (has(self.deadlineAt) && self.deadlineAt <= oldSelf.deadlineAt)",
      message: "a deadline only comes nearer",
    },
  ),
);

/** A node to be emptied by evictions. No finalizers: deleting a drain cancels it and undoes its own cordon. */
export const MACHINE_DRAIN = {
  kind: "MachineDrain",
  plural: "machinedrains",
  shortName: "drain",
  description: "A node that is being emptied by evictions. Delete it to cancel; the node takes pods again.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.nodeName", ".status.state"],
  columns: [
    { name: "Node", type: "string", jsonPath: ".spec.nodeName" },
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Left", type: "string", jsonPath: ".status.left" },
    { name: "Blockers", type: "string", jsonPath: ".status.summary" },
    // A string on purpose: a date column prints <invalid> for an instant in the future.
    { name: "Deadline", type: "string", jsonPath: ".status.deadlineAt" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Progress", type: "string", jsonPath: '.status.conditions[?(@.type=="Progressing")].reason', priority: 1 },
    { name: "Reason", type: "string", jsonPath: ".spec.reason", priority: 1 },
  ],
  rules: [STATUS_STAYS],
} as const satisfies Kind;

export type MachineDrain = ObjectOf<typeof MACHINE_DRAIN>;
export type MachineDrainSpec = MachineDrain["spec"];
export type MachineDrainStatus = NonNullable<MachineDrain["status"]>;
export const machineDrains = resourceOf(MACHINE_DRAIN);
