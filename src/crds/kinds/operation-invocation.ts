import Type from "typebox";
import { TIERS } from "../plan.ts";
import {
  Conditions,
  DateTime,
  DeploymentRef,
  FreeObject,
  Generation,
  GrantName,
  PlatformId,
  PluginWord,
  rules,
  unchanged,
  Words,
} from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { namedAfter, STATUS_STAYS, writeOnce } from "./kind-rules.ts";

/** Succeeded, Failed and Expired are final; Unknown may only become Succeeded or Failed. */
const INVOCATION_STATES = ["Pending", "Held", "Running", "Succeeded", "Failed", "Expired", "Unknown"] as const;
export type InvocationState = (typeof INVOCATION_STATES)[number];

const Spec = Type.Object(
  {
    commandId: PlatformId,
    deploymentId: DeploymentRef,
    plugin: PluginWord,
    operation: PluginWord,
    tier: Words(TIERS),
    params: Type.Optional(FreeObject(32)),
    deadline: Type.Optional(DateTime),
    grantName: Type.Optional(GrantName),
    attempt: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  },
  rules({ rule: "self == oldSelf", message: "an invocation is immutable" }),
);

const Status = Type.Object(
  {
    state: Type.Optional(Words(INVOCATION_STATES)),
    observedGeneration: Type.Optional(Generation),
    startedAt: Type.Optional(DateTime),
    finishedAt: Type.Optional(DateTime),
    // Its bytes are bounded by an admission policy.
    result: Type.Optional(FreeObject(64)),
    error: Type.Optional(
      Type.Object({
        code: Type.String({ maxLength: 128, pattern: "^[A-Za-z][A-Za-z0-9_.-]*$" }),
        message: Type.String({ maxLength: 4096 }),
      }),
    ),
    conditions: Type.Optional(Conditions),
  },
  rules(
    {
      rule: "!has(self.state) || !(self.state in ['Succeeded', 'Failed']) || (has(self.startedAt) && has(self.finishedAt))",
      message: "a finished invocation needs startedAt and finishedAt",
    },
    {
      rule: "!has(self.error) || !has(self.state) || self.state != 'Succeeded'",
      message: "a succeeded invocation has no error",
    },
    {
      rule:
        "!has(oldSelf.state) || !(oldSelf.state in ['Succeeded', 'Failed', 'Expired']) || " +
        `(has(self.state) && self.state == oldSelf.state && ${["startedAt", "finishedAt", "result", "error"].map(unchanged).join(" && ")})`,
      message: "a finished invocation is terminal",
    },
    {
      rule:
        "!has(oldSelf.state) || oldSelf.state != 'Running' || " +
        "(has(self.state) && self.state in ['Running', 'Succeeded', 'Failed', 'Expired', 'Unknown'])",
      message: "a running invocation cannot be put back",
    },
    {
      rule:
        "!has(oldSelf.state) || oldSelf.state != 'Unknown' || " +
        "(has(self.state) && self.state in ['Unknown', 'Succeeded', 'Failed'])",
      message: "an invocation of unknown outcome cannot be run again",
    },
    ...writeOnce("startedAt"),
  ),
);

/** One leased command: written once by the agent, run once by the operator. */
export const OPERATION_INVOCATION = {
  kind: "OperationInvocation",
  plural: "operationinvocations",
  shortName: "opi",
  description: "One leased command. spec is immutable; status is what became of it.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.commandId", ".spec.deploymentId", ".spec.grantName", ".status.state"],
  columns: [
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Plugin", type: "string", jsonPath: ".spec.plugin" },
    { name: "Operation", type: "string", jsonPath: ".spec.operation" },
    { name: "Tier", type: "string", jsonPath: ".spec.tier" },
    { name: "Grant", type: "string", jsonPath: ".spec.grantName" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Command", type: "string", jsonPath: ".spec.commandId", priority: 1 },
    { name: "Deadline", type: "string", jsonPath: ".spec.deadline", priority: 1 },
    { name: "Error", type: "string", jsonPath: ".status.error.code", priority: 1 },
  ],
  rules: [namedAfter("commandId"), STATUS_STAYS],
} as const satisfies Kind;

export type OperationInvocation = ObjectOf<typeof OPERATION_INVOCATION>;
export type OperationInvocationSpec = OperationInvocation["spec"];
export type OperationInvocationStatus = NonNullable<OperationInvocation["status"]>;
export const operationInvocations = resourceOf(OPERATION_INVOCATION);
