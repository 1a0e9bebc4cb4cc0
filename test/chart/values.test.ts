import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isFull } from "../../src/base/testing/full.ts";
import { CHART, objectsOf, REQUIRED, useHelm } from "./use-helm.ts";

const helm = useHelm();
const many = (from: number): readonly string[] => Array.from({ length: 40 }, (_, index) => `n${from + index}`);
const DOCS = join(import.meta.dirname, "../../docs");
const EXAMPLES = readdirSync(join(CHART, "ci"));

const READ = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };

/** One operation of a plugin, with room for it. */
function plugins(rule: object, more: object = {}, name = "search"): object {
  const operation = { enabled: true, tier: "mutating", rules: [rule], ...more };
  return {
    plugins: { [name]: { version: "1", operations: { act: operation } } },
    operator: { resources: { limits: { memory: "512Mi" } } },
  };
}

/** Of 128 pairs of API group and resource, which no row of the table refuses. */
function manyPairs(number: number): object {
  const apiGroups = Array.from({ length: 8 }, (_, at) => `g${at}.example.com`);
  const resources = Array.from({ length: 16 }, (_, at) => `kinds-${number}-${at}`);
  return { apiGroups, resources, verbs: ["get"] };
}

describe("the schema", () => {
  test.each([
    [{ agent: { replica: 2 } }, "replica"],
    [{ platfrom: { url: "https://x" } }, "platfrom"],
    [{ runtimeKey: { exisingSecret: "x" } }, "exisingSecret"],
    [{ image: { registery: "x" } }, "registery"],
    [{ crds: { enable: true } }, "enable"],
    [{ operations: { kubernetes: { "scale-up": { enabled: true } } } }, "scale-up"],
    [{ operator: { serviceAccount: { nmae: "x" } } }, "nmae"],
    [{ networkPolicy: { apiServer: { cidr: [] } } }, "cidr"],
    [{ metrics: { serviceMonitor: { enabledd: true } } }, "enabledd"],
    [{ metrics: { alerts: { enabled: true } } }, "alerts"],
    [{ rbac: { scope: "namespace" } }, "scope"],
    [{ observe: { scope: "all" } }, "scope"],
    [{ rbac: { scope: "namespaces" }, namespaces: ["shop"], observe: { scope: "cluster" } }, "observe.scope"],
    [{ agent: { priorityClassName: "Not_A_Name" } }, "priorityClassName"],
    [{ admission: { mode: "auto" } }, "mode"],
    [{ namespaces: ["Shop"] }, "namespaces"],
    [{ deployments: { dep_a: "shop" } }, "deployments"],
    [{ deployments: { dep_a: [] } }, "deployments"],
    [{ deployments: { dep_a: ["Shop"] } }, "deployments"],
    [{ deployments: { "dep_a=*": ["shop"] } }, "deployments"],
    [{ operator: { replicas: 0 } }, "replicas"],
    [{ agent: { resources: { limits: { memory: "300M" } } } }, "memory"],
    [{ networkPolicy: { apiServer: { ports: [] } } }, "ports"],
    [{ image: { digest: "sha256:short" } }, "digest"],
    [{ operations: { kubernetes: { "cordon-node": { enabled: true, names: ["*"] } } } }, "names"],
    [{ operations: { kubernetes: { "uncordon-node": { enabled: true, names: [""] } } } }, "names"],
    [{ plugins: { search: { version: "1", operations: { act: { enabled: true, tier: "mutating" } } } } }, "rules"],
    [plugins({ ...READ, resources: ["*"] }), "resources"],
    [plugins(READ, { scope: "cluster" }), "scope"],
    [plugins({ ...READ, resources: ["pods", "pods"] }), "resources"],
    [plugins({ ...READ, apiGroups: ["apps", "apps"] }), "apiGroups"],
    [plugins({ ...READ, verbs: ["get", "get"] }), "verbs"],
    [plugins({ ...READ, verbs: ["impersonate"] }), "verbs"],
    [
      {
        rbac: { scope: "namespaces" },
        namespaces: ["shop"],
        operations: { kubernetes: { "cordon-node": { enabled: true } } },
      },
      "operations.kubernetes.cordon-node.enabled",
    ],
  ])("refuses %j and names %s", async (values, word) => {
    const { code, stderr } = await helm.template({ ...REQUIRED, ...values });
    expect(code).not.toBe(0);
    expect(stderr).toContain(word);
  });

  test("lets through what a parent chart and other charts put beside", async () => {
    const values = { ...REQUIRED, global: { anything: { at: "all" } }, enabled: true, tags: { a: true }, "x-mine": 1 };
    expect((await helm.template(values)).stderr).toBe("");
  });
});

/** The paths of all texts among the values. */
function textsOf(schema: ValuesSchema, path: readonly string[] = []): readonly (readonly string[])[] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => textsOf(each, [...path, name]));
  return [schema.type].flat().includes("string") && schema.enum === undefined ? [path, ...below] : below;
}

/** What must be said, and this text at this path. */
function withText(path: readonly string[], text: string): object {
  const values: Record<string, unknown> = structuredClone(REQUIRED);
  let at = values;
  for (const name of path.slice(0, -1)) {
    const below = { ...(at[name] as object | undefined) };
    at[name] = below;
    at = below;
  }
  at[path.at(-1) ?? ""] = text;
  return values;
}

interface ValuesSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
}

describe.runIf(isFull)("a text that holds YAML makes no object", () => {
  const schema: ValuesSchema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8"));
  const object = "---\napiVersion: v1\nkind: Injected\nmetadata: {name: injected}\n";

  test.each(textsOf(schema).map((path) => path.join(".")))("%s", async (path) => {
    // Whether the template writes it between quotes of either kind, or none.
    const { code, stdout, stderr } = await helm.template(withText(path.split("."), `x"'\n${object}#`));
    // Such a failure means that the text was read as YAML: with another one there would be an object.
    expect(stderr).not.toMatch(/YAML parse error|error converting YAML|mapping values|did not find expected/);
    if (code === 0) expect(objectsOf(stdout).filter(({ kind }) => kind === "Injected")).toEqual([]);
  });
});

describe("a combination that cannot work is refused with what to do", () => {
  test.each<readonly [string, object, object, string]>([
    ["no platform", { platform: { url: "" } }, {}, "--set platform.url=https://"],
    ["a platform without TLS", { platform: { url: "http://x.example.com" } }, {}, "must begin with https://"],
    ["a role that goes round the policies", { releases: { enabled: true, role: "edit" } }, {}, "releases.role is edit"],
    ["no key", { runtimeKey: {} }, {}, "kubectl -n sallyport-system create secret generic sallyport-runtime-key"],
    ["two keys", { runtimeKey: { existingSecret: "a", value: "b" } }, {}, "keep existingSecret and remove value"],
    ["kube-system", {}, { namespace: "kube-system" }, "a namespace of its own"],
    ["grants in kube-system", { grantsNamespace: "kube-system" }, {}, "choose a namespace of its own"],
    [
      "a label that gives rights away",
      { commonLabels: { "rbac.authorization.k8s.io/aggregate-to-edit": "true" } },
      {},
      "a role of your own",
    ],
    [
      "a rule for an operation that is none",
      { operationPolicy: { rules: [{ pattern: "kubernetes/log", decision: "deny" }] } },
      {},
      "operationPolicy.rules: kubernetes/log is no operation",
    ],
    [
      "such a rule in a policy of the customer's",
      { policies: [{ name: "shop", spec: { rules: [{ pattern: "kubernets/*", decision: "deny" }] } }] },
      {},
      "policies, shop: kubernets/* is no operation",
    ],
    ["one namespace for both", { grantsNamespace: "sallyport-system" }, {}, "mint its own token"],
    ["opening the grants namespace", { namespaces: ["sallyport-grants"] }, {}, "cannot be opened"],
    ["opening kube-system", { namespaces: ["kube-system"] }, {}, "cannot be opened"],
    ["accepting a deployment for kube-system", { deployments: { dep_a: ["kube-system"] } }, {}, "cannot be opened"],
    [
      "more namespaces than the agent takes",
      { deployments: { dep_a: many(0), dep_b: many(40) } },
      {},
      "at most 64 can be",
    ],
    ["stamping on an older server", {}, { kubeVersion: "1.35.9" }, "admission.mode=validating-only"],
    ["roles in no namespace", { rbac: { scope: "namespaces" } }, {}, "name at least one"],
    [
      "one account for both",
      { agent: { serviceAccount: { name: "same" } }, operator: { serviceAccount: { name: "same" } } },
      {},
      "they need two",
    ],
    ["an account that is not there", { agent: { serviceAccount: { create: false } } }, {}, "name the account"],
    ["a proxy twice", { proxy: { existingSecret: "a", https: "http://b:1" } }, {}, "keep one of the two"],
    ["a proxy without its scheme", { proxy: { https: "proxy.corp:3128" } }, {}, "http://proxy.example.com:3128"],
    ["a proxy with a path", { proxy: { http: "http://proxy.corp:3128/p" } }, {}, "no path"],
    ["a user in the platform's address", { platform: { url: "https://u:pw@x.example.com" } }, {}, "write https://x.ex"],
    ["two CA sources", { trustedCA: { configMap: "a", secret: "b" } }, {}, "keep one of the two"],
    [
      "an unknown proxy port",
      { proxy: { existingSecret: "a" }, networkPolicy: { enabled: true } },
      {},
      "networkPolicy.proxy.ports",
    ],
    [
      "two monitors",
      { metrics: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } } },
      {},
      "scraped twice",
    ],
    ["tokens without TLS", { metrics: { auth: { enabled: true } } }, {}, "tokens would travel in the clear"],
    [
      "a PodMonitor without a token",
      {
        metrics: {
          tls: { existingSecret: "a" },
          auth: { enabled: true },
          podMonitor: { enabled: true },
        },
      },
      {},
      "metrics.podMonitor.authorization is empty",
    ],
    [
      "one port for health and metrics",
      { metrics: { tls: { existingSecret: "a" } }, agent: { metricsPort: 8080 } },
      {},
      "agent.healthPort and agent.metricsPort are both 8080",
    ],
    ["a plugin with a name of ours", plugins(READ, {}, "machine-x"), {}, "begin with machine are Sallyport's own"],
    ["a plugin that reads Secrets", plugins({ ...READ, resources: ["secrets"] }), {}, "it holds credentials"],
    [
      "a plugin that gives rights",
      plugins({ ...READ, apiGroups: ["rbac.authorization.k8s.io"] }),
      {},
      "it gives rights",
    ],
    ["a plugin that approves", plugins({ ...READ, apiGroups: ["sallyport.dev"] }), {}, "it is Sallyport's own"],
    ["a plugin that starts pods", plugins({ ...READ, verbs: ["create"] }), {}, "a plugin starts none of its own"],
    [
      "a plugin that enters pods",
      plugins({ ...READ, resources: ["pods/exec"] }),
      {},
      "reaches pods/log (get), and scale",
    ],
    [
      "a plugin that reads and deletes",
      plugins({ ...READ, verbs: ["delete"] }, { tier: "read-only" }),
      {},
      "tier is read-only",
    ],
    [
      "a plugin that deletes unasked",
      plugins({ ...READ, verbs: ["delete"] }),
      {},
      "the operation's tier is mutating, and must be destructive",
    ],
    [
      "a plugin that takes addresses",
      plugins({ ...READ, apiGroups: [""], resources: ["services"], verbs: ["patch"] }, { tier: "destructive" }),
      {},
      "plugins.search.operations.act.rules may not have patch on services: it takes addresses",
    ],
    [
      "a plugin with more rights than any needs",
      plugins(READ, { rules: Array.from({ length: 3 }, (_, at) => manyPairs(at)) }),
      {},
      "plugins.search: its rules have more than 256 pairs of API group and resource in all operations together",
    ],
    ["a plugin without memory", { ...plugins(READ), operator: {} }, {}, "operator.resources.limits.memory=416Mi"],
    ["latest", { image: { tag: "latest" } }, {}, "a restart cannot change what runs"],
  ])("%s", async (_case, values, options, words) => {
    const { code, stderr } = await helm.template({ ...REQUIRED, ...values }, options);
    expect(code).not.toBe(0);
    expect(stderr).toContain(words);
  });

  test.each([
    { platform: { url: "https://u:secret-1@x.example.com" } },
    { platform: { url: "http://u:secret-1@x.example.com" } },
    { platform: { url: "u:secret-1@x.example.com" } },
    { proxy: { https: "u:secret-1@proxy.corp:3128" } },
    { proxy: { https: "http://u:secret-1@proxy.corp:3128/path" } },
  ])("and no password is printed, for %j", async (values) => {
    const { code, stdout, stderr } = await helm.template({ ...REQUIRED, ...values });
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toContain("secret-1");
  });

  test("a server before 1.30 is refused by kubeVersion", async () => {
    const { stderr } = await helm.template({ ...REQUIRED, admission: { mode: "external" } }, { kubeVersion: "1.29.0" });
    expect(stderr).toContain("incompatible with Kubernetes");
  });
});

describe.each(EXAMPLES)("ci/%s", (name) => {
  const file = join(CHART, "ci", name);

  test("lints strictly", async () => {
    const { code, stdout, stderr } = await helm.run(["lint", "--strict", CHART, "-f", file, "-n", "sallyport-system"]);
    expect(code, stdout + stderr).toBe(0);
  });

  test("renders the same bytes twice, with no object twice", async () => {
    const [first, second] = [await helm.template(file), await helm.template(file, { afresh: true })];
    expect(first.code, first.stderr).toBe(0);
    expect(second.stdout).toBe(first.stdout);
    const names = objectsOf(first.stdout).map(
      ({ apiVersion, kind, metadata }) => `${apiVersion} ${kind} ${metadata.namespace ?? ""}/${metadata.name}`,
    );
    expect(names.length).toBeGreaterThan(30);
    expect(new Set(names).size).toBe(names.length);
  });
});

test("every value that the pages and the command line speak of exists", () => {
  const values: unknown = parse(readFileSync(join(CHART, "values.yaml"), "utf8"));
  const tops = Object.keys(values as object).join("|");
  const root = join(import.meta.dirname, "../..");
  const pages = [
    "docs/install.md",
    "docs/upgrade.md",
    "docs/air-gap.md",
    "docs/permissions.md",
    "src/cli/check/installation-check.ts",
    ...readdirSync(join(root, "docs/runbooks")).map((file) => `docs/runbooks/${file}`),
  ];
  const named = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), "utf8");
    return [
      ...text
        // Under `deployments` the keys are the vendor's ids.
        .replaceAll(/\S+\.k8s\.io|[\w-]+\.md\b|(?<=deployments)\.dep_\w+/g, "")
        .matchAll(new RegExp(`(?<![\\w./-])(?:${tops})(?:\\.[a-zA-Z][\\w-]*)+(?![\\w(.-])`, "g")),
    ].map(([path]) => path);
  });
  expect(new Set(named).size).toBeGreaterThan(15);
  // Keys of `deployments` are ids.
  const missing = named.filter((path) => {
    if (path.startsWith("deployments.")) return false;
    let at: unknown = values;
    for (const key of path.split(".")) at = (at as Record<string, unknown> | undefined)?.[key];
    return at === undefined;
  });
  expect(missing).toEqual([]);
});

test("what docs/metrics.md says to set renders monitors, rules and a dashboard", async () => {
  const [, block = ""] = /```yaml\n([\s\S]*?)```/.exec(readFileSync(join(DOCS, "metrics.md"), "utf8")) ?? [];
  const objects = await helm.render({ ...REQUIRED, ...parse(block) });
  expect(objects.filter(({ metadata }) => metadata.labels?.release !== undefined).map(({ kind }) => kind)).toEqual([
    "PrometheusRule",
    "ServiceMonitor",
    "ServiceMonitor",
  ]);
  expect(objects.find(({ metadata }) => metadata.labels?.grafana_dashboard === "1")?.kind).toBe("ConfigMap");
});

// It keeps the old chart's defaults: a template that reads a new value then fails, or renders without it.
test("no page tells to upgrade with --reuse-values", () => {
  const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
  const blocks = pages.flatMap((page) => [
    ...readFileSync(join(DOCS, page), "utf8").matchAll(/```\w*\n([\s\S]*?)```/g),
  ]);
  expect(blocks.length).toBeGreaterThan(50);
  expect(blocks.filter(([text]) => text.includes("--reuse-values"))).toEqual([]);
});

test("no template asks the cluster, the clock or chance", () => {
  const folder = join(CHART, "templates");
  // Five questions are allowed. Does the default policy exist already? Then it stays as the customer wrote it. Is the kind of
  // policies served yet? On the first install a hook makes them. Do the opened namespaces exist? Does another installation own
  // the kinds? These two can refuse a release, and change nothing in it. Does the cluster have the Prometheus operator's kinds?
  // It is asked only with metrics.renderMode.
  const asks = ["operation-policy.yaml", "policies.yaml", "_namespaces.tpl", "_guards.tpl", "_metrics.tpl"];
  for (const name of readdirSync(folder).filter((each) => !asks.includes(each))) {
    const text = readFileSync(join(folder, name), "utf8");
    expect(text, name).not.toMatch(
      /\b(lookup|rand\w+|genCA\w*|genSelfSigned\w*|genSigned\w*|uuidv4|now|htpasswd|derivePassword|env|getHostByName)\s+[("$.]/,
    );
    expect(text, name).not.toMatch(/Capabilities\.APIVersions/);
  }
});

test("a renderer without the cluster, as Argo CD has, is told to leave the default policy alone", async () => {
  const policies = (await helm.render(REQUIRED)).filter(({ kind }) => kind === "OperationPolicy");
  // Argo CD would run the hook at each sync and delete what the customer wrote.
  expect(policies.map(({ metadata }) => metadata.annotations)).toEqual([
    { "helm.sh/hook": "post-install,post-upgrade", "argocd.argoproj.io/hook": "Skip" },
  ]);
  expect(await helm.render({ ...REQUIRED, operationPolicy: { create: false } })).not.toContainEqual(
    expect.objectContaining({ kind: "OperationPolicy" }),
  );
});

test("no kind of object appears because the server happens to know it", async () => {
  const apiVersions = ["monitoring.coreos.com/v1", "security.openshift.io/v1", "admissionregistration.k8s.io/v1beta1"];
  const plain = await helm.template(REQUIRED);
  expect((await helm.template(REQUIRED, { apiVersions })).stdout).toBe(plain.stdout);
});

describe("NOTES", () => {
  const notes = async (values: object): Promise<string> => {
    const set = Object.entries(values).flatMap(([key, value]) => ["--set", `${key}=${String(value)}`]);
    const where = ["-n", "sallyport-system"];
    const args = [
      "install",
      "sallyport",
      CHART,
      ...where,
      "--dry-run=client",
      "--set",
      "platform.url=https://p.example.com",
      ...set,
    ];
    const { code, stdout, stderr } = await helm.run(args);
    expect(code, stderr).toBe(0);
    return stdout.slice(stdout.indexOf("NOTES:"));
  };

  test("say how to see that it works and how somebody may approve", async () => {
    const text = await notes({ "runtimeKey.existingSecret": "k" });
    expect(text).toContain("helm test sallyport -n sallyport-system");
    expect(text).toContain("--clusterrole=sallyport-approver");
    expect(text).not.toContain("Helm's release");
  });

  test("say where releases wait, and only where they are on", async () => {
    const key = { "runtimeKey.existingSecret": "k" };
    expect(await notes({ ...key, "releases.enabled": true })).toContain("kubectl get rollouts -n sallyport-grants");
    expect(await notes(key)).not.toContain("rollouts");
  });

  test("say what is left to do before a machine can join", async () => {
    const key = { "runtimeKey.existingSecret": "k" };
    const machines = { "machines.enabled": true, "join.url": "https://join.customer.example:8443" };
    const text = await notes({ ...key, ...machines });
    expect(text).toContain("--role=sallyport-machine-approver");
    expect(text).toContain("Bring https://join.customer.example:8443 to the Service sallyport-join-machines");
    expect(text).toContain("each MachinePool has to say spec.apiServer");
    const more = { ...machines, "join.apiServer": "https://10.0.0.10:6443" };
    expect(await notes({ ...key, ...more })).not.toContain("spec.apiServer");
    expect(await notes(key)).not.toContain("MachinePool");
  });

  test.each([
    [{ "runtimeKey.value": "k" }, "The runtime key is in Helm's release"],
    [{ "runtimeKey.existingSecret": "k", "admission.mode": "external" }, "any holder of patch may approve"],
    [{ "runtimeKey.existingSecret": "k", "admission.mode": "validating-only" }, "stays anonymous"],
    [{ "runtimeKey.existingSecret": "k" }, "No NetworkPolicy"],
    [{ "runtimeKey.existingSecret": "k", "proxy.https": "http://u:p@proxy:3128" }, "The proxy's password"],
    [{ "runtimeKey.existingSecret": "k", "networkPolicy.enabled": true }, "not all addresses"],
    [{ "runtimeKey.existingSecret": "k", "rbac.selfCheck": false }, "cannot see whether"],
    [{ "runtimeKey.existingSecret": "k" }, "set image.digest"],
  ])("with %j, warn of what is not secure", async (values, words) => {
    expect(await notes(values)).toContain(words);
  });
});
