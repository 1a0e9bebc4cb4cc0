import Type, { type Static } from "typebox";
import { Strict, Words } from "../wire/schema.ts";

// Of a stack for Kubernetes (§5.5). A config may have more keys than those named here: they are kept and not rendered.
// Inside of a named key nothing else is taken, so that a misspelt field is refused and not ignored.

const LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?";
const text = (maxLength: number) => Type.String({ maxLength });
const words = Type.Array(text(4096), { maxItems: 200 });

/** Names the objects that are made of a resource, and their label. CronJobs have the shortest names of all: 52. */
export const ResourceId = Type.String({ maxLength: 52, pattern: `^${LABEL}$` });

/** A Kubernetes quantity in one of the forms that machines are planned with (§8.3). */
const QUANTITY = "^[0-9]{1,15}(\\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$";
const Quantity = Type.String({ maxLength: 32, pattern: QUANTITY });

/** What one copy must have, and up to how much it may use; as text both are the same (§5.5). */
const Need = Type.Unsafe<Need>({
  type: ["string", "object"],
  ...{ maxLength: 32, pattern: QUANTITY },
  ...{ required: ["min", "desired"], properties: { min: Quantity, desired: Quantity }, additionalProperties: false },
});
export type Need = string | { readonly min: string; readonly desired: string };

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const seconds = Type.Integer({ minimum: 1, maximum: 3600 });
const Count = Type.Integer({ minimum: 0, maximum: 1000 });
/** A number of copies, or a part of them such as `25%`. */
const Share = Type.Union([Count, Type.String({ maxLength: 4, pattern: "^([1-9]?[0-9]|100)%$" })]);

const Variable = Strict({
  name: Type.String({ maxLength: 256, pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }),
  value: text(10_000),
});

/** One of `port` and `command`; `path` asks the port by HTTP. */
const Probe = Strict({
  path: Type.Optional(Type.String({ maxLength: 1024, pattern: "^/" })),
  port: Type.Optional(Port),
  command: Type.Optional(words),
  initialDelaySeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })),
  periodSeconds: Type.Optional(seconds),
  timeoutSeconds: Type.Optional(seconds),
  failureThreshold: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
});

const Volume = Strict({
  name: Type.String({ maxLength: 63, pattern: `^${LABEL}$` }),
  mountPath: Type.String({ maxLength: 512, pattern: "^(?!.*/\\.\\.(/|$))/[^:]*$" }),
  size: Type.Optional(Quantity),
  persistent: Type.Optional(Type.Boolean()),
});

const Update = Strict({
  maxUnavailable: Type.Optional(Share),
  maxSurge: Type.Optional(Share),
  progressDeadlineSeconds: Type.Optional(seconds),
});

const Workload = {
  image: Type.String({ maxLength: 512, pattern: "^[A-Za-z0-9][A-Za-z0-9._:/@-]*$" }),
  command: Type.Optional(words),
  args: Type.Optional(words),
  env: Type.Optional(Type.Array(Variable, { maxItems: 500 })),
  cpu: Type.Optional(Need),
  memory: Type.Optional(Need),
  probes: Type.Optional(
    Strict({ readiness: Type.Optional(Probe), liveness: Type.Optional(Probe), startup: Type.Optional(Probe) }),
  ),
  volumes: Type.Optional(Type.Array(Volume, { maxItems: 20 })),
  update: Type.Optional(Update),
  automountServiceAccountToken: Type.Optional(Type.Boolean()),
};

const Scaled = {
  replicas: Type.Optional(Count),
  autoscale: Type.Optional(
    Strict({
      min: Type.Integer({ minimum: 1, maximum: 1000 }),
      max: Type.Integer({ minimum: 1, maximum: 1000 }),
      cpuPercent: Type.Integer({ minimum: 1, maximum: 1000 }),
    }),
  ),
};

export const ContainerConfig = Type.Object({
  id: ResourceId,
  type: Type.Literal("container"),
  ...Workload,
  ...Scaled,
  ports: Type.Optional(
    Type.Array(
      Strict({
        name: Type.Optional(Type.String({ maxLength: 15, pattern: `^${LABEL}$` })),
        port: Port,
        protocol: Type.Optional(Words(["TCP", "UDP"])),
        public: Type.Optional(Type.Boolean()),
      }),
      { maxItems: 20 },
    ),
  ),
});
export type ContainerConfig = Static<typeof ContainerConfig>;

const FIELD = "[-0-9A-Za-z*/,?]+";
export const WorkerConfig = Type.Object({
  id: ResourceId,
  type: Type.Literal("worker"),
  ...Workload,
  ...Scaled,
  schedule: Type.Optional(
    Type.String({
      maxLength: 128,
      pattern: `^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|${FIELD}( ${FIELD}){4})$`,
      description: "When it runs, in the form of cron; left out: all the time.",
    }),
  ),
  triggers: Type.Optional(Type.Array(Type.Object({ type: text(64) }), { maxItems: 20 })),
});
export type WorkerConfig = Static<typeof WorkerConfig>;

export const DaemonConfig = Type.Object({
  id: ResourceId,
  type: Type.Literal("daemon"),
  ...Workload,
  tolerations: Type.Optional(
    Type.Array(
      Strict({
        key: Type.Optional(text(317)),
        operator: Type.Optional(Words(["Exists", "Equal"])),
        value: Type.Optional(text(63)),
        effect: Type.Optional(Words(["NoSchedule", "PreferNoSchedule", "NoExecute"])),
      }),
      { maxItems: 20 },
    ),
  ),
});
export type DaemonConfig = Static<typeof DaemonConfig>;
