import { join } from "node:path";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { DEFAULT_NAMES, RELEASE_ROLE } from "../../src/crds/group.ts";
import { installation, openNamespaceToReleases, openReleases } from "../../src/crds/manifests/installation.ts";
import { RELEASE_RESOURCES } from "../../src/crds/released/release-kinds.ts";
import { loadOperatorConfig } from "../../src/operator/kernel/config.ts";
import { CHART, envOf, ofKind, one, podOf, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const example = join(CHART, "ci", "releases-values.yaml");
const RBAC = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
const NAMES = { ...DEFAULT_NAMES, systemNamespace: "sallyport-system" };
const keyOf = ({ kind, metadata }: Rendered): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
const byKey = (a: Rendered, b: Rendered): number => (keyOf(a) < keyOf(b) ? -1 : 1);
const on = (releases: object = {}, more: object = {}): object => ({
  ...{ ...REQUIRED, namespaces: ["shop"], ...more },
  releases: { enabled: true, ...releases },
});

/** Objects that releases add, without what only Helm needs. */
async function added(values: object): Promise<readonly Rendered[]> {
  const before = await helm.render({ ...values, releases: {} });
  const known = new Set(before.map(keyOf));
  return (await helm.render(values)).filter((each) => !known.has(keyOf(each)));
}

test.each([
  ["as they are by default", {}],
  [
    "of few kinds and registries",
    { kinds: ["Deployment.apps", "Service"], registries: ["r.example/a", "r.example/b"] },
  ],
  ["that may be exposed", { mayExpose: true }],
  [
    "that may read what is there, and run as root",
    { mayRead: { secrets: ["pull", "shop-*"], configMaps: ["ca"], volumeClaims: ["*"] }, podSecurity: "baseline" },
  ],
  ["with their secret values", { secrets: true }],
  [
    "that may use what is the customer's, and have many pods",
    {
      mayUse: {
        ...{ priorityClasses: ["shop-*"], runtimeClasses: ["gvisor"], schedulers: ["batch"], resourceClaims: ["gpu"] },
        ...{ extendedResources: ["gpu.example/*"], annotations: ["a.example/*", "b.example/c"], labels: [] },
      },
      maxPods: 1_000_000,
    },
  ],
])("releases %s add the roles, bindings and policies of src/crds, and nothing else", async (_, options) => {
  const wanted = [...openReleases(NAMES, options), ...openNamespaceToReleases("shop", NAMES)];
  const plain = ({ apiVersion, kind, metadata, ...rest }: Rendered): object => ({
    ...{ apiVersion, kind, name: metadata.name, namespace: metadata.namespace },
    tier: metadata.labels?.["sallyport.dev/tier"],
    ...rest,
  });
  const sorted = (objects: readonly Rendered[]): readonly object[] => [...objects].sort(byKey).map(plain);
  // The bound on Secrets is the chart's own, as its other quotas are.
  const made = (await added(on(options))).filter(({ kind }) => kind !== "ResourceQuota");
  expect(sorted(made)).toEqual(sorted(wanted));
});

test("the rights of releases beside those of an installation without are one golden file", async () => {
  const text = ofKind(await added(on()), ...RBAC)
    .map(({ metadata: { labels: _labels, annotations: _annotations, ...metadata }, ...rest }) => ({
      metadata,
      ...rest,
    }))
    .sort(byKey)
    .map((object) => stringify(object))
    .join("---\n");
  await expect(text).toMatchFileSnapshot("golden/rbac-releases.yaml");
});

test("the role of a rollout reaches the kinds that are named, and never Secrets, rights or what has no namespace", async () => {
  const { rules } = one(await helm.render(example), "ClusterRole", "sallyport-op-release-apply");
  const reached = rules.flatMap(({ resources }: Rendered) => resources);
  expect(reached.toSorted()).toEqual([
    "configmaps",
    "deployments",
    "events",
    "ingresses",
    "pods",
    "serviceaccounts",
    "services",
  ]);
  const all = one(await helm.render(on()), "ClusterRole", "sallyport-op-release-apply").rules;
  const everything = all.flatMap(({ resources }: Rendered) => resources);
  expect(everything.toSorted()).toEqual([...Object.values(RELEASE_RESOURCES), "events", "pods"].toSorted());
  for (const forbidden of ["*", "secrets", "roles", "rolebindings", "nodes", "namespaces", "pods/exec"]) {
    expect(everything).not.toContain(forbidden);
  }
  for (const { resources, verbs } of all) {
    const wanted = ["get", "list", "watch", "create", "patch", "delete"];
    const looks: Readonly<Record<string, readonly string[]>> = {
      ...{ pods: ["get", "list"], events: ["list"] },
      // A volume claim is never deleted.
      persistentvolumeclaims: wanted.filter((verb) => verb !== "delete"),
    };
    expect([resources, verbs]).toEqual([resources, looks[resources[0] ?? ""] ?? wanted]);
  }
});

test("no account of ours holds that role: the operator may lend it in opened namespaces alone", async () => {
  const objects = await helm.render(on());
  const bound = ofKind(objects, "RoleBinding", "ClusterRoleBinding").filter(
    ({ roleRef }) => roleRef.name === "sallyport-op-release-apply",
  );
  expect(bound).toEqual([]);
  const lends = ofKind(objects, "RoleBinding", "ClusterRoleBinding").filter(
    ({ roleRef }) => roleRef.name === "sallyport-operator-release-target",
  );
  expect(lends.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual(["RoleBinding shop"]);
});

test("with a role of the customer's own the chart makes none, and the operator may lend that one and no other", async () => {
  const objects = await helm.render(on({ role: "acme-releases" }));
  const clusterRoles = ofKind(objects, "ClusterRole").map(({ metadata }) => metadata.name);
  expect(clusterRoles).not.toContain("sallyport-op-release-apply");
  const { rules } = one(objects, "ClusterRole", "sallyport-operator-release-target");
  expect(rules.map(({ verbs, resourceNames }: Rendered) => [verbs, resourceNames])).toEqual([
    [["bind"], ["acme-releases"]],
  ]);
  expect(envOf(podOf(objects, "sallyport-operator"))).toMatchObject({ SALLYPORT_RELEASES_ROLE: "acme-releases" });
  const { policies } = installation({ ...NAMES, releaseRole: "acme-releases" });
  for (const policy of ["sallyport-operator-bindings", "sallyport-lending"]) {
    const wanted = policies.find(
      ({ kind, metadata }) => kind === "ValidatingAdmissionPolicy" && metadata.name === policy,
    );
    expect(JSON.stringify(wanted)).toContain("acme-releases");
    expect(one(objects, "ValidatingAdmissionPolicy", policy).spec).toEqual(wanted?.spec);
  }
});

test.each([
  "admin",
  "cluster-admin",
  "edit",
  "sallyport-operator",
  "sallyport-op-kubernetes-logs",
  RELEASE_ROLE,
  "acme",
])("as the role of releases, chart and operator judge %s alike", async (role) => {
  const { code } = await helm.template({ ...on({ role }) });
  const isTaken = (() => {
    try {
      return loadOperatorConfig({ SALLYPORT_RELEASES_ROLE: role }).releasesRole === role;
    } catch {
      return false;
    }
  })();
  expect([code === 0, isTaken]).toEqual(Array(2).fill(role === RELEASE_ROLE || role === "acme"));
});

test("the operator reads what releases may install in opened namespaces, and writes nothing of it", async () => {
  const objects = await helm.render(on({ kinds: ["Deployment.apps", "Service"] }));
  const { rules } = one(objects, "ClusterRole", "sallyport-operator-release-members");
  expect(rules.map(({ resources, verbs }: Rendered) => [resources, verbs])).toEqual([
    [["deployments"], ["get", "list"]],
    [["services"], ["get", "list"]],
  ]);
  const bound = ofKind(objects, "RoleBinding", "ClusterRoleBinding").filter(
    ({ roleRef }) => roleRef.name === "sallyport-operator-release-members",
  );
  expect(bound.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual(["RoleBinding shop"]);
});

test("agent and operator are told, and not where releases are off", async () => {
  const objects = await helm.render(example);
  const told = (component: string, all: readonly Rendered[]): object =>
    Object.fromEntries(
      Object.entries(envOf(podOf(all, `sallyport-${component}`))).filter(([name]) =>
        name.startsWith("SALLYPORT_RELEASES_"),
      ),
    );
  expect(told("agent", objects)).toEqual({ SALLYPORT_RELEASES_ENABLED: "true" });
  expect(told("operator", objects)).toEqual({
    SALLYPORT_RELEASES_ENABLED: "true",
    SALLYPORT_RELEASES_KINDS: "Deployment.apps,Service,ConfigMap,ServiceAccount,Ingress.networking.k8s.io",
    SALLYPORT_RELEASES_REGISTRIES: "registry.example.com/shop,registry.example.com/base",
    SALLYPORT_RELEASES_MAY_EXPOSE: "true",
    SALLYPORT_RELEASES_MAY_READ_SECRETS: "registry-pull,shop-*",
    SALLYPORT_RELEASES_MAY_READ_CONFIG_MAPS: "cluster-ca",
    SALLYPORT_RELEASES_MAY_READ_VOLUME_CLAIMS: "",
    SALLYPORT_RELEASES_MAY_USE_PRIORITY_CLASSES: "",
    SALLYPORT_RELEASES_MAY_USE_RUNTIME_CLASSES: "",
    SALLYPORT_RELEASES_MAY_USE_SCHEDULERS: "",
    SALLYPORT_RELEASES_MAY_USE_RESOURCE_CLAIMS: "",
    SALLYPORT_RELEASES_MAY_USE_EXTENDED_RESOURCES: "",
    SALLYPORT_RELEASES_MAY_USE_ANNOTATIONS: "nginx.ingress.kubernetes.io/*",
    SALLYPORT_RELEASES_MAY_USE_LABELS: "",
    SALLYPORT_RELEASES_MAX_PODS: "20",
    SALLYPORT_RELEASES_POD_SECURITY: "restricted",
    SALLYPORT_RELEASES_RECREATE: "false",
    SALLYPORT_RELEASES_ROLE: "sallyport-op-release-apply",
  });
  const off = await helm.render({ ...REQUIRED, namespaces: ["shop"] });
  expect([told("agent", off), told("operator", off)]).toEqual([{}, {}]);
});

test.each<[object, RegExp]>([
  [{ lending: { mode: "approver" } }, /releases\.enabled is true and lending\.mode is approver/],
  [{ rbac: { scope: "namespaces" } }, /releases\.enabled is true and rbac\.scope is namespaces/],
  [{ releases: { enabled: true, kinds: ["Secret"] } }, /releases.*kinds/s],
  [{ releases: { enabled: true, registries: ["r.example/'] || true || ['"] } }, /releases.*registries/s],
  [{ releases: { enabled: true, mayRead: { secrets: ["a'] || true || ['"] } } }, /releases.*secrets/s],
  [{ releases: { enabled: true, mayRead: { secrets: ["*-a"] } } }, /releases.*secrets/s],
  [{ releases: { enabled: true, mayUse: { priorityClasses: ["*"] } } }, /releases.*priorityClasses/s],
  [{ releases: { enabled: true, mayUse: { annotations: ["*"] } } }, /releases.*annotations/s],
  [{ releases: { enabled: true, mayUse: { annotations: ["a.example/'] || true || ['"] } } }, /releases.*annotations/s],
  [{ releases: { enabled: true, mayUse: { labels: ["plain"] } } }, /releases.*labels/s],
  [{ releases: { enabled: true, maxPods: 0 } }, /releases.*maxPods/s],
  [{ releases: { enabled: true, podSecurity: "privileged" } }, /releases.*podSecurity/s],
  [{ releases: { enabled: true, role: "a'] || true || ['" } }, /releases.*role/s],
  [{ releases: { enabled: true, role: "sallyport-op-kubernetes-logs" } }, /choose a ClusterRole of your own/],
])("with %j it is refused, in words", async (more, words) => {
  await expect(helm.render({ ...on(), ...more })).rejects.toThrow(words);
});

test("without roles or policies of the chart's, releases make none either", async () => {
  expect(await added(on({}, { rbac: { create: false }, admission: { mode: "external" } }))).toEqual([]);
  const blind = await helm.render(on({}, { rbac: { selfCheck: false } }));
  expect(ofKind(blind, "ClusterRole").map(({ metadata }) => metadata.name)).not.toContain(
    "sallyport-operator-release-self-check",
  );
});

test("on servers that cannot stamp names, the stampers are left out", async () => {
  const kinds = (await added(on({}, { admission: { mode: "validating-only" } }))).map(({ kind }) => kind);
  expect(kinds).toContain("ValidatingAdmissionPolicy");
  expect(kinds).not.toContain("MutatingAdmissionPolicy");
});

test("without releases.secrets no role of ours reaches a Secret of a release, and there is no place for one", async () => {
  const rights = ofKind(await added(on()), ...RBAC).flatMap(({ rules = [] }) => rules);
  expect(JSON.stringify(rights)).not.toContain('"secrets"');
  expect(JSON.stringify(await added(on()))).not.toContain('sallyport-releases"}');
});

test("the rights that releases.secrets adds are one golden file; the role of a rollout gains no read", async () => {
  const before = new Set((await added(on())).map((each) => JSON.stringify(each)));
  const own = (await added(on({ secrets: true }))).filter((each) => !before.has(JSON.stringify(each)));
  const text = ofKind(own, "Namespace", "Secret", ...RBAC)
    .map(({ metadata: { labels: _labels, annotations: _annotations, ...metadata }, ...rest }) => ({
      metadata,
      ...rest,
    }))
    .sort(byKey)
    .map((object) => stringify(object))
    .join("---\n");
  await expect(text).toMatchFileSnapshot("golden/rbac-release-secrets.yaml");
  const { rules } = one(own, "ClusterRole", "sallyport-op-release-apply");
  const ofSecrets = rules.filter(({ resources }: Rendered) => resources.includes("secrets"));
  expect(ofSecrets.map(({ verbs }: Rendered) => verbs)).toEqual([["create", "delete"]]);
});

test("agent and operator are told of releases.secrets and its namespace, which always has a bound", async () => {
  const values = on({ secrets: true, namespace: "vault-of-releases" }, { quota: { create: false, releaseSecrets: 7 } });
  const objects = await helm.render(values);
  for (const component of ["agent", "operator"]) {
    expect(envOf(podOf(objects, `sallyport-${component}`))).toMatchObject({
      SALLYPORT_RELEASES_SECRETS: "true",
      SALLYPORT_RELEASES_NAMESPACE: "vault-of-releases",
    });
  }
  const quota = ofKind(objects, "ResourceQuota").find(({ metadata }) => metadata.namespace === "vault-of-releases");
  expect(quota?.spec).toEqual({ hard: { "count/secrets": "7" } });
});

test.each(["sallyport-grants", "sallyport-system", "shop", "default"])(
  "a namespace for Secrets of releases that something else uses is refused: %s",
  async (namespace) => {
    await expect(helm.render(on({ secrets: true, namespace }))).rejects.toThrow(/choose a namespace that nothing else/);
  },
);
