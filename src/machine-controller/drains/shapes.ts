import { CORDONED_BY_ANNOTATION, MACHINE_LABEL } from "../../crds/group.ts";
import { quantityOf } from "../../kube/objects/quantity.ts";
import { folded, intOrString, present, some } from "../../kube/projection/derived-types.ts";
import {
  bool,
  entries,
  int,
  interned,
  list,
  map,
  optional,
  quantity,
  string,
  time,
} from "../../kube/projection/field-types.ts";
import { field, message, type Projected } from "../../kube/projection/projection.ts";

// What a drain reads of the cluster. Field numbers: generated.proto of k8s.io/api/{core,policy}/v1.

/** On a pod that the kubelet made from a file: the API server has only its mirror. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";
/** On a pod of a Deployment, and the end of its ReplicaSet's name. */
export const TEMPLATE_HASH_LABEL = "pod-template-hash";

const conditionShape = message({ type: field(1, interned), status: field(2, interned) });

const volumeShape = message({
  volumeSource: field(2, message({ emptyDir: field(2, present) })),
  // JSON has the source's fields beside the volume's name; protobuf has no field of this number.
  emptyDir: field(3, present),
});

/** Amounts that containers ask for: cores in thousandths, bytes of memory, bytes of storage. */
export interface Requests {
  readonly milliCpu: number;
  readonly memory: number;
  readonly storage: number;
}

const NOTHING: Requests = { milliCpu: 0, memory: 0, storage: 0 };
const containerShape = message({
  resources: field(8, message({ requests: field(2, entries(["cpu", "memory", "ephemeral-storage"], quantity)) })),
});

function addRequests(sum: Requests, { resources: { requests } }: Projected<typeof containerShape>): Requests {
  const amount = (name: string): number => quantityOf(requests[name] ?? "0") ?? 0;
  return {
    milliCpu: sum.milliCpu + amount("cpu") * 1_000,
    memory: sum.memory + amount("memory"),
    storage: sum.storage + amount("ephemeral-storage"),
  };
}

export const drainPodShape = message({
  metadata: field(
    1,
    message({
      name: field(1, string),
      namespace: field(3, interned),
      uid: field(5, string),
      resourceVersion: field(6, string),
      creationTimestamp: field(8, time),
      deletionTimestamp: field(9, optional(time)),
      deletionGracePeriodSeconds: field(10, optional(int)),
      labels: field(11, map(interned)),
      annotations: field(12, entries([MIRROR_ANNOTATION], interned)),
      ownerReferences: field(
        13,
        list(
          message({
            kind: field(1, interned),
            name: field(3, interned),
            apiVersion: field(5, interned),
            controller: field(6, optional(bool)),
          }),
        ),
      ),
      finalizers: field(14, list(interned)),
    }),
  ),
  spec: field(
    2,
    message({
      /** Whether any of its volumes is an emptyDir. */
      volumes: field(
        1,
        some(volumeShape, ({ volumeSource, emptyDir }) => volumeSource.emptyDir || emptyDir),
      ),
      /** What its containers ask for together. */
      containers: field(2, folded(containerShape, NOTHING, addRequests)),
      terminationGracePeriodSeconds: field(4, optional(int)),
      nodeName: field(10, interned),
      priorityClassName: field(24, optional(interned)),
      priority: field(25, optional(int)),
    }),
  ),
  status: field(
    3,
    message({
      phase: field(1, interned),
      /** Whether it is Ready. */
      conditions: field(
        2,
        some(conditionShape, ({ type, status }) => type === "Ready" && status === "True"),
      ),
    }),
  ),
});
export type DrainPod = Projected<typeof drainPodShape>;

export const drainNodeShape = message({
  metadata: field(
    1,
    message({
      name: field(1, string),
      uid: field(5, string),
      resourceVersion: field(6, string),
      creationTimestamp: field(8, time),
      deletionTimestamp: field(9, optional(time)),
      labels: field(11, entries([MACHINE_LABEL], interned)),
      annotations: field(12, entries([CORDONED_BY_ANNOTATION], interned)),
    }),
  ),
  spec: field(2, message({ unschedulable: field(4, bool) })),
  status: field(
    3,
    message({
      conditions: field(
        4,
        list(
          message({
            type: field(1, interned),
            status: field(2, interned),
            lastTransitionTime: field(4, optional(time)),
          }),
        ),
      ),
      addresses: field(5, list(message({ type: field(1, interned), address: field(2, string) }))),
    }),
  ),
});
export type DrainNode = Projected<typeof drainNodeShape>;

export const budgetShape = message({
  metadata: field(
    1,
    message({
      name: field(1, string),
      namespace: field(3, interned),
      resourceVersion: field(6, string),
      generation: field(7, int),
    }),
  ),
  spec: field(
    2,
    message({
      minAvailable: field(1, intOrString),
      // Without a selector it selects nothing, with an empty one every pod of the namespace.
      selector: field(
        2,
        optional(
          message({
            matchLabels: field(1, map(interned)),
            matchExpressions: field(
              2,
              list(
                message({ key: field(1, interned), operator: field(2, interned), values: field(3, list(interned)) }),
              ),
            ),
          }),
        ),
      ),
      maxUnavailable: field(3, intOrString),
      unhealthyPodEvictionPolicy: field(4, optional(interned)),
    }),
  ),
  status: field(
    3,
    message({
      observedGeneration: field(1, int),
      disruptionsAllowed: field(3, int),
      currentHealthy: field(4, int),
      desiredHealthy: field(5, int),
      expectedPods: field(6, int),
    }),
  ),
});
export type Budget = Projected<typeof budgetShape>;
