import { describe, expect, it, test } from "vitest";
import { cpuMs } from "../../../base/testing/cpu-time.ts";
import { MAX_RENDER_PROBLEMS } from "./render-problem.ts";
import { type RenderRequest, renderStack } from "./render-stack.ts";
import { type GoldenCase, requestOf, resource } from "./testing/golden-cases.ts";

const WEB = { id: "web", type: "container", image: "registry.example.com/web:1" };
const web = (more: object = {}, ...dependencies: readonly string[]) => ({
  web: resource({ ...WEB, ...more }, dependencies),
});
const raw = (...objects: readonly object[]) => ({ raw: resource({ id: "raw", type: "manifests", objects }) });
const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...more,
});
const secret = (name: string) => ({ name, value: "canary", type: "secret" });
const variables = (...all: readonly object[]) => ({ environmentVariables: { variables: all } });

const toldOf = (request: RenderRequest): readonly string[] => {
  const rendered = renderStack(request);
  return rendered.ok ? [] : rendered.problems.map(({ code, path, message }) => `${code} ${path}: ${message}`);
};
const told = (resources: GoldenCase["resources"], config: object = {}) => toldOf(requestOf({ resources, config }));

describe("is refused", () => {
  it.each<[string, GoldenCase["resources"], object, string]>([
    [
      "a stack that the contract refuses",
      web({ replicas: -1 }),
      {},
      "STACK_INVALID stack.resources.web.config.replicas: must be >= 0",
    ],
    ["a circle", web({}, "web"), {}, "STACK_INVALID stack.resources.web.dependencies: go in a circle: web → web"],
    [
      "a stack of control characters",
      web({ command: ["a\u001b[2J"] }),
      {},
      "STACK_INVALID stack.resources.web.config.command.0: has the character U+001B, which a terminal shows falsely",
    ],
    [
      "half a character",
      raw(configMap("a", { data: { a: "\ud800" } })),
      {},
      "STACK_INVALID stack.resources.raw.config.objects.0.data.a: has the character U+D800, which a terminal shows falsely",
    ],
    [
      "a number that JSON rounds",
      raw(configMap("a", { spec: { n: 2 ** 60 } })),
      {},
      "STACK_INVALID stack.resources.raw.config.objects.0.spec.n: is a number that JSON readers round: put it in quotes",
    ],
    [
      "metadata that the cluster would not keep",
      raw(configMap("a", { metadata: { name: "a", clusterName: "x" } })),
      {},
      "STACK_INVALID stack.resources.raw.config.objects.0.metadata.clusterName: may not be set",
    ],
    [
      "a namespace that is not accepted",
      raw(configMap("a", { metadata: { name: "a", namespace: "billing" } })),
      {},
      "NAMESPACE_NOT_ACCEPTED stack.resources.raw.config.objects.0.metadata.namespace: the deployment is not accepted in billing",
    ],
    [
      "one object twice, once without its namespace",
      raw(configMap("a"), configMap("a", { metadata: { name: "a", namespace: "shop" } })),
      {},
      "STACK_INVALID stack.resources.raw: makes ConfigMap a in shop, and another does too",
    ],
    [
      "an object of a workload's name and kind in the deployment's namespace",
      {
        ...web(),
        ...raw({ ...configMap("web", { metadata: { name: "web", namespace: "shop" } }), kind: "ServiceAccount" }),
      },
      {},
      "STACK_INVALID stack.resources.web: makes ServiceAccount web in shop, and another does too",
    ],
    [
      "what is not made in a cluster",
      { db: resource({ id: "db", type: "postgres" }) },
      {},
      "UNSUPPORTED_RESOURCE stack.resources.db: postgres is not made in a cluster: name the Secret or ConfigMap of what takes its place in externalBindings.db",
    ],
    [
      "a name that is only in the prototype",
      { toString: resource({ id: "toString", type: "kv" }) },
      {},
      "UNSUPPORTED_RESOURCE stack.resources.toString: kv is not made in a cluster: name the Secret or ConfigMap of what takes its place in externalBindings.toString",
    ],
    [
      "a binding that names two",
      { db: resource({ id: "db", type: "postgres" }) },
      { externalBindings: { db: { secret: "a", configMap: "b" } } },
      'CONFIGURATION_INVALID config.externalBindings.db: needs "secret" or "configMap", the name of one in the namespace, and may have "env", a map of variables to its keys',
    ],
    [
      "a variable that is none",
      web(),
      { environmentVariables: { variables: [{ name: "A", type: "plain" }] } },
      "CONFIGURATION_INVALID config.environmentVariables.variables.0.value: is required",
    ],
    [
      "a configuration that is none",
      web(),
      { inputValues: null },
      "CONFIGURATION_INVALID config.inputValues: must be object",
    ],
    [
      "a variable's value that cannot be shown",
      web(),
      variables({ name: "A", value: "\u202e", type: "plain" }),
      "CONFIGURATION_INVALID config.environmentVariables.variables.0.value: has the character U+202E, which a terminal shows falsely",
    ],
  ])("%s", (_, resources, config, line) => {
    expect(told(resources, config)).toEqual([line]);
  });

  it.each<[string, Partial<RenderRequest>, string]>([
    [
      "a deployment that is accepted nowhere",
      { namespaces: [] },
      "NAMESPACE_NOT_ACCEPTED namespaces: the deployment is accepted in none",
    ],
    [
      "an id that is no label",
      { deploymentId: `dep_${"a".repeat(64)}` },
      "CONFIGURATION_INVALID deploymentId: cannot be a label",
    ],
    ["a release's id that is none", { releaseId: "" }, "CONFIGURATION_INVALID releaseId: cannot be a label"],
    [
      "a configuration of another kind",
      { config: 1 },
      "CONFIGURATION_INVALID config.environmentVariables: must be object",
    ],
  ])("%s", (_, change, line) => {
    expect(toldOf({ ...requestOf({ resources: web() }), ...change })[0]).toBe(line);
  });
});

describe("secret values are refused", () => {
  it("with the variable, the resources that get it and what to do", () => {
    const stack = { ...web(), jobs: resource({ ...WEB, id: "jobs", type: "worker" }) };
    const lines = told(stack, variables(secret("DB_PASSWORD"), { ...secret("TOKEN"), targetResources: ["web"] }));
    expect(lines).toEqual([
      'SECRET_VALUES_REFUSED config.environmentVariables.DB_PASSWORD: DB_PASSWORD is secret, and a release holds no secret values: put it into a Secret of the namespace, and name that for jobs, web, as in externalBindings.jobs = {"secret": "<its name>", "env": {"DB_PASSWORD": "<its key>"}}',
      expect.stringContaining(
        'name that for web, as in externalBindings.web = {"secret": "<its name>", "env": {"TOKEN": "<its key>"}}',
      ),
    ]);
    expect(lines.join()).not.toContain("canary");
  });

  it("until the customer does that", () => {
    const externalBindings = { web: { secret: "shop-web", env: { DB_PASSWORD: "password" } } };
    const rendered = renderStack(
      requestOf({ resources: web(), config: { ...variables(secret("DB_PASSWORD")), externalBindings } }),
    );
    expect(rendered.ok).toBe(true);
    expect(JSON.stringify(rendered)).not.toContain("canary");
  });

  it("not where no container gets them", () => {
    expect(
      told({ ...raw(configMap("a")), model: resource({ id: "model", type: "ai" }) }, variables(secret("A"))),
    ).toEqual([]);
  });
});

test("a stack of what the cluster has already makes nothing", () => {
  expect(renderStack(requestOf({ resources: { model: resource({ id: "model", type: "ai" }) } }))).toEqual({
    ok: true,
    objects: [],
    configHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test("a version that is no label is left out of the labels, and an author's own stays", () => {
  const given = { "app.kubernetes.io/version": "9", "app.kubernetes.io/managed-by": "Helm" };
  const rendered = renderStack({
    ...requestOf({ resources: { ...web(), ...raw(configMap("a", { metadata: { name: "a", labels: given } })) } }),
    version: "1.4.0+build",
  });
  const labels = rendered.ok ? rendered.objects.map(({ manifest }) => manifest.metadata.labels) : [];
  expect(labels.map((each) => each?.["app.kubernetes.io/version"])).toEqual(["9", undefined, undefined]);
  expect(labels[0]).toMatchObject({ "app.kubernetes.io/managed-by": "sallyport" });
});

test("a hook is another Job exactly when it has changed", () => {
  const annotations = { "sallyport.dev/hook": "pre" };
  const nameOf = (name: string, image: string, version = "1.4.0") => {
    const spec = { template: { spec: { containers: [{ name: "c", image }] } } };
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name, annotations }, spec };
    const rendered = renderStack({ ...requestOf({ resources: raw(job) }), version, releaseId: `rel_${version}` });
    return rendered.ok ? (rendered.objects[0]?.manifest.metadata.name ?? "") : "";
  };
  expect(nameOf("migrate", "web:1")).toMatch(/^migrate-[0-9a-f]{10}$/);
  expect(nameOf("migrate", "web:1", "1.5.0")).toBe(nameOf("migrate", "web:1"));
  expect(nameOf("migrate", "web:2")).not.toBe(nameOf("migrate", "web:1"));
  const long = nameOf(`${"a".repeat(50)}.-`.replace("-", "b".repeat(60)), "web:1");
  expect(long).toMatch(/^a{50}\.b-[0-9a-f]{10}$/);
  expect(nameOf(`${"a".repeat(51)}.${"b".repeat(60)}`, "web:1")).toMatch(/^a{51}-[0-9a-f]{10}$/);
});

test("hooks come by their weights: what runs no pods first, and one Job after the other", () => {
  const hook = (kind: string, name: string, weight: string, time = "pre") => ({
    ...{ apiVersion: kind === "Job" ? "batch/v1" : "v1", kind },
    metadata: { name, annotations: { "sallyport.dev/hook": time, "sallyport.dev/hook-weight": weight } },
    ...(kind === "Job" && { spec: { template: { spec: { containers: [{ name: "c", image: "web:1" }] } } } }),
  });
  const rendered = renderStack(
    requestOf({
      resources: raw(
        ...[hook("Job", "migrate", "5"), hook("Job", "create", "0"), hook("Job", "after", "-9", "post")],
        ...[hook("ConfigMap", "sql", "0"), hook("ServiceAccount", "migrate", "-10"), hook("Job", "also", "0")],
        configMap("settings", {}),
      ),
    }),
  );
  const waves = rendered.ok
    ? rendered.objects.map(
        ({ wave, manifest }) => `${wave} ${manifest.kind} ${manifest.metadata.name.replace(/-[0-9a-f]{10}$/, "")}`,
      )
    : [];
  expect(waves).toEqual([
    ...["0 ServiceAccount migrate", "1 ConfigMap sql", "2 Job also", "3 Job create", "4 Job migrate"],
    ...["5 ConfigMap settings", "6 Job after"],
  ]);
});

describe("limits", () => {
  it("of waves", () => {
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length }, (_, n) => [
          `w${n}`,
          resource({ ...WEB, id: `w${n}`, type: "worker" }, n === 0 ? [] : [`w${n - 1}`]),
        ]),
      );
    expect(told(chain(64))).toEqual([]);
    expect(told(chain(65))).toEqual(["TOO_LARGE stack.resources: make 65 waves, and 64 are the most"]);
  });

  it("of objects", () => {
    const many = (count: number) => raw(...Array.from({ length: count }, (_, n) => configMap(`a-${n}`)));
    expect(told(many(300))).toEqual([]);
    expect(told(many(301)).join()).toMatch(/^STACK_INVALID .*objects/);
  });

  it("of bytes, at once: each resource repeats the variables", () => {
    const workers = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => [`w${n}`, resource({ ...WEB, id: `w${n}`, type: "worker" })]),
    );
    const large = (count: number) =>
      variables(
        ...Array.from({ length: count }, (_, n) => ({ name: `A${n}`, value: "x".repeat(10_000), type: "plain" })),
      );
    const began = cpuMs();
    expect(told(workers, large(1_000))).toEqual([
      "TOO_LARGE stack.resources: make more than 921600 bytes, which are the most",
    ]);
    // All of it would be 1.5 GB.
    expect(cpuMs() - began).toBeLessThan(5_000);
  });

  it("of problems", () => {
    const stack = Object.fromEntries(
      Array.from({ length: 200 }, (_, n) => [`d${n}`, resource({ id: `d${n}`, type: "kv" })]),
    );
    expect(told(stack)).toHaveLength(MAX_RENDER_PROBLEMS);
  });
});

test.each<[string, () => unknown]>([
  ["deeply nested", () => JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`)],
  [
    "deep inside of an object",
    () => configMap("a", { spec: JSON.parse(`${'{"a":'.repeat(80_000)}1${"}".repeat(80_000)}`) }),
  ],
])("what is %s is refused, and not walked to its end", (_, make) => {
  expect(told(raw(make() as object)).join()).toMatch(/^STACK_INVALID .* is nested more than 64 deep$/);
});

test("thousands of resources that make nothing and need each other take a bounded time", () => {
  const id = (n: number) => `k${n}`;
  const chain = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, n) => [
      id(n),
      resource({ id: id(n), type: "ai" }, n === 0 ? [] : [id(n - 1), id(0)]),
    ]),
  );
  const began = cpuMs();
  expect(told(chain)).toEqual([]);
  expect(cpuMs() - began).toBeLessThan(5_000);
});

test("keys of prototypes are keys as others", () => {
  const data = JSON.parse('{"__proto__": "1", "constructor": "2"}');
  const rendered = renderStack(requestOf({ resources: raw(configMap("a", { data })) }));
  const [{ manifest } = { manifest: {} }] = rendered.ok ? rendered.objects : [];
  expect(JSON.stringify(manifest)).toContain('"data":{"__proto__":"1","constructor":"2"}');
});

test.each([
  [
    { cpu: "1", memory: "1Gi" },
    { requests: { cpu: "1", memory: "1Gi" }, limits: { memory: "1Gi" } },
  ],
  [
    { cpu: { min: "250m", desired: "1" }, memory: { min: "1Gi", desired: "2Gi" } },
    { requests: { cpu: "250m", memory: "1Gi" }, limits: { cpu: "1", memory: "2Gi" } },
  ],
  [{ cpu: { min: "250m", desired: "1" } }, { requests: { cpu: "250m" }, limits: { cpu: "1" } }],
  [{ cpu: "1" }, { requests: { cpu: "1" } }],
])("a workload's needs %j are its requests and limits", (needs, resources) => {
  const rendered = renderStack(requestOf({ resources: web(needs) }));
  const found: unknown[] = [];
  JSON.stringify(rendered, (key, value) => {
    if (key === "resources" && value?.requests !== undefined) found.push(value);
    return value;
  });
  expect(found).toEqual([resources]);
});
