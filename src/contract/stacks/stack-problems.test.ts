import fc from "fast-check";
import { Check } from "typebox/value";
import { describe, expect, it, test } from "vitest";
import { cpuMs } from "../../base/testing/cpu-time.ts";
import { KubernetesStack } from "../deployments/stack.ts";
import { stackFaults } from "../deployments/stack-faults.ts";
import { MAX_STACK_PROBLEMS } from "./stack-problem.ts";
import { stackProblems } from "./stack-problems.ts";

const WEB = { type: "container", image: "registry.example.com/web:1.4.0" };
const resource = (config: object, dependencies: readonly unknown[] = []) => ({
  config,
  dependencies,
  lifecycle: "live",
});
const stackOf = (configs: Readonly<Record<string, object>>) => ({
  id: "shop",
  resources: Object.fromEntries(Object.entries(configs).map(([id, config]) => [id, resource({ id, ...config })])),
});
const object = (apiVersion: string, kind: string, name = "a", more: object = {}) => ({
  ...{ apiVersion, kind, metadata: { name } },
  ...more,
});
const manifests = (...objects: readonly object[]) => ({ type: "manifests", objects });
/** As lines; a path without its beginning, which all have. */
const told = (stack: unknown): readonly string[] =>
  stackFaults(stack).map(({ path, message }) => `${path.replace(/^resources\./, "")} ${message}`);

const FULL = {
  web: {
    ...WEB,
    ...{ command: ["serve"], args: ["--verbose"], env: [{ name: "MODE", value: "fast" }] },
    ports: [
      { name: "http", port: 8080, public: true },
      { port: 9000, protocol: "UDP" },
    ],
    ...{ cpu: "500m", memory: "1.5Gi", autoscale: { min: 2, max: 10, cpuPercent: 70 } },
    probes: { readiness: { path: "/ready", port: 8080, periodSeconds: 5 }, liveness: { command: ["true"] } },
    volumes: [{ name: "data", mountPath: "/data", size: "10Gi", persistent: true }],
    update: { maxUnavailable: 0, maxSurge: "25%", progressDeadlineSeconds: 300 },
    ...{ pool: "front", publicEndpoints: [{ name: "api" }] },
  },
  nightly: { type: "worker", image: "web@sha256:0", schedule: "15 3 * * MON-FRI" },
  jobs: {
    type: "worker",
    image: "web",
    replicas: 3,
    cpu: { min: "0.5", desired: "2" },
    memory: { min: "1Gi", desired: "2Gi" },
    triggers: [{ type: "queue", from: "orders" }],
  },
  log: { type: "daemon", image: "log", tolerations: [{ operator: "Exists" }] },
  raw: manifests(
    object("v1", "ConfigMap"),
    object("apps/v1", "Deployment", "a", { spec: { replicas: 1, template: {} } }),
  ),
  orders: { type: "queue", anything: { at: "all" } },
  model: { type: "ai", modelRequirements: [] },
};

test("a stack that uses every field has no problem, and fits the API's schema", () => {
  expect(told(stackOf(FULL))).toEqual([]);
  expect(Check(KubernetesStack, stackOf(FULL))).toBe(true);
});

describe("of a workload is refused", () => {
  const container = (more: object) => stackOf({ web: { ...WEB, ...more } });
  it.each<[string, unknown, string]>([
    ["no image", stackOf({ web: { type: "container" } }), "web.config.image is required"],
    ["an image with a space", container({ image: "a b" }), "web.config.image must match pattern"],
    ["replicas as text", container({ replicas: "3" }), "web.config.replicas must be integer"],
    ["a number of cores", container({ cpu: 2 }), "web.config.cpu must be"],
    ["a need without its least", container({ cpu: { desired: "1" } }), "web.config.cpu"],
    ["a need with more", container({ memory: { min: "1Gi", desired: "1Gi", max: "2Gi" } }), "web.config.memory"],
    [
      "less than the least",
      container({ cpu: { min: "1", desired: "500m" } }),
      "web.config.cpu.desired is less than min",
    ],
    ["memory in words", container({ memory: "2 GB" }), "web.config.memory must match pattern"],
    [
      "a misspelt field of a port",
      container({ ports: [{ prot: 1, port: 1 }] }),
      "web.config.ports.0.prot is not a known",
    ],
    ["a port out of range", container({ ports: [{ port: 0 }] }), "web.config.ports.0.port must be >= 1"],
    ["a port twice", container({ ports: [{ port: 1 }, { port: 1 }] }), "web.config.ports.1.port is given twice"],
    ["an id that is no label", stackOf({ Web: { ...WEB } }), "Web.config.id must match pattern"],
    ["an id other than the key", stackOf({ web: { ...WEB, id: "api" } }), "web.config.id is another than"],
    ["a schedule of a container", container({ schedule: "@daily" }), "web.config.schedule is not for a container"],
    [
      "a schedule of four fields",
      stackOf({ w: { ...WEB, type: "worker", schedule: "* * * *" } }),
      "w.config.schedule must",
    ],
    [
      "copies of what runs by a schedule",
      stackOf({ w: { ...WEB, type: "worker", schedule: "@daily", replicas: 2 } }),
      "w.config.replicas is not for what runs by a schedule",
    ],
    ["ports of a daemon", stackOf({ d: { ...WEB, type: "daemon", ports: [] } }), "d.config.ports is not for a daemon"],
    [
      "a probe of two ways",
      container({ probes: { startup: { port: 1, command: [] } } }),
      "web.config.probes.startup needs",
    ],
    ["a probe of none", container({ probes: { startup: { path: "/" } } }), "web.config.probes.startup needs port or"],
    [
      "a path without a port",
      container({ probes: { liveness: { path: "/", command: [] } } }),
      "web.config.probes.liveness.path",
    ],
    [
      "a volume of no size",
      container({ volumes: [{ name: "a", mountPath: "/a", persistent: true }] }),
      "web.config.volumes.0.size",
    ],
    [
      "a mount that climbs",
      container({ volumes: [{ name: "a", mountPath: "/a/../b" }] }),
      "web.config.volumes.0.mountPath",
    ],
    [
      "autoscale and replicas",
      container({ cpu: "1", replicas: 1, autoscale: { min: 1, max: 2, cpuPercent: 50 } }),
      "web.config.replicas",
    ],
    [
      "autoscale without cpu",
      container({ autoscale: { min: 1, max: 2, cpuPercent: 50 } }),
      "web.config.cpu is required",
    ],
    [
      "autoscale the wrong way round",
      container({ cpu: "1", autoscale: { min: 3, max: 2, cpuPercent: 50 } }),
      "web.config.autoscale.min",
    ],
    [
      "an update that cannot go on",
      container({ update: { maxSurge: 0, maxUnavailable: "0%" } }),
      "web.config.update lets no",
    ],
    [
      "a variable twice",
      container({
        env: [
          { name: "A", value: "" },
          { name: "A", value: "" },
        ],
      }),
      "web.config.env.1.name",
    ],
  ])("%s", (_, stack, line) => {
    const lines = told(stack);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(line);
  });
});

describe("of objects is refused", () => {
  it.each<[string, object, string]>([
    ["a right", object("rbac.authorization.k8s.io/v1", "Role"), "kind Role is never installed"],
    ["a webhook", object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), "kind Valid"],
    ["an admission policy", object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"), "kind Valid"],
    ["a kind's definition", object("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "kind CustomR"],
    ["a namespace", object("v1", "Namespace"), "kind Namespace is never"],
    ["a node", object("v1", "Node"), "kind Node is never"],
    ["a volume of the cluster", object("v1", "PersistentVolume"), "kind PersistentVolume is never"],
    ["a secret", object("v1", "Secret"), "kind Secret is never installed by a release: name one that"],
    ["a grant", object("sallyport.dev/v1alpha1", "AccessGrant"), "kind AccessGrant is never"],
    ["a list", object("v1", "List", "a", { items: [] }), "kind List holds others"],
    ["a status", object("v1", "Service", "a", { status: {} }), "status is the cluster's to write"],
    ["no name", { apiVersion: "v1", kind: "Service", metadata: { generateName: "a-" } }, "metadata.name is required"],
    ["no kind", { apiVersion: "v1", metadata: { name: "a" } }, "kind is required"],
    [
      "an owner",
      object("v1", "Service", "a", { metadata: { name: "a", ownerReferences: [] } }),
      "metadata.ownerReferences must",
    ],
    [
      "a finalizer",
      object("v1", "Service", "a", { metadata: { name: "a", finalizers: [] } }),
      "metadata.finalizers must",
    ],
    [
      "a label of an apply set",
      object("v1", "Service", "a", { metadata: { name: "a", labels: { "applyset.kubernetes.io/part-of": "x" } } }),
      "metadata.labels.applyset.kubernetes.io/part-of is written",
    ],
    [
      "a label with a letter that no label has",
      object("v1", "Service", "a", { metadata: { name: "a", labels: { tier: "frönt" } } }),
      "metadata.labels.tier is at most 63 letters",
    ],
    [
      "a misspelt template",
      object("apps/v1", "Deployment", "a", { spec: { tmplate: {} } }),
      "spec.template is required",
    ],
    [
      "a schedule without a Job",
      object("batch/v1", "CronJob", "a", { spec: { jobTemplate: { template: {} } } }),
      "spec.jobTemplate.spec is required",
    ],
    [
      "a hook of what is no Job",
      object("v1", "Service", "a", { metadata: { name: "a", annotations: { "sallyport.dev/hook": "before" } } }),
      "metadata.annotations.sallyport.dev/hook is pre or post",
    ],
    ...(
      [
        ["a weight without a hook", "v1", "Service", { "hook-weight": "1" }, "hook-weight is a whole number"],
        [
          "a weight that is none",
          "v1",
          "Service",
          { hook: "pre", "hook-weight": "1.5" },
          "hook-weight is a whole number",
        ],
        ["a run of what is no Job", "v1", "Service", { hook: "pre", "hook-run": "1" }, "hook-run is a text of at most"],
        ["an empty run", "batch/v1", "Job", { hook: "pre", "hook-run": "" }, "hook-run is a text of at most"],
      ] as const
    ).map(([what, version, kind, given, line]): [string, object, string] => {
      const annotations = Object.fromEntries(
        Object.entries(given).map(([key, value]) => [`sallyport.dev/${key}`, value]),
      );
      return [
        what,
        object(version, kind, "a", { metadata: { name: "a", annotations } }),
        `metadata.annotations.sallyport.dev/${line}`,
      ];
    }),
  ])("%s", (_, one, line) => {
    const lines = told(stackOf({ raw: manifests(one) }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`raw.config.objects.0.${line}`);
  });

  it("a hook is none of it", () => {
    const hook = { "sallyport.dev/hook": "pre", "sallyport.dev/hook-weight": "-5" };
    const annotations = { ...hook, "sallyport.dev/hook-run": "1.4.0" };
    const job = object("batch/v1", "Job", "a", { metadata: { name: "a", annotations } });
    const account = object("v1", "ServiceAccount", "a", { metadata: { name: "a", annotations: hook } });
    expect(told(stackOf({ raw: manifests(job, account) }))).toEqual([]);
  });

  it("the same one twice, in another version too, and beside a workload's own", () => {
    const twice = manifests(object("apps/v1", "Deployment"), object("apps/v1beta1", "Deployment"));
    expect(told(stackOf({ raw: twice }))).toEqual([
      "raw.config.objects.1 is the same object as that of resources.raw.config.objects.0",
    ]);
    const beside = manifests(object("apps/v1", "Deployment", "web"), object("v1", "Service", "web"));
    expect(told(stackOf({ web: WEB, raw: beside }))).toEqual([
      "raw.config.objects.0 is the same object as that of resources.web.config",
    ]);
  });

  it("more than 300, those of workloads counted", () => {
    const many = Array.from({ length: 299 }, (_, n) => object("v1", "ConfigMap", `a-${n}`));
    expect(told(stackOf({ raw: manifests(...many) }))).toEqual([]);
    expect(told(stackOf({ web: WEB, raw: manifests(...many) }))).toEqual([
      "resources make 301 objects, and 300 are the most",
    ]);
  });

  it("too many bytes", () => {
    const large = stackOf({ raw: manifests(object("v1", "ConfigMap", "a", { data: { a: "x".repeat(930_000) } })) });
    expect(stackProblems(large as never).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^make about \d+ bytes, and 921600 are the most$/),
    ]);
    expect(told(large)).toEqual([expect.stringMatching(/has \d+ bytes, and 524288 are the most$/)]);
  });
});

describe("dependencies", () => {
  const needing = (needs: Readonly<Record<string, readonly unknown[]>>) => ({
    id: "shop",
    resources: Object.fromEntries(
      Object.entries(needs).map(([id, dependencies]) => [id, resource({ id, type: "queue" }, dependencies)]),
    ),
  });
  it("on nothing, and circles", () => {
    expect(told(needing({ a: ["b", { id: "toString" }], b: [] }))).toEqual([
      'a.dependencies.1 "toString" is no resource of the stack',
    ]);
    expect(told(needing({ a: ["b"], b: ["c"], c: ["b"], d: [] }))).toEqual([
      "b.dependencies go in a circle: b → c → b",
    ]);
    expect(told(needing({ a: [{ id: "a" }] }))).toEqual(["a.dependencies go in a circle: a → a"]);
  });

  it("property: a circle is told exactly when no order of the resources has each after what it needs", () => {
    const graph = fc.integer({ min: 1, max: 8 }).chain((size) => {
      const id = fc.integer({ min: 0, max: size - 1 }).map((n) => `r${n}`);
      return fc.array(fc.array(id, { maxLength: 3 }), { minLength: size, maxLength: size });
    });
    fc.assert(
      fc.property(graph, (lists) => {
        const needs = Object.fromEntries(lists.map((list, index) => [`r${index}`, list]));
        // The naive twin: takes away what needs nothing any more, as long as there is such.
        let left = Object.keys(needs);
        for (;;) {
          const kept = left.filter((id) => needs[id]?.some((each) => left.includes(each)));
          if (kept.length === left.length) break;
          left = kept;
        }
        const lines = told(needing(needs));
        expect(lines.length > 0).toBe(left.length > 0);
        const [, circle = ""] = /in a circle: (.*)$/.exec(lines[0] ?? "") ?? [];
        const steps = circle === "" ? [] : circle.split(" → ");
        for (const [index, id] of steps.slice(1).entries()) expect(needs[steps[index] ?? ""]).toContain(id);
      }),
    );
  });
});

test("property: any value is judged, with at most fifty problems, and what has none fits the API's schema", () => {
  const config = fc.oneof(
    fc.record({ id: fc.constantFrom("a", "b"), type: fc.constantFrom("container", "worker", "manifests", "kv") }),
    fc.constantFrom(...Object.entries(FULL).map(([id, each]) => ({ id, ...each }))),
    fc.object({ maxDepth: 2 }),
  );
  const some = fc.record({
    id: fc.constant("shop"),
    resources: fc.dictionary(
      fc.constantFrom("a", "b", "web", "raw", "jobs", "__proto__"),
      fc.record({ config, dependencies: fc.array(fc.constantFrom("a", "web")), lifecycle: fc.constant("live") }),
    ),
  });
  fc.assert(
    fc.property(fc.oneof(some, fc.anything()), (value) => {
      const problems = stackFaults(value);
      expect(problems.length).toBeLessThanOrEqual(MAX_STACK_PROBLEMS);
      if (problems.length === 0) expect(Check(KubernetesStack, value)).toBe(true);
    }),
  );
});

test.each([
  [
    "resources that all need each other",
    () => {
      const ids = Array.from({ length: 280 }, (_, n) => `r${n}`);
      return { id: "s", resources: Object.fromEntries(ids.map((id) => [id, resource({ id, type: "kv" }, ids)])) };
    },
  ],
  [
    "one long chain",
    () => {
      const all = Array.from({ length: 5_000 }, (_, n) => [
        `r${n}`,
        resource({ id: `r${n}`, type: "kv" }, [`r${n + 1}`]),
      ]);
      return {
        id: "s",
        resources: Object.fromEntries([...all, ["r5000", resource({ id: "r5000", type: "kv" }, ["r0"])]]),
      };
    },
  ],
  [
    "objects of one name, with labels",
    () => {
      const labels = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`sallyport.dev/${n}`, ""]));
      const objects = Array.from({ length: 300 }, () =>
        object("v1", "Service", "a", { metadata: { name: "a", labels } }),
      );
      return stackOf({ raw: manifests(...objects) });
    },
  ],
  [
    "variables without a name",
    () => {
      const all = Array.from({ length: 60 }, (_, n) => [
        `w${n}`,
        { ...WEB, env: Array.from({ length: 490 }, () => ({})) },
      ]);
      return stackOf(Object.fromEntries(all));
    },
  ],
] as const)("a stranger's 512 KiB of %s take a bounded time", (_, make) => {
  const stack = make();
  const began = cpuMs();
  const problems = stackFaults(stack);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.length).toBeLessThanOrEqual(MAX_STACK_PROBLEMS);
  // A quadratic search would take minutes.
  expect(cpuMs() - began).toBeLessThan(5_000);
});
