import Type from "typebox";
import { Conditions, DateTime, DeploymentRef, Generation, rules, Words } from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";

const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

const LABEL_KEY = "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const LabelValue = Type.String({ maxLength: 63, pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$" });
/** How joining machines check the join server's key: curl's `--pinnedpubkey`. */
const KeyPin = Type.String({ maxLength: 52, pattern: "^sha256//[A-Za-z0-9+/]{43}=$" });
const HttpsUrl = Type.String({ maxLength: 256, pattern: "^https://[A-Za-z0-9.\\[\\]:-]+$" });

const Taint = Type.Object({
  key: Type.String({ minLength: 1, maxLength: 316, pattern: LABEL_KEY }),
  value: Type.Optional(LabelValue),
  effect: Words(TAINT_EFFECTS),
});

const Draining = Type.Object({
  defaultDeadlineMinutes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1440,
      default: 60,
      description: "For a drain that names no deadline. 0: now.",
    }),
  ),
  allowForce: Type.Optional(
    Type.Boolean({
      default: false,
      description: "Whether a drain with `force` may delete, at its deadline, pods that a budget protects.",
    }),
  ),
  deleteEmptyDir: Type.Optional(
    Type.Boolean({ default: true, description: "false: a pod with an emptyDir holds the drain up." }),
  ),
  maxParallel: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 1,
      description:
        "Nodes of this pool that are emptied at a time. Two at once can ask more of a budget than it allows.",
    }),
  ),
  skip: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: "^[A-Za-z0-9_./=!,() -]+$" }), {
      maxItems: 16,
      "x-kubernetes-list-type": "atomic",
      description: "Label selectors of pods that no drain evicts.",
    }),
  ),
});

const Spec = Type.Object(
  {
    deploymentId: DeploymentRef,
    namePrefix: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        pattern: "^[a-z0-9][-a-z0-9]*$",
        default: "m-",
        description: "What the names of its nodes begin with.",
      }),
    ),
    maxMachines: Type.Optional(Type.Integer({ minimum: 0, maximum: 5000, default: 10 })),
    approval: Type.Optional(
      Type.Unsafe<"manual" | "automatic">({
        type: "string",
        enum: ["manual", "automatic"],
        default: "manual",
        description: "manual: a person lets each machine in.",
      }),
    ),
    until: Type.Optional(Type.String({ format: "date-time", description: "No machine joins after it." })),
    apiServer: Type.Optional(HttpsUrl),
    labels: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: "object",
        maxProperties: 16,
        additionalProperties: LabelValue,
        description: "The kubelet of a joined machine puts them on its node.",
        ...rules({
          rule: `self.all(k, k.size() <= 316 && k.matches('${LABEL_KEY}') && !k.matches('(^|[.])(kubernetes|k8s)[.]io/'))`,
          message: "labels are label keys outside of kubernetes.io and k8s.io, which a kubelet may not set",
        }),
      }),
    ),
    taints: Type.Optional(Type.Array(Taint, { maxItems: 16, "x-kubernetes-list-type": "atomic" })),
    serving: Type.Optional(
      Type.Unsafe<"selfSigned" | "approve">({
        type: "string",
        enum: ["selfSigned", "approve"],
        default: "selfSigned",
        description: "approve: the cluster signs the certificates with which its kubelets serve logs and exec.",
      }),
    ),
    drain: Type.Optional(Draining),
  },
  rules({
    rule: "self.deploymentId == oldSelf.deploymentId && self.namePrefix == oldSelf.namePrefix",
    message: "deploymentId and namePrefix are immutable; a changed wish is a new pool",
  }),
);

const count = Type.Integer({ minimum: 0, maximum: 1_000_000 });

const Status = Type.Object({
  joined: Type.Optional(count),
  waiting: Type.Optional(count),
  joinServer: Type.Optional(
    Type.Object(
      {
        url: HttpsUrl,
        pins: Type.Array(KeyPin, { minItems: 1, maxItems: 4, "x-kubernetes-list-type": "atomic" }),
        at: DateTime,
      },
      { description: "Written by the join server's account alone. Compare the pin with that of a join string." },
    ),
  ),
  observedGeneration: Type.Optional(Generation),
  conditions: Type.Optional(Conditions),
});

/** The customer's word that machines may join for a deployment: how many, under which names, and how they are emptied. */
export const MACHINE_POOL = {
  kind: "MachinePool",
  plural: "machinepools",
  shortName: "mpool",
  description: "Machines that may join this cluster for a deployment. Without a pool none joins; delete it to end it.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.deploymentId"],
  columns: [
    { name: "Joined", type: "integer", jsonPath: ".status.joined" },
    { name: "Waiting", type: "integer", jsonPath: ".status.waiting" },
    { name: "Max", type: "integer", jsonPath: ".spec.maxMachines" },
    { name: "Approval", type: "string", jsonPath: ".spec.approval" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Deployment", type: "string", jsonPath: ".spec.deploymentId", priority: 1 },
    { name: "Url", type: "string", jsonPath: ".status.joinServer.url", priority: 1 },
    { name: "Pin", type: "string", jsonPath: ".status.joinServer.pins[0]", priority: 1 },
  ],
} as const satisfies Kind;

export type MachinePool = ObjectOf<typeof MACHINE_POOL>;
export type MachinePoolSpec = MachinePool["spec"];
export type MachinePoolStatus = NonNullable<MachinePool["status"]>;
export const machinePools = resourceOf(MACHINE_POOL);
