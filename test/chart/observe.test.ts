import { expect, test } from "vitest";
import { ofKind, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();

// The values `observe`: the agent's rights and its settings say the same.
const RIGHTS = {
  ...{ deployments: "deployments.apps", statefulSets: "statefulsets.apps", daemonSets: "daemonsets.apps" },
  ...{ replicaSets: "replicasets.apps", pods: "pods", jobs: "jobs.batch", cronJobs: "cronjobs.batch" },
  ...{ podDisruptionBudgets: "poddisruptionbudgets.policy", persistentVolumeClaims: "persistentvolumeclaims" },
};
const ALL = Object.keys(RIGHTS) as (keyof typeof RIGHTS)[];
const ON_DEMAND = ["events", "metrics"];
const observed = async (off: readonly string[], more: object = {}) => {
  const isOff = (all: readonly string[]) =>
    Object.fromEntries(all.filter((each) => off.includes(each)).map((each) => [each, false]));
  const observe = { kinds: isOff(ALL), ...isOff(ON_DEMAND) };
  const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], observe, ...more });
  const roles = ofKind(objects, "Role", "ClusterRole").filter(
    ({ metadata }) => metadata.name === "sallyport-agent-observe",
  );
  const [agent] = ofKind(objects, "Deployment").filter(({ metadata }) => metadata.name.endsWith("-agent"));
  const [container] = agent?.spec.template.spec.containers ?? [];
  const rules: Rendered[] = roles.flatMap(({ rules: each }) => each ?? []);
  const rightsOf = (verbs: number): string[] =>
    rules
      .filter((rule) => rule.verbs.length === verbs)
      .flatMap(({ apiGroups, resources }) =>
        apiGroups.flatMap((group: string) =>
          resources.map((each: string) => (group === "" ? each : `${each}.${group}`)),
        ),
      );
  const setting = (word: string): string[] =>
    container.env.find(({ name }: Rendered) => name === `SALLYPORT_OBSERVED_${word}`).value.split(",");
  return {
    ...{ rules: rightsOf(3), told: setting("KINDS") },
    ...{ listed: rightsOf(1), asked: setting("ON_DEMAND") },
  };
};

test("all kinds are observed by default", async () => {
  const { rules, told } = await observed([]);
  expect(rules.toSorted()).toEqual(Object.values(RIGHTS).toSorted());
  expect(told.toSorted()).toEqual(ALL.map((kind) => kind.toLowerCase()).toSorted());
});

test.each(ALL)("%s off: the agent has no right to it and is told so", async (kind) => {
  const { rules, told } = await observed([kind]);
  expect([rules.length, told.length]).toEqual([8, 8]);
  expect(rules).not.toContain(RIGHTS[kind]);
  expect(told).not.toContain(kind.toLowerCase());
});

test("what is asked for when needed is on by default, and off takes the right", async () => {
  expect(await observed([])).toMatchObject({
    listed: ["events.events.k8s.io", "pods.metrics.k8s.io"],
    asked: ON_DEMAND,
  });
  expect(await observed(["events"])).toMatchObject({ listed: ["pods.metrics.k8s.io"], asked: ["metrics"] });
  expect(await observed(ON_DEMAND)).toMatchObject({ listed: [], asked: ["none"] });
});

test("a label selector is passed on as it is written", async () => {
  const selector = "team in (shop, bank),!internal";
  const objects = await helm.render({ ...REQUIRED, observe: { labelSelector: selector } });
  const [agent] = ofKind(objects, "Deployment").filter(({ metadata }) => metadata.name.endsWith("-agent"));
  const env: Rendered[] = agent?.spec.template.spec.containers[0].env;
  expect(env.find(({ name }) => name === "SALLYPORT_OBSERVED_LABEL_SELECTOR")?.value).toBe(selector);
});

test("nodes are off by default; on, the agent alone may read them, and nothing else, in any scope", async () => {
  const told = async (values: object) => {
    const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], ...values });
    const [agent] = ofKind(objects, "Deployment").filter(({ metadata }) => metadata.name.endsWith("-agent"));
    const env: Rendered[] = agent?.spec.template.spec.containers[0].env;
    return {
      setting: env.find(({ name }) => name === "SALLYPORT_OBSERVED_NODES")?.value,
      access: ofKind(objects, "ClusterRole", "ClusterRoleBinding").filter(
        ({ metadata }) => metadata.name === "sallyport-agent-nodes",
      ),
    };
  };
  expect(await told({})).toEqual({ setting: "off", access: [] });
  for (const scope of ["cluster", "namespaces"]) {
    const { setting, access } = await told({ observe: { nodes: true }, rbac: { scope } });
    expect([setting, access.length]).toEqual(["on", 2]);
    expect(access[0].rules).toEqual([{ apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"] }]);
    expect(access[1].subjects).toEqual([
      { kind: "ServiceAccount", name: "sallyport-agent", namespace: "sallyport-system" },
    ]);
  }
  expect(await told({ observe: { nodes: true }, rbac: { create: false } })).toEqual({ setting: "on", access: [] });
});

test("in the scope cluster the agent's one binding is the cluster's; the operator's stay in the namespaces", async () => {
  const bindings = async (observe: object): Promise<readonly string[]> =>
    ofKind(
      await helm.render({ ...REQUIRED, namespaces: ["shop", "jobs"], observe }),
      "RoleBinding",
      "ClusterRoleBinding",
    )
      .filter(({ roleRef }) => /^sallyport-(agent-observe|operator-target)$/.test(roleRef.name))
      .map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""} ${metadata.name}`)
      .toSorted();
  const target = ["jobs", "shop"].map((namespace) => `RoleBinding ${namespace} sallyport-operator-target`);
  const own = ["jobs", "shop"].map((namespace) => `RoleBinding ${namespace} sallyport-agent-observe`);
  expect(await bindings({})).toEqual([...own, ...target].toSorted());
  expect(await bindings({ scope: "cluster" })).toEqual(["ClusterRoleBinding  sallyport-agent-observe", ...target]);
});

test("names are told by default; hidden, the agent has the right to one empty Secret in its namespace and to no other", async () => {
  const told = async (values: object) => {
    const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], ...values });
    const [agent] = ofKind(objects, "Deployment").filter(({ metadata }) => metadata.name.endsWith("-agent"));
    const env: Rendered[] = agent?.spec.template.spec.containers[0].env;
    const salted = (...kinds: readonly string[]) =>
      ofKind(objects, ...kinds).filter(({ metadata }) => metadata.name.endsWith("-name-salt"));
    return {
      setting: env.find(({ name }) => name === "SALLYPORT_REDACT_NAMES")?.value,
      secrets: salted("Secret"),
      access: salted("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
    };
  };
  expect(await told({})).toEqual({ setting: "off", secrets: [], access: [] });
  for (const scope of ["cluster", "namespaces"]) {
    const { setting, secrets, access } = await told({ observe: { redactNames: true }, rbac: { scope } });
    expect([setting, secrets.length, access.map(({ kind }) => kind)]).toEqual(["on", 1, ["Role", "RoleBinding"]]);
    // With data of its own the chart would write over the salt with each upgrade.
    expect(Object.keys(secrets[0]).toSorted()).toEqual(["apiVersion", "kind", "metadata", "type"]);
    expect(access[0].rules).toEqual([
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "update"], resourceNames: [secrets[0].metadata.name] },
    ]);
    for (const { metadata } of [...secrets, ...access]) expect(metadata.namespace).toBe("sallyport-system");
  }
});

test("all kinds off, in roles of namespaces", async () => {
  const { rules, told, listed } = await observed([...ALL, ...ON_DEMAND], { rbac: { scope: "namespaces" } });
  expect([rules, told, listed]).toEqual([[], ["none"], []]);
});
