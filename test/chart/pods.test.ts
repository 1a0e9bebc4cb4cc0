import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AGENT_SETTINGS } from "../../src/agent/kernel/config.ts";
import { LOG_SETTINGS } from "../../src/cli/services/log-settings.ts";
import { parseNamedDeployments } from "../../src/crds/kinds/accepted-namespaces.ts";
import { OPERATOR_SETTINGS } from "../../src/operator/kernel/config.ts";
import { CHART, envOf, ofKind, one, podOf, pods, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const example = (name: string): string => join(CHART, "ci", `${name}-values.yaml`);
const NAMES = ["sallyport-agent", "sallyport-operator", "sallyport-check"];
const DIGEST = `sha256:${"a".repeat(64)}`;

describe("the image", () => {
  test.each<readonly [string, object, string]>([
    ["by default", {}, "sallyport/sallyport:0.1.0"],
    ["with a registry", { image: { registry: "r.example.com" } }, "r.example.com/sallyport/sallyport:0.1.0"],
    [
      "with a global registry, which wins",
      { image: { registry: "r.example.com" }, global: { imageRegistry: "g.example.com/" } },
      "g.example.com/sallyport/sallyport:0.1.0",
    ],
    ["with a tag", { image: { tag: "1.2.3" } }, "sallyport/sallyport:1.2.3"],
    ["with a digest, which wins", { image: { tag: "1.2.3", digest: DIGEST } }, `sallyport/sallyport@${DIGEST}`],
    [
      "with a repository, a registry and a digest",
      { image: { repository: "a/b", digest: DIGEST }, global: { imageRegistry: "g.example.com" } },
      `g.example.com/a/b@${DIGEST}`,
    ],
  ])("%s", async (_case, values, image) => {
    const found = pods(await helm.render({ ...REQUIRED, ...values }));
    expect(found.map(({ name }) => name).sort()).toEqual([...NAMES].sort());
    for (const { spec } of found) expect(spec.containers[0].image).toBe(image);
  });

  test("pull secrets are the chart's and the parent's, by name or as objects", async () => {
    for (const { spec } of pods(await helm.render(example("everything")))) {
      expect(spec.imagePullSecrets).toEqual([{ name: "own-pull" }, { name: "other-pull" }, { name: "parent-pull" }]);
    }
  });
});

/** Breaches of the Pod Security Standard "restricted", as far as these pods could have them. */
function breaches(spec: Rendered): readonly string[] {
  const found: string[] = [];
  const allowedVolumes = [
    "configMap",
    "emptyDir",
    "projected",
    "secret",
    "downwardAPI",
    "csi",
    "persistentVolumeClaim",
  ];
  for (const { name, ...source } of spec.volumes) {
    if (!Object.keys(source).every((kind) => allowedVolumes.includes(kind))) found.push(`volume ${name}`);
  }
  if (spec.hostNetwork || spec.hostPID || spec.hostIPC) found.push("host namespaces");
  for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
    const own = container.securityContext ?? {};
    const pod = spec.securityContext ?? {};
    if (own.allowPrivilegeEscalation !== false) found.push("allowPrivilegeEscalation");
    if (!own.capabilities?.drop?.includes("ALL") || own.capabilities.add) found.push("capabilities");
    if ((own.runAsNonRoot ?? pod.runAsNonRoot) !== true) found.push("runAsNonRoot");
    if ((own.seccompProfile ?? pod.seccompProfile)?.type !== "RuntimeDefault") found.push("seccompProfile");
    if (container.ports?.some((port: Rendered) => port.hostPort)) found.push("hostPort");
  }
  return found;
}

describe.each(["default", "everything", "hardened", "openshift", "namespaces", "debug"])("every pod of %s", (name) => {
  test("passes PodSecurity restricted, with a read-only root", async () => {
    for (const pod of pods(await helm.render(example(name)))) {
      expect(breaches(pod.spec), pod.name).toEqual([]);
      expect(pod.spec.containers[0].securityContext.readOnlyRootFilesystem).toBe(true);
    }
  });

  test("pins no UID, so that OpenShift can give one", async () => {
    expect((await helm.template(example(name))).stdout).not.toMatch(
      /\b(runAsUser|runAsGroup|fsGroup|supplementalGroups)\b/,
    );
  });

  test("has requests, a memory limit and no more than three quarters of it as heap", async () => {
    for (const { spec } of pods(await helm.render(example(name)))) {
      const { requests, limits } = spec.containers[0].resources;
      expect(requests.memory).toBeDefined();
      const megabytes = Number.parseInt(limits.memory, 10) * (limits.memory.endsWith("Gi") ? 1024 : 1);
      const sizes = `--max-old-space-size=${(megabytes * 3) / 4} --max-semi-space-size=8`;
      expect(envOf({ containers: spec.containers }).NODE_OPTIONS).toBe(sizes);
    }
  });

  test("mounts its token itself, bound and short, and secrets as directories", async () => {
    const objects = await helm.render(example(name));
    for (const account of ofKind(objects, "ServiceAccount")) expect(account.automountServiceAccountToken).toBe(false);
    for (const { spec } of pods(objects)) {
      expect(spec.automountServiceAccountToken).toBe(false);
      expect(spec.enableServiceLinks).toBe(false);
      const access = spec.volumes.find((volume: Rendered) => volume.name === "api-access");
      expect(access.projected.sources[0].serviceAccountToken.expirationSeconds).toBeLessThanOrEqual(3_607);
      const mounts = spec.containers.flatMap((container: Rendered) => container.volumeMounts ?? []);
      expect(mounts.filter((mount: Rendered) => mount.subPath !== undefined)).toEqual([]);
    }
  });
});

test("no CPU limit unless somebody sets one", async () => {
  for (const { spec } of pods(await helm.render(REQUIRED)))
    expect(spec.containers[0].resources.limits.cpu).toBeUndefined();
});

test("the runtime key is never an environment variable, and only the agent has it", async () => {
  const objects = await helm.render({ ...REQUIRED, runtimeKey: { value: "canary-key-1234" } });
  const secret = one(objects, "Secret", "sallyport-runtime-key");
  expect(secret.stringData.key).toBe("canary-key-1234");
  const rest = objects.filter((each) => each !== secret);
  expect(JSON.stringify(rest)).not.toContain("canary-key-1234");
  expect(podOf(objects, "sallyport-operator").volumes.map((volume: Rendered) => volume.name)).toEqual([
    "tmp",
    "api-access",
  ]);
  expect(
    podOf(objects, "sallyport-agent").volumes.find((volume: Rendered) => volume.name === "runtime-key").secret
      .secretName,
  ).toBe("sallyport-runtime-key");
});

test("probes ask the health port, and liveness never what depends on others", async () => {
  const objects = await helm.render({ ...REQUIRED, agent: { healthPort: 9090, livenessProbe: { periodSeconds: 33 } } });
  const [container] = podOf(objects, "sallyport-agent").containers;
  expect(container.ports).toEqual([{ name: "health", containerPort: 9090, protocol: "TCP" }]);
  expect(container.livenessProbe).toMatchObject({ httpGet: { path: "/livez", port: "health" }, periodSeconds: 33 });
  expect(container.startupProbe.httpGet.path).toBe("/livez");
  expect(container.readinessProbe.httpGet.path).toBe("/readyz");
  expect(envOf(podOf(objects, "sallyport-agent")).SALLYPORT_HEALTH_PORT).toBe("9090");
  expect(container.terminationMessagePolicy).toBe("FallbackToLogsOnError");
});

test("a rolling update never has fewer replicas than asked for, and a stop has its time", async () => {
  for (const { spec } of ofKind(await helm.render(REQUIRED), "Deployment")) {
    expect(spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
    // The command line ends a stop after 10 s that is not finished by then.
    expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(10);
  }
});

test("a disruption budget stands only before more than one replica", async () => {
  const budgets = async (values: object): Promise<readonly string[]> =>
    ofKind(await helm.render({ ...REQUIRED, ...values }), "PodDisruptionBudget").map(({ metadata }) => metadata.name);
  expect(await budgets({})).toEqual(["sallyport-operator"]);
  expect(await budgets({ operator: { replicas: 1 } })).toEqual([]);
  expect(await budgets({ agent: { replicas: 2 } })).toEqual(["sallyport-agent", "sallyport-operator"]);
  expect(await budgets({ operator: { podDisruptionBudget: { enabled: false } } })).toEqual([]);
});

test("two operators by default, spread over nodes where possible", async () => {
  const operator = one(await helm.render(REQUIRED), "Deployment", "sallyport-operator");
  expect(operator.spec.replicas).toBe(2);
  expect(operator.spec.template.spec.topologySpreadConstraints).toMatchObject([
    { topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
  ]);
});

test("every escape hatch opens", async () => {
  const objects = await helm.render(example("everything"), { release: "r" });
  const { metadata, spec } = one(objects, "Deployment", "r-gate-agent");
  const pod = spec.template.spec;
  const [main, beside] = pod.containers;
  expect(metadata.annotations).toEqual({ "example.com/a": "b", "example.com/owner": "platform-team" });
  expect(metadata.labels.team).toBe("platform");
  expect(spec.template.metadata).toMatchObject({ labels: { team: "platform" }, annotations: { "example.com/a": "b" } });
  expect(pod).toMatchObject({
    serviceAccountName: "gate-listener",
    nodeSelector: { "kubernetes.io/os": "linux" },
    tolerations: [{ key: "dedicated" }],
    affinity: { nodeAffinity: {} },
    topologySpreadConstraints: [{ whenUnsatisfiable: "DoNotSchedule" }],
    priorityClassName: "system-cluster-critical",
    runtimeClassName: "gvisor",
    initContainers: [{ name: "before" }],
  });
  expect(beside.name).toBe("beside");
  expect(envOf(pod).SALLYPORT_RESYNC_INTERVAL).toBe("10m");
  expect(main.envFrom).toEqual([{ configMapRef: { name: "more" } }]);
  expect(main.volumeMounts).toContainEqual({ name: "more", mountPath: "/more" });
  expect(pod.volumes).toContainEqual({ name: "more", emptyDir: {} });
  expect(one(objects, "Service", "r-gate-agent").metadata.annotations["example.com/a"]).toBe("b");
  expect(one(objects, "ServiceAccount", "gate-listener").metadata.annotations["example.com/role"]).toBe("reader");
  expect(one(objects, "ConfigMap", "r-more").data).toEqual({ a: "b" });
  expect(one(objects, "ConfigMap", "r-text")).toBeDefined();
});

test("every object carries the recommended labels, and selectors no version", async () => {
  const objects = await helm.render(example("everything"));
  const recommended = ["name", "instance", "version", "component", "part-of", "managed-by"];
  for (const { kind, metadata } of objects.filter(({ metadata }) => !/-(more|text)$/.test(metadata.name))) {
    const missing = recommended.filter((label) => metadata.labels?.[`app.kubernetes.io/${label}`] === undefined);
    expect(missing, `${kind} ${metadata.name}`).toEqual([]);
    expect(metadata.labels["helm.sh/chart"]).toBe("sallyport-0.1.0");
    expect(metadata.labels.team).toBe("platform");
    expect(metadata.annotations["example.com/owner"]).toBe("platform-team");
  }
  for (const { spec } of ofKind(objects, "Deployment")) {
    expect(Object.keys(spec.selector.matchLabels)).toEqual([
      "app.kubernetes.io/name",
      "app.kubernetes.io/instance",
      "app.kubernetes.io/component",
    ]);
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  }
});

test("long names stay within what Kubernetes takes, for every object that has one", async () => {
  const objects = await helm.render({ ...REQUIRED, fullnameOverride: "x".repeat(60) });
  for (const { metadata } of objects) expect(metadata.name.length).toBeLessThanOrEqual(63);
});

const PLACES = { namespaces: ["shop", "pay"], deployments: { dep_b: ["pay"], dep_a: ["shop", "jobs"] } };

test("each setting that the chart gives is one that its process reads", async () => {
  const objects = await helm.render({ ...REQUIRED, ...PLACES, log: { level: "debug" } });
  const log = Object.values(LOG_SETTINGS).map(({ env }) => env as string);
  for (const [name, settings] of [
    ["sallyport-agent", AGENT_SETTINGS],
    ["sallyport-operator", OPERATOR_SETTINGS],
  ] as const) {
    const known = new Set([...Object.values(settings).map(({ env }) => env as string), ...log]);
    const given = Object.keys(envOf(podOf(objects, name))).filter((each) => each.startsWith("SALLYPORT_"));
    expect(
      given.filter((each) => !known.has(each)),
      name,
    ).toEqual([]);
  }
  expect(envOf(podOf(objects, "sallyport-agent"))).toMatchObject({
    SALLYPORT_NAMESPACES: "shop,pay,jobs",
    SALLYPORT_LOG_LEVEL: "debug",
  });
  // The agent reports and the operator acts by the same answer of the customer.
  for (const name of ["sallyport-agent", "sallyport-operator"]) {
    const text = String(envOf(podOf(objects, name)).SALLYPORT_DEPLOYMENTS);
    expect([...parseNamedDeployments(text)]).toEqual([
      ["dep_a", ["shop", "jobs"]],
      ["dep_b", ["pay"]],
    ]);
  }
});

test("the operator is told when no stamper is to be expected, and when it may not look", async () => {
  const modeIn = async (mode: string, selfCheck = true): Promise<unknown> =>
    envOf(podOf(await helm.render({ ...REQUIRED, admission: { mode }, rbac: { selfCheck } }), "sallyport-operator"))
      .SALLYPORT_ADMISSION_MODE;
  expect(await modeIn("validating-only")).toBe("validating-only");
  expect(await modeIn("validating-and-mutating")).toBeUndefined();
  expect(await modeIn("external")).toBeUndefined();
  expect(await modeIn("validating-only", false)).toBe("unseen");
  expect(await modeIn("validating-and-mutating", false)).toBe("unseen");
});

test("proxies and authorities reach the agent under the names that it and Node read, and the operator under none", async () => {
  const proxy = { http: "http://p:3128", https: "http://p:3128", noProxy: ".corp" };
  const objects = await helm.render({ ...REQUIRED, proxy, trustedCA: { configMap: "corporate-ca" } });
  const foreign = (name: string): readonly string[] =>
    Object.keys(envOf(podOf(objects, name))).filter((each) => !/^(SALLYPORT_|NODE_(ENV|OPTIONS)$)/.test(each));
  expect(foreign("sallyport-agent").toSorted()).toEqual([
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
  ]);
  expect(foreign("sallyport-operator")).toEqual([]);
});

test("helm test asks both processes, with our own image and the agent's identity", async () => {
  const objects = await helm.render(REQUIRED);
  const { metadata, spec } = one(objects, "Pod", "sallyport-check");
  expect(metadata.annotations).toMatchObject({
    "helm.sh/hook": "test",
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
  });
  expect(spec.serviceAccountName).toBe("sallyport-agent");
  expect(spec.containers[0].args).toEqual([
    "check",
    "--ready=agent=http://sallyport-agent:8080/readyz",
    "--ready=operator=http://sallyport-operator:8080/readyz",
  ]);
  for (const name of ["sallyport-agent", "sallyport-operator"]) {
    expect(one(objects, "Service", name).spec).toMatchObject({
      clusterIP: "None",
      ports: [{ port: 8080, targetPort: "health" }],
    });
  }
  expect(ofKind(await helm.render({ ...REQUIRED, test: { enabled: false } }), "Pod")).toEqual([]);
});
