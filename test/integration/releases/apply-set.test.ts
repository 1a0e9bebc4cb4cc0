import { beforeAll, expect, test } from "vitest";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES, objectName } from "../../../src/crds/group.ts";
import { deploymentAcceptance } from "../../../src/crds/manifests/admission/deployment-admission.ts";
import {
  APPLYSET_ID_LABEL,
  APPLYSET_KINDS,
  APPLYSET_LABEL,
  APPLYSET_NAMESPACES,
  APPLYSET_TOOLING,
  applySetId,
} from "../../../src/crds/release-names.ts";
import { namespace } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { GRANTS, SYSTEM } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { type Attack, inForce, testRefusals, useTyping } from "../attacks.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// What a release installs is a set whose parent is the ManagedDeployment (KEP-3659), as kubectl understands it.

const cluster = useCluster();
const world = useHands(cluster);
const { operatorAccount } = DEFAULT_NAMES;
const PARENT = objectName("dep_1");
const ID = applySetId(PARENT, GRANTS);
const NAMED = `mdep/${PARENT}`;

const kubeconfigs: Partial<Record<"operator" | "admin", string>> = {};
const attacked = { cluster, kubeconfigs };
const POLICY = { policy: "sallyport-deployment-acceptance", as: "operator" } as const;
const patch = (body: object): readonly string[] => [
  ...["patch", "mdep", PARENT, "-n", GRANTS, "--type=merge", "--dry-run=server", "-p", JSON.stringify(body)],
];
const ONLY = "writes of a ManagedDeployment only that it is the parent";
const ATTACKS: readonly Attack<"operator" | "admin">[] = [
  {
    ...{ title: "the operator accepts no deployment", ...POLICY, words: "the customer's word" },
    args: patch({ spec: { acceptedNamespaces: ["kube-system"] } }),
  },
  {
    ...{ title: "the operator sets no other label", ...POLICY, words: ONLY },
    args: patch({ metadata: { labels: { "example.com/owner": "x" } } }),
  },
  {
    ...{ title: "the operator removes no label of the customer", ...POLICY, words: ONLY },
    args: patch({ metadata: { labels: { "example.com/team": null } } }),
  },
  {
    ...{ title: "the operator removes no annotation of the customer", ...POLICY, words: ONLY },
    args: patch({ metadata: { annotations: { "example.com/note": null } } }),
  },
  {
    ...{ title: "the operator sets no other annotation", ...POLICY, words: "may not set finalizers" },
    args: patch({ metadata: { annotations: { "example.com/other": "x" } } }),
  },
];
const typing = useTyping(attacked);

beforeAll(async () => {
  const account = { kind: "ServiceAccount", name: operatorAccount, namespace: SYSTEM };
  const rbac = "rbac.authorization.k8s.io";
  const metadata = {
    ...{ name: PARENT, namespace: GRANTS, labels: { "example.com/team": "one" } },
    annotations: { "example.com/note": "kept" },
  };
  await cluster().apply([
    namespace(SYSTEM),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: operatorAccount, namespace: SYSTEM } },
    {
      ...{ apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata: { name: "careless" } },
      ...{ roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" }, subjects: [account] },
    },
    { ...ours("ManagedDeployment", PARENT, { deploymentId: "dep_1", name: "shop" }), metadata },
    ...deploymentAcceptance(DEFAULT_NAMES),
  ]);
  kubeconfigs.operator = await cluster().kubeconfigForServiceAccount(SYSTEM, operatorAccount);
  kubeconfigs.admin = cluster().adminKubeconfig;
  await inForce(ATTACKS, typing);
});

testRefusals(ATTACKS, attacked, typing);

interface Parented {
  readonly metadata: Readonly<Record<"labels" | "annotations", Readonly<Record<string, string>>>>;
}

async function readParent(): Promise<Parented["metadata"]> {
  const { stdout } = await cluster().kubectl(["get", NAMED, "-n", GRANTS, "-o", "json"]);
  const { labels, annotations } = (JSON.parse(stdout) as Parented).metadata;
  return { labels, annotations };
}

function applyAsSet(): Promise<KubectlResult> {
  const set = `--applyset=manageddeployments.sallyport.dev/${PARENT}`;
  const line = ["apply", "-n", GRANTS, "--server-side", set, "--prune", "-f", "-"];
  const stdin = JSON.stringify(configMap(GRANTS, "of-kubectl", {}));
  return cluster().kubectl(line, { stdin, env: { KUBECTL_APPLYSET: "true" } });
}

test("the parent tells of the set before its first member is there; a label finds the members; kubectl leaves them alone", async () => {
  const shop = await world.namespace();
  const objects = [member(configMap(shop, "settings", { a: "1" })), member(deployment(shop, "api"), { wave: 1 })];
  const intent = await world.intent("install", { objects, namespaces: [shop] });
  const hands = await world.hands({}, kubeconfigs.operator);
  expect((await hands.apply(intent, 0, world.until(), signal())).failures).toEqual([]);
  const parent = await readParent();
  expect(parent.labels).toEqual({ [APPLYSET_ID_LABEL]: ID, "example.com/team": "one" });
  expect(parent.annotations).toEqual({
    [APPLYSET_TOOLING]: "sallyport/1.2.3",
    [APPLYSET_KINDS]: "ConfigMap,Deployment.apps",
    [APPLYSET_NAMESPACES]: shop,
    "example.com/note": "kept",
  });
  expect((await hands.apply(intent, 1, world.until(), signal())).failures).toEqual([]);
  expect(await readParent()).toEqual(parent);

  const members = ["get", "configmaps,deployments", "-A", "-l", `${APPLYSET_LABEL}=${ID}`, "-o", "name"];
  const listed = async (): Promise<readonly string[]> =>
    (await cluster().kubectl(members)).stdout.split("\n").filter((line) => line !== "");
  expect(await listed()).toEqual(["configmap/settings", "deployment.apps/api"]);

  const refused = await applyAsSet();
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('is managed by tooling "sallyport" instead of "kubectl"');
  expect(await listed()).toEqual(["configmap/settings", "deployment.apps/api"]);

  // Under its own name kubectl goes on: id, kinds and namespaces are as it reads them, and it finds each member.
  await cluster().kubectl(["annotate", NAMED, "-n", GRANTS, "--overwrite", `${APPLYSET_TOOLING}=kubectl/v1.0.0`]);
  const { stdout, code } = await applyAsSet();
  expect(code).toBe(0);
  expect(stdout).toContain("configmap/settings pruned");
  expect(stdout).toContain("deployment.apps/api pruned");
});

test("a deletion tells of the namespaces that it did not look into, by what the parent has of earlier releases", async () => {
  const [old, now] = [await world.namespace(), await world.namespace()];
  const hands = await world.hands();
  const inOne = (namespace: string) => [member(configMap(namespace, "moved", {}))];
  const install = await world.intent("install", { objects: inOne(old), namespaces: [old] });
  expect((await hands.apply(install, 0, world.until(), signal())).failures).toEqual([]);
  const where = async (former = inOne(now), closed: readonly string[] = []) => {
    const intent = await world.intent("delete", { former, closed, namespaces: [now] });
    return (await hands.leftBehind(intent, world.until(), signal())).unsearched;
  };
  expect(await where()).toContain(old);
  expect(await where([])).toContain(old);
  expect(await where(inOne(old))).toContain(old);
  expect(await where(inOne(now), [`ConfigMap/${old}/moved`])).not.toContain(old);
});
