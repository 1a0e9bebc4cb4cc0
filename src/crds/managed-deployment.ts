import Type from "typebox";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { Conditions, DateTime, DeploymentRef, Generation, Line, rules, Words } from "./schema.ts";

/** Serving: reported and operable. Detached: the platform no longer lists it; nothing new runs for it. */
export const MANAGED_DEPLOYMENT_STATES = ["Serving", "Detached"] as const;

const Spec = Type.Object(
  {
    deploymentId: DeploymentRef,
    name: Line(1, 128),
    project: Type.Optional(Line(1, 128)),
    namespaces: Type.Array(Type.String({ maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }), {
      maxItems: 64,
      "x-kubernetes-list-type": "set",
      description: "Namespaces that the customer opened to this deployment's operations.",
    }),
  },
  rules({ rule: "self.deploymentId == oldSelf.deploymentId", message: "deploymentId is immutable" }),
);

const Status = Type.Object({
  state: Type.Optional(Words(MANAGED_DEPLOYMENT_STATES)),
  observedGeneration: Type.Optional(Generation),
  lastReportedAt: Type.Optional(DateTime),
  conditions: Type.Optional(Conditions),
});

/** A deployment of the vendor that this cluster serves. Written and reported by the agent. */
export const MANAGED_DEPLOYMENT = {
  kind: "ManagedDeployment",
  plural: "manageddeployments",
  shortName: "md",
  description: "A deployment that this cluster serves, and the namespaces that the customer opened to it.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.deploymentId"],
  columns: [
    { name: "Deployment", type: "string", jsonPath: ".spec.name" },
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Namespaces", type: "string", jsonPath: ".spec.namespaces" },
    { name: "Reported", type: "date", jsonPath: ".status.lastReportedAt" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Id", type: "string", jsonPath: ".spec.deploymentId", priority: 1 },
  ],
  rules: [
    {
      rule: "self.metadata.name == self.spec.deploymentId.lowerAscii().replace('_', '-').replace('.', '-')",
      message: "the name must be deploymentId in lower case with _ and . turned into -",
    },
  ],
} as const satisfies Kind;

export type ManagedDeployment = ObjectOf<typeof MANAGED_DEPLOYMENT>;
export type ManagedDeploymentSpec = ManagedDeployment["spec"];
export type ManagedDeploymentStatus = NonNullable<ManagedDeployment["status"]>;
export const managedDeployments = resourceOf(MANAGED_DEPLOYMENT);
