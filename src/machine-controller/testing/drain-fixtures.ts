import { MACHINE_DRAIN, type MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { type Budget, type DrainNode, type DrainPod, MIRROR_ANNOTATION } from "../drains/shapes.ts";

export const NODE = "m-3";
export const SYSTEM = "sallyport-system";

export interface PodWish {
  readonly namespace?: string;
  readonly uid?: string;
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Kind and name; null for none. */
  readonly owner?: readonly [kind: string, name: string] | null | undefined;
  readonly isMirror?: boolean;
  readonly emptyDir?: boolean;
  readonly graceSeconds?: number;
  readonly priority?: number;
  readonly phase?: string;
  readonly isReady?: boolean;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly createdAt?: string;
}

/** A pod of the Deployment api, on the node, Ready, unless wished otherwise. */
export function pod(name: string, wish: PodWish = {}): DrainPod {
  const { owner = ["ReplicaSet", "api-6d4f"], deletionTimestamp, deletionGracePeriodSeconds } = wish;
  return {
    metadata: {
      name,
      namespace: wish.namespace ?? "shop",
      uid: wish.uid ?? `uid-of-${wish.namespace ?? "shop"}-${name}`,
      resourceVersion: "1",
      creationTimestamp: wish.createdAt ?? "2026-01-01T00:00:00Z",
      labels: wish.labels ?? { app: "api", "pod-template-hash": "6d4f" },
      annotations: wish.isMirror === true ? { [MIRROR_ANNOTATION]: "x" } : {},
      ownerReferences:
        owner === null ? [] : [{ apiVersion: "apps/v1", kind: owner[0], name: owner[1], controller: true }],
      finalizers: wish.finalizers ?? [],
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    },
    spec: {
      volumes: wish.emptyDir ?? false,
      containers: { milliCpu: 0, memory: 0, storage: 0 },
      nodeName: wish.node ?? NODE,
      ...(wish.graceSeconds !== undefined && { terminationGracePeriodSeconds: wish.graceSeconds }),
      ...(wish.priority !== undefined && { priority: wish.priority }),
    },
    status: { phase: wish.phase ?? "Running", conditions: wish.isReady ?? true },
  };
}

export interface BudgetWish {
  readonly namespace?: string;
  readonly allowed?: number;
  readonly app?: string;
  readonly spec?: Partial<Budget["spec"]>;
  readonly status?: Partial<Budget["status"]>;
}

/** Of the pods with the label app=api: two are needed, and two healthy. */
export function budget(
  name: string,
  { namespace = "shop", allowed = 0, app = "api", spec, status }: BudgetWish = {},
): Budget {
  return {
    metadata: { name, namespace, resourceVersion: "1", generation: 1 },
    spec: {
      minAvailable: "2",
      maxUnavailable: "",
      selector: { matchLabels: { app }, matchExpressions: [] },
      ...spec,
    },
    status: {
      ...{ observedGeneration: 1, disruptionsAllowed: allowed, currentHealthy: 2, desiredHealthy: 2, expectedPods: 2 },
      ...status,
    },
  };
}

type NodeAddresses = DrainNode["status"]["addresses"];

export function node(
  name = NODE,
  wish: {
    cordoned?: boolean;
    mark?: string;
    ready?: string;
    since?: string;
    addresses?: NodeAddresses;
    createdAt?: string;
    /** It registered without the label of a machine. */
    foreign?: boolean;
  } = {},
): DrainNode {
  return {
    metadata: {
      name,
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      creationTimestamp: wish.createdAt ?? "2026-01-01T00:00:00Z",
      labels: wish.foreign === true ? {} : { "sallyport.dev/machine": "true" },
      annotations: wish.mark === undefined ? {} : { "sallyport.dev/cordoned-by": wish.mark },
    },
    spec: { unschedulable: wish.cordoned ?? false },
    status: {
      conditions: [
        { type: "Ready", status: wish.ready ?? "True", lastTransitionTime: wish.since ?? "2026-01-01T00:00:00Z" },
      ],
      addresses: wish.addresses ?? [],
    },
  };
}

export function drain(
  name: string,
  spec: Partial<MachineDrain["spec"]> = {},
  more: { readonly status?: MachineDrain["status"]; readonly createdAt?: string } = {},
): MachineDrain {
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: MACHINE_DRAIN.kind,
    metadata: {
      name,
      namespace: "sallyport-grants",
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: more.createdAt ?? "2026-01-01T00:00:00Z",
    },
    spec: { nodeName: NODE, ...spec },
    ...(more.status !== undefined && { status: more.status }),
  };
}

export function requested(
  more: Partial<NonNullable<MachineDrain["spec"]["requested"]>> = {},
): Partial<MachineDrain["spec"]> {
  return { requested: { deploymentId: "dpl_1", machineId: NODE, revision: 1, ...more } };
}

/** The operator's word for a wish of the platform. */
export const approved = {
  conditions: [
    {
      type: "Approved",
      status: "True" as const,
      reason: "PolicyAuto",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ],
};
