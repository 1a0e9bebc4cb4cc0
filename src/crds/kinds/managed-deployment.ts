import Type from "typebox";
import {
  Conditions,
  DateTime,
  DeploymentRef,
  Generation,
  GrantName,
  Line,
  PlatformId,
  rules,
  Words,
} from "../schema.ts";
import { HEAD_STAYS, ReceiptHead } from "./grant-receipt.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { asAsked, namedAfter, STATUS_STAYS } from "./kind-rules.ts";

/**
 * Waiting: the platform lists it and the customer has not accepted it; nothing is done for it. Serving: reported and
 * operable, in the namespaces that the customer named for it. Detached: the platform no longer lists it; nothing new
 * runs for it.
 */
const MANAGED_DEPLOYMENT_STATES = ["Waiting", "Serving", "Detached"] as const;
export type ManagedDeploymentState = (typeof MANAGED_DEPLOYMENT_STATES)[number];

const Namespace = Type.String({ maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" });

const Spec = Type.Object(
  {
    // What the vendor calls it: the agent writes it at create, and it never changes.
    deploymentId: DeploymentRef,
    name: Line(1, 128),
    project: Type.Optional(Line(1, 128)),
    // The customer's answer, on the main resource. Absent: not answered yet. Empty: refused.
    acceptedNamespaces: Type.Optional(
      Type.Array(Namespace, {
        maxItems: 64,
        "x-kubernetes-list-type": "set",
        description:
          "Written by the customer: the namespaces in which this deployment may be served. Until it is there, nothing is.",
      }),
    ),
  },
  rules(
    asAsked(
      ["deploymentId", "name"],
      ["project"],
      "what the platform listed (deploymentId, name, project) is immutable",
    ),
    {
      rule: "oldSelf.hasValue() || !has(self.acceptedNamespaces)",
      optionalOldSelf: true,
      message: "a deployment cannot be created already accepted; patch acceptedNamespaces afterwards",
    },
  ),
);

const count = Type.Integer({ minimum: 0, maximum: 1_000_000 });

/** Names and numbers alone: what a workload is called can hold no command. */
const Workloads = Type.Object({
  total: count,
  healthy: count,
  degraded: count,
  unhealthy: count,
  unknown: count,
  summary: Type.String({ maxLength: 16, pattern: "^[0-9]+/[0-9]+$", description: "Healthy ones of all." }),
  attention: Type.Optional(
    Type.Array(Type.String({ maxLength: 340, pattern: "^[a-z]+/[-a-z0-9]+/[-.a-z0-9]+$" }), {
      maxItems: 10,
      "x-kubernetes-list-type": "atomic",
      description: "The worst: kind, namespace and name.",
    }),
  ),
});

const Collection = Type.Object({
  namespace: Namespace,
  kind: Words([
    ...(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"] as const),
    ...(["Job", "CronJob", "PersistentVolumeClaim", "PodDisruptionBudget", "PodMetrics"] as const),
  ]),
  reason: Words(["Forbidden", "TooLarge", "WatchStale", "NotInstalled"]),
});

/** What a release has installed, by the agent's own look at rollouts. */
const Release = Type.Object({
  id: Type.Optional(PlatformId),
  version: Type.Optional(Line(1, 256)),
  appliedAt: Type.Optional(DateTime),
  rollout: GrantName,
  drift: Type.Optional(
    Type.Array(Line(1, 720), {
      maxItems: 10,
      "x-kubernetes-list-type": "atomic",
      description:
        "What others have changed of it since, or deleted: object, field and manager, never values. All: status.drift of the rollout.",
    }),
  ),
});

const Status = Type.Object(
  {
    receipts: Type.Optional(ReceiptHead),
    state: Type.Optional(Words(MANAGED_DEPLOYMENT_STATES)),
    namespaces: Type.Optional(
      Type.Array(Namespace, {
        maxItems: 128,
        "x-kubernetes-list-type": "atomic",
        description: "Namespaces that count as accepted: those of the install values and those of spec.",
      }),
    ),
    acceptanceLine: Type.Optional(
      Type.String({
        maxLength: 400,
        description:
          "While it is not accepted: the kubectl line that accepts it, with a placeholder for your namespace.",
      }),
    ),
    release: Type.Optional(Release),
    workloads: Type.Optional(Workloads),
    observedAt: Type.Optional(DateTime),
    collection: Type.Optional(
      Type.Array(Collection, {
        maxItems: 32,
        "x-kubernetes-list-type": "atomic",
        description:
          "Kinds that the agent may not or cannot read, so that what is shown of them is old; and what the cluster does not have.",
      }),
    ),
    observedGeneration: Type.Optional(Generation),
    /** Absent: it was never served. */
    lastReportedAt: Type.Optional(DateTime),
    conditions: Type.Optional(Conditions),
  },
  rules(HEAD_STAYS),
);

/**
 * A deployment that the platform lists for this cluster: an application, which the agent writes and reports on. The
 * customer decides whether and where it is served.
 */
export const MANAGED_DEPLOYMENT = {
  kind: "ManagedDeployment",
  plural: "manageddeployments",
  shortName: "mdep",
  description: "A deployment that asks to be served here, and the namespaces that the customer accepts it for.",
  // What a release installs is a set by KEP-3659, and the deployment is its parent: other tools then leave it alone.
  labels: { "applyset.kubernetes.io/is-parent-type": "true" },
  spec: Spec,
  status: Status,
  selectableFields: [".spec.deploymentId"],
  columns: [
    { name: "Deployment", type: "string", jsonPath: ".spec.name" },
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Namespaces", type: "string", jsonPath: ".status.namespaces" },
    { name: "Opened", type: "string", jsonPath: '.status.conditions[?(@.type=="Opened")].status' },
    { name: "Release", type: "string", jsonPath: ".status.release.version" },
    { name: "Healthy", type: "string", jsonPath: ".status.workloads.summary" },
    { name: "Observed", type: "date", jsonPath: ".status.observedAt" },
    { name: "Reported", type: "date", jsonPath: ".status.lastReportedAt" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Id", type: "string", jsonPath: ".spec.deploymentId", priority: 1 },
    { name: "Accept", type: "string", jsonPath: ".status.acceptanceLine", priority: 1 },
  ],
  rules: [namedAfter("deploymentId"), STATUS_STAYS],
} as const satisfies Kind;

export type ManagedDeployment = ObjectOf<typeof MANAGED_DEPLOYMENT>;
export type ManagedDeploymentSpec = ManagedDeployment["spec"];
export type ManagedDeploymentStatus = NonNullable<ManagedDeployment["status"]>;
export const managedDeployments = resourceOf(MANAGED_DEPLOYMENT);
