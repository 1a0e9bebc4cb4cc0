import fc from "fast-check";
import type { GoldenCase } from "./golden-cases.ts";
import { resource } from "./golden-cases.ts";

type Stack = Required<Omit<GoldenCase, "name">>;

const IDS = ["api", "cache", "cron", "db", "jobs", "log", "model", "raw", "web"];
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const text = fc.string({ maxLength: 12, unit: fc.constantFrom(..."abc $(){}\\n\tü".split("")) });
const name = fc.constantFrom("A", "B", "C", "DB_HOST");
const probe = fc.oneof(
  fc.record({ port: fc.integer({ min: 1, max: 65_535 }), path: maybe(fc.constant("/ready")) }),
  fc.record({
    command: fc.array(text, { minLength: 1, maxLength: 2 }),
    periodSeconds: maybe(fc.integer({ min: 1, max: 9 })),
  }),
);
const env = fc.uniqueArray(fc.record({ name, value: text }), { maxLength: 4, selector: (each) => each.name });
const volume = (persistent: boolean) =>
  fc.record({ size: persistent ? fc.constant("1Gi") : maybe(fc.constant("1Gi")), persistent: fc.constant(persistent) });
const volumes = (persistent: boolean) =>
  fc
    .array(volume(persistent), { maxLength: 3 })
    .map((all) => all.map((each, n) => ({ ...each, name: `v-${n}`, mountPath: `/v/${n}` })));

const workload = {
  image: fc.constantFrom("a", "registry.example/web:1", "registry.example/web@sha256:0"),
  command: maybe(fc.array(text, { maxLength: 2 })),
  ...{ env: maybe(env), memory: maybe(fc.constantFrom("64Mi", "1.5Gi")), cpu: fc.constant("1") },
  probes: maybe(fc.record({ readiness: maybe(probe), liveness: maybe(probe), startup: maybe(probe) })),
  automountServiceAccountToken: maybe(fc.boolean()),
};
const update = maybe(
  fc.record({ maxUnavailable: fc.constantFrom(1, "50%"), progressDeadlineSeconds: maybe(fc.constant(60)) }),
);
const autoscale = fc.record({
  autoscale: fc.constant({ min: 1, max: 5, cpuPercent: 50 }),
});
const scaled = fc.oneof(fc.record({ replicas: maybe(fc.integer({ min: 0, max: 3 })) }), autoscale);
const ports = fc
  .uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 3 })
  .map((all) => all.map((port, n) => ({ port, ...(n === 0 && { name: "http" }) })));

const merged = (...parts: readonly fc.Arbitrary<object>[]) =>
  fc.tuple(...parts).map((all) => Object.assign({}, ...all) as object);
const container = merged(
  fc.record({ type: fc.constant("container"), ...workload, update, ports: maybe(ports) }),
  fc.boolean().chain((persistent) => fc.record({ volumes: maybe(volumes(persistent)) })),
  scaled,
);
const worker = merged(
  fc.record({ type: fc.constant("worker"), ...workload, update, volumes: maybe(volumes(false)) }),
  fc.oneof(scaled, fc.constant({ schedule: "@daily" })),
);
const daemon = fc.record({ type: fc.constant("daemon"), ...workload, update, volumes: maybe(volumes(false)) });

const POD = {
  ...{ automountServiceAccountToken: false, restartPolicy: "Never" },
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  containers: [
    { name: "c", image: "a", securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } } },
  ],
};
const selector = fc.constantFrom(
  {},
  { matchLabels: { app: "a" } },
  { matchExpressions: [{ key: "app", operator: "Exists" }] },
);
const object = fc.oneof(
  fc.record({
    apiVersion: fc.constant("v1"),
    kind: fc.constantFrom("ConfigMap", "Service", "ServiceAccount", "PersistentVolumeClaim"),
  }),
  fc.record({
    apiVersion: fc.constant("v1"),
    kind: fc.constant("Service"),
    spec: fc.record({ selector: maybe(fc.constantFrom({}, { app: "a" })) }),
  }),
  fc.record({
    apiVersion: fc.constant("networking.k8s.io/v1"),
    kind: fc.constant("NetworkPolicy"),
    spec: maybe(fc.record({ podSelector: maybe(selector) })),
  }),
  fc.record({
    apiVersion: fc.constant("policy/v1"),
    kind: fc.constant("PodDisruptionBudget"),
    spec: maybe(fc.record({ selector: maybe(selector) })),
  }),
  fc.record({
    apiVersion: fc.constant("apps/v1"),
    kind: fc.constantFrom("Deployment", "StatefulSet", "DaemonSet"),
    spec: fc.record({
      selector: maybe(selector),
      template: fc.record({
        metadata: maybe(fc.record({ labels: fc.constantFrom(null, {}, { app: "a" }) })),
        spec: fc.constant(POD),
      }),
    }),
  }),
  fc.constant({
    ...{ apiVersion: "batch/v1", kind: "CronJob" },
    spec: { schedule: "@daily", jobTemplate: { spec: { template: { spec: POD } } } },
  }),
  fc.record({
    apiVersion: fc.constant("batch/v1"),
    kind: fc.constant("Job"),
    spec: fc.constant({ template: { spec: POD } }),
    hook: maybe(fc.constantFrom("pre", "post")),
  }),
);
/** Names of one resource's objects begin with its id, so that no two of a stack are one. */
const manifests = (id: string) =>
  fc.array(object, { minLength: 1, maxLength: 5 }).map((all) => ({
    type: "manifests",
    objects: all.map(
      (
        { hook, ...rest }: { readonly hook?: string | undefined; readonly apiVersion: string; readonly kind: string },
        n,
      ) => ({
        ...rest,
        metadata: {
          name: `${id}-object-${n}`,
          ...(hook !== undefined && { annotations: { "sallyport.dev/hook": hook } }),
        },
      }),
    ),
  }));
const other = fc.constantFrom({ type: "postgres" }, { type: "ai" });

const binding = fc.oneof(
  fc.record({ secret: fc.constantFrom("theirs", "other"), env: maybe(fc.dictionary(name, fc.constantFrom("a", "b"))) }),
  fc.record({ configMap: fc.constant("theirs") }),
);
const variables = fc.array(
  fc.record({
    name,
    value: text,
    type: fc.constant("plain"),
    targetResources: maybe(fc.subarray(["web", "j*", "log"])),
  }),
  { maxLength: 4 },
);
const inputs = fc.array(
  fc.record({
    ...{
      id: fc.constantFrom("one", "two"),
      kind: fc.constant("string"),
      label: fc.constant("L"),
      required: fc.boolean(),
    },
    env: maybe(fc.array(fc.record({ name }), { maxLength: 2 })),
    default: maybe(fc.record({ type: fc.constant("string"), value: text })),
  }),
  { maxLength: 2 },
);

/** Any stack that can be rendered, with its configuration: each resource needs only those whose ids come before its own. */
export const someStack: fc.Arbitrary<Stack> = fc
  .subarray(IDS, { minLength: 1 })
  .chain((ids) => {
    const each = ids.map((id, index) =>
      fc.record({
        id: fc.constant(id),
        config: fc.oneof(container, worker, daemon, manifests(id), other),
        dependencies: fc.subarray(ids.slice(0, index)),
        lifecycle: fc.constantFrom("live", "frozen"),
      }),
    );
    return fc.record({
      all: fc.tuple(...each),
      inputs,
      variables,
      values: fc.dictionary(fc.constantFrom("one", "two"), text),
      bindings: fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), binding))),
    });
  })
  .map(({ all, inputs, variables, values, bindings }) => ({
    resources: Object.fromEntries(
      all.map(({ id, config, dependencies, lifecycle }) => [id, resource({ id, ...config }, dependencies, lifecycle)]),
    ),
    inputs,
    config: {
      environmentVariables: { variables },
      inputValues: values,
      externalBindings: Object.fromEntries(bindings),
    },
  }))
  // As it comes over the wire: what is undefined is not there.
  .map((stack) => JSON.parse(JSON.stringify(stack)) as Stack);
