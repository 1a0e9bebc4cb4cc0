import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { DEFAULT_NAMES, type InstallationNames, operationRole } from "../../src/crds/group.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../../src/crds/manifests/admission/admission.ts";
import { installation, KINDS, openNamespace } from "../../src/crds/manifests/installation.ts";
import { inScope } from "../../src/crds/operations/catalog.ts";
import { CHART, ofKind, one, REQUIRED, type Rendered, type RenderOptions, useHelm } from "./use-helm.ts";

const helm = useHelm();
const RBAC = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
const POLICIES = ["Validating", "Mutating"].flatMap((each) => [
  `${each}AdmissionPolicy`,
  `${each}AdmissionPolicyBinding`,
]);

/** Without the labels and annotations that only Helm needs. */
function bare({ metadata, ...object }: Rendered): Rendered {
  const labels = Object.entries(metadata.labels ?? {}).filter(
    ([key]) => !/^(app\.kubernetes\.io|helm\.sh)\//.test(key),
  );
  const { labels: _labels, annotations: _annotations, ...rest } = metadata;
  return { ...object, metadata: { ...rest, ...(labels.length > 0 && { labels: Object.fromEntries(labels) }) } };
}

const keyOf = ({ kind, metadata }: Rendered): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
const sorted = (objects: readonly Rendered[]): readonly Rendered[] =>
  objects.map(bare).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

const PLUGINS: NonNullable<InstallationNames["plugins"]> = [
  {
    plugin: "search",
    name: "look",
    tier: "read-only",
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
  },
  {
    ...{ plugin: "search", name: "reindex", tier: "mutating" },
    rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch"] }],
  },
];
const operations = PLUGINS.map(({ name, tier, rules }) => [name, { enabled: true, tier, rules }]);
const PLUGIN_VALUES = {
  plugins: {
    search: {
      version: "1.2.0",
      operations: { off: { ...(operations[0]?.[1] as object), enabled: false }, ...Object.fromEntries(operations) },
    },
  },
  operator: { resources: { limits: { memory: "512Mi" } } },
};

describe.each<readonly [string, InstallationNames, object, RenderOptions]>([
  ["the default names", DEFAULT_NAMES, {}, {}],
  [
    "other names",
    {
      systemNamespace: "gate-system",
      grantsNamespace: "gate-grants",
      agentAccount: "acme-sallyport-agent",
      operatorAccount: "hand",
      joinAccount: "acme-sallyport-join",
      machinesAccount: "acme-sallyport-machines",
    },
    { grantsNamespace: "gate-grants", operator: { serviceAccount: { name: "hand" } } },
    { release: "acme", namespace: "gate-system" },
  ],
  ["plugins", { ...DEFAULT_NAMES, plugins: PLUGINS }, PLUGIN_VALUES, {}],
  ["approvers that lend", { ...DEFAULT_NAMES, lendingMode: "approver" }, { lending: { mode: "approver" } }, {}],
])("with %s, the chart installs what src/crds says", (_case, names, values, options) => {
  const rendered = (): Promise<readonly Rendered[]> =>
    helm.render({ ...REQUIRED, namespaces: ["shop"], ...values }, options);
  const wanted = installation(names);

  test("of custom resources", async () => {
    const crds = ofKind(await rendered(), "CustomResourceDefinition");
    expect(sorted(crds)).toEqual(sorted(wanted.crds));
  });

  test("of admission policies", async () => {
    expect(sorted(ofKind(await rendered(), ...POLICIES))).toEqual(sorted(wanted.policies));
  });

  test("of roles and bindings, the opened namespace's too", async () => {
    const roles = [...ofKind(wanted.rbac, ...RBAC), ...openNamespace("shop", names)];
    expect(sorted(ofKind(await rendered(), ...RBAC))).toEqual(sorted(roles));
  });

  test("of accounts, that of what runs by itself where approvers lend", async () => {
    const accounts = ofKind(await rendered(), "ServiceAccount");
    expect(accounts.map(keyOf).sort()).toEqual(ofKind(wanted.rbac, "ServiceAccount").map(keyOf).sort());
  });

  test("and the processes are told these names", async () => {
    for (const { metadata, spec } of ofKind(await rendered(), "Deployment")) {
      const [container] = spec.template.spec.containers;
      const env = Object.fromEntries(container.env.map((each: Rendered) => [each.name, each.value]));
      const account = metadata.name.endsWith("-agent") ? names.agentAccount : names.operatorAccount;
      expect(env).toMatchObject({
        SALLYPORT_SYSTEM_NAMESPACE: names.systemNamespace,
        SALLYPORT_GRANTS_NAMESPACE: names.grantsNamespace,
        SALLYPORT_LEASE_NAME: account,
      });
      expect(spec.template.spec.serviceAccountName).toBe(account);
      const mode = metadata.name.endsWith("-operator") ? (names.lendingMode ?? "operator") : undefined;
      expect(env.SALLYPORT_LENDING_MODE).toBe(mode);
    }
  });
});

describe.each(["default", "namespaces", "hardened", "older-server", "approver-lending"])(
  "the rights of ci/%s",
  (name) => {
    const file = join(CHART, "ci", `${name}-values.yaml`);

    test("are those of its golden file", async () => {
      const text = sorted(ofKind(await helm.render(file), ...RBAC))
        .map((object) => stringify(object))
        .join("---\n");
      await expect(text).toMatchFileSnapshot(`golden/rbac-${name}.yaml`);
    });

    test("hold no wildcard, no Secrets, no exec, no escalate and no impersonate", async () => {
      const rules = ofKind(await helm.render(file), "Role", "ClusterRole").flatMap(({ rules: each }) => each);
      const words = new Set(
        rules.flatMap(({ verbs, resources = [], apiGroups = [], nonResourceURLs = [] }: Rendered) => [
          ...verbs,
          ...resources,
          ...apiGroups,
          ...nonResourceURLs,
        ]),
      );
      expect(words.size).toBeGreaterThan(20);
      for (const word of ["*", "secrets", "pods/exec", "pods/attach", "escalate", "impersonate", "nodes"]) {
        expect(words).not.toContain(word);
      }
    });
  },
);

test("all that can be read beside the default is one golden file", async () => {
  const file = join(CHART, "ci", "observing-values.yaml");
  const text = sorted(ofKind(await helm.render(file), ...RBAC))
    .filter(({ metadata }) => metadata.name.startsWith("sallyport-agent"))
    .map((object) => stringify(object))
    .join("---\n");
  await expect(text).toMatchFileSnapshot("golden/rbac-observing.yaml");
});

const NAMESPACED = inScope("namespaced");

describe("operations of cluster scope", () => {
  const wide = async (more: object): Promise<readonly string[]> =>
    ofKind(await helm.render({ ...REQUIRED, ...more }), "ClusterRole", "ClusterRoleBinding")
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
      .filter((each) => /cordon|cluster-(target|lender)/.test(each));
  const on = (...names: readonly string[]): object => ({
    operations: { kubernetes: Object.fromEntries(names.map((each) => [each, { enabled: true }])) },
  });

  test("are off, and nobody may lend in the whole cluster", async () => {
    expect(await wide({})).toEqual([]);
    const objects = await helm.render(REQUIRED);
    const roles = ofKind(objects, "ClusterRole").flatMap(({ rules }) => rules ?? []);
    expect(roles.flatMap((rule: Rendered) => rule.resources)).not.toContain("clusterrolebindings");
  });

  test("are opened one by one, and the operator may lend exactly those", async () => {
    expect(await wide(on("cordon-node"))).toEqual([
      "ClusterRole sallyport-op-kubernetes-cordon-node",
      "ClusterRole sallyport-operator-cluster-target",
      "ClusterRoleBinding sallyport-operator-cluster-target",
    ]);
    const objects = await helm.render({ ...REQUIRED, ...on("cordon-node") });
    const { rules } = one(objects, "ClusterRole", "sallyport-operator-cluster-target");
    expect(rules.flatMap(({ resourceNames = [] }: Rendered) => resourceNames)).toEqual([
      "sallyport-op-kubernetes-cordon-node",
    ]);
  });

  test("are lent by people where approvers lend, whose role waits for your binding", async () => {
    expect(await wide({ ...on("cordon-node", "uncordon-node"), lending: { mode: "approver" } })).toEqual([
      "ClusterRole sallyport-op-kubernetes-cordon-node",
      "ClusterRole sallyport-op-kubernetes-uncordon-node",
      "ClusterRole sallyport-operator-cluster-target",
      "ClusterRole sallyport-cluster-lender",
      "ClusterRoleBinding sallyport-operator-cluster-target",
    ]);
  });

  test("reach the nodes that you name, and no other", async () => {
    const values = { ...REQUIRED, operations: { kubernetes: { "cordon-node": { enabled: true, names: ["node-1"] } } } };
    const { rules } = one(await helm.render(values), "ClusterRole", "sallyport-op-kubernetes-cordon-node");
    expect(rules.map(({ resources, resourceNames }: Rendered) => [resources, resourceNames])).toEqual([
      [["nodes"], ["node-1"]],
      [["nodes"], ["node-1"]],
    ]);
  });

  test("are opened to deployments by the policy that the chart makes", async () => {
    const clusterOperations = [{ operation: "kubernetes/cordon-node", deployments: ["dep_x"], names: ["node-1"] }];
    const objects = await helm.render({ ...REQUIRED, operationPolicy: { clusterOperations } });
    expect(one(objects, "OperationPolicy", "default").spec).toMatchObject({ clusterOperations });
  });
});

describe("an operation that is off", () => {
  const off = (...operations: readonly string[]): object => ({
    ...REQUIRED,
    operations: { kubernetes: Object.fromEntries(operations.map((each) => [each, { enabled: false }])) },
  });
  const bindable = (objects: readonly Rendered[]): unknown =>
    one(objects, "ClusterRole", "sallyport-operator-target").rules.find((rule: Rendered) => rule.verbs.includes("bind"))
      ?.resourceNames;

  test.each(NAMESPACED.map(({ name }) => name))("%s has no role, and cannot be lent", async (operation) => {
    const objects = await helm.render(off(operation));
    const role = operationRole("kubernetes", operation);
    expect(ofKind(objects, "ClusterRole").map(({ metadata }) => metadata.name)).not.toContain(role);
    expect(bindable(objects)).toEqual(
      NAMESPACED.map((each) => operationRole(each.plugin, each.name)).filter((each) => each !== role),
    );
  });

  test("cannot be lent by a lender either", async () => {
    const [first] = NAMESPACED;
    const objects = await helm.render({ ...off(first?.name ?? ""), lending: { mode: "approver" } });
    const { rules } = one(objects, "ClusterRole", "sallyport-lender");
    const names = rules.flatMap(({ resourceNames = [] }: Rendered) => resourceNames);
    expect(names).toEqual(NAMESPACED.slice(1).map((each) => operationRole(each.plugin, each.name)));
  });

  test("together with all the others leaves no rule to lend at all: one without names would lend every role", async () => {
    const objects = await helm.render(off(...NAMESPACED.map(({ name }) => name)));
    const { rules } = one(objects, "ClusterRole", "sallyport-operator-target");
    expect(rules.map((rule: Rendered) => rule.verbs)).toEqual([["create", "get", "list", "delete"]]);
  });
});

test("where approvers lend, the operator has no right to make a binding or to bind a role", async () => {
  const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], lending: { mode: "approver" } });
  const { rules } = one(objects, "ClusterRole", "sallyport-operator-target");
  expect(rules.map((rule: Rendered) => rule.verbs)).toEqual([["get", "list", "delete"]]);
  const verbs = ofKind(objects, "Role", "ClusterRole")
    .filter(({ metadata }) => metadata.name.startsWith("sallyport-operator"))
    .flatMap(({ rules: each }) => each.flatMap((rule: Rendered) => rule.verbs));
  expect(verbs).not.toContain("bind");
  expect(ofKind(objects, "ClusterRole").map(({ metadata }) => metadata.name)).toContain("sallyport-lender");
});

describe("admission.mode", () => {
  const policies = async (mode: string): Promise<readonly string[]> =>
    ofKind(
      await helm.render({ ...REQUIRED, admission: { mode } }),
      "ValidatingAdmissionPolicy",
      "MutatingAdmissionPolicy",
    ).map(({ metadata }) => metadata.name);

  test("validating-and-mutating has all of them", async () => {
    expect(await policies("validating-and-mutating")).toEqual(
      expect.arrayContaining([...VALIDATING_POLICIES, ...MUTATING_POLICIES]),
    );
  });

  test("validating-only leaves out the stampers, and the policy that insists on a stamp", async () => {
    const kept = VALIDATING_POLICIES.filter((name) => name !== "sallyport-named-decisions");
    expect([...(await policies("validating-only"))].sort()).toEqual([...kept].sort());
  });

  test("external has none", async () => {
    expect(await policies("external")).toEqual([]);
  });
});

describe("custom resources", () => {
  const kept = (objects: readonly Rendered[]): readonly unknown[] =>
    ofKind(objects, "CustomResourceDefinition").map(
      ({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"],
    );

  test("stay when the chart goes, unless told otherwise; so does the namespace with the records", async () => {
    const objects = await helm.render(REQUIRED);
    expect(kept(objects)).toEqual(KINDS.map(() => "keep"));
    expect(one(objects, "Namespace", "sallyport-grants").metadata.annotations["helm.sh/resource-policy"]).toBe("keep");
    expect(kept(await helm.render({ ...REQUIRED, crds: { keep: false } }))).toEqual(KINDS.map(() => undefined));
  });

  test("can be left to somebody else", async () => {
    expect(kept(await helm.render({ ...REQUIRED, crds: { enabled: false } }))).toEqual([]);
  });
});

test("rbac.create and people.create leave roles to somebody else", async () => {
  const objects = await helm.render({ ...REQUIRED, rbac: { create: false }, people: { create: false } });
  expect(ofKind(objects, ...RBAC)).toEqual([]);
});

test("rbac.scope namespaces asks for nothing cluster-wide but the look at the policies", async () => {
  const values = { ...REQUIRED, namespaces: ["shop"], rbac: { scope: "namespaces" } };
  const clusterWide = ofKind(await helm.render(values), "ClusterRole", "ClusterRoleBinding");
  expect(clusterWide.map(({ metadata }) => metadata.name)).toEqual([
    "sallyport-operator-self-check",
    "sallyport-operator-self-check",
  ]);
  const objects = await helm.render({ ...values, rbac: { scope: "namespaces", selfCheck: false } });
  expect(ofKind(objects, "ClusterRole", "ClusterRoleBinding")).toEqual([]);
  const policy = one(objects, "ValidatingAdmissionPolicy", "sallyport-operator-bindings");
  expect(JSON.stringify(policy)).toContain("object.roleRef.kind == 'Role'");
});
