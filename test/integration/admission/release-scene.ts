import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { openCluster, openNamespaceToReleases, openReleases } from "../../../src/crds/manifests/installation.ts";
import { APPROVER, GRANTS, SHOP } from "../../world/people.ts";
import type { Stamp } from "../attacks.ts";
import { MEMBER, PLAN, REGISTRY, ROLLOUT_RUN, released, releasedDeployment } from "../releases/released-objects.ts";
import {
  account,
  claimOf,
  content,
  DIGEST,
  marked,
  NETWORK,
  OTHERS,
  PINNED,
  rollout,
  say,
  UNNAMED,
  volume,
  type Who,
} from "./release-writes.ts";

// Releases are open in the shop, and have installed something beside what is the customer's. Each account of the
// processes has every right: what is refused here is refused by policies alone.

const { systemNamespace } = DEFAULT_NAMES;
export const ONCALL = "olga";
/** May approve what changes, and not what deletes. */
const MUTATOR = "mia";
/** May write to rollouts, and has no word. */
const STRANGER = "sam";
export const OPTIONS = {
  registries: [REGISTRY, "other.example"],
  mayRead: { secrets: ["shop-*"], configMaps: ["shop-settings"], volumeClaims: ["data-cache-*"] },
  mayUse: {
    ...{ priorityClasses: ["shop-*"], runtimeClasses: ["gvisor"], schedulers: ["shop"], resourceClaims: ["shop-gpu"] },
    extendedResources: ["shop.example/*"],
    ...{ annotations: ["nginx.ingress.kubernetes.io/*"], labels: ["shop.example/tier"] },
  },
};
export const RBAC = "rbac.authorization.k8s.io";
export const bound = (kind: string, name: string, role: object, subject: object): Record<string, unknown> => ({
  ...{ apiVersion: `${RBAC}/v1`, kind, metadata: { name, ...(kind === "RoleBinding" && { namespace: GRANTS }) } },
  ...{ roleRef: { apiGroup: RBAC, kind: "ClusterRole", ...role }, subjects: [subject] },
});
export const user = (name: string): object => ({ apiGroup: RBAC, kind: "User", name });
const everything = (name: string, subject: object): Record<string, unknown> =>
  bound("ClusterRoleBinding", `careless-${name}`, { name: "cluster-admin" }, subject);
export const role = (name: string, rules: object): Record<string, unknown> => ({
  ...{ apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules: [rules] },
});

/** Returns the credentials of everybody, on a cluster with our installation and its shop. */
export async function setReleaseScene(
  cluster: Cluster,
  options: Parameters<typeof openReleases>[1] = OPTIONS,
): Promise<Record<Who, string>> {
  await cluster.apply([...openReleases(undefined, options), ...openNamespaceToReleases(SHOP), ...openCluster()]);
  const words = { apiGroups: ["sallyport.dev"], resources: ["rollouts"], verbs: ["get", "patch"] };
  await cluster.apply([
    ...[PLAN, ROLLOUT_RUN, UNNAMED].map((name) =>
      everything(name, { kind: "ServiceAccount", name, namespace: GRANTS }),
    ),
    everything("processes", { apiGroup: RBAC, kind: "Group", name: `system:serviceaccounts:${systemNamespace}` }),
    role("patches-rollouts", words),
    role("approves-changes", {
      apiGroups: ["sallyport.dev"],
      resources: ["risks"],
      resourceNames: ["mutating"],
      verbs: ["approve"],
    }),
    bound("RoleBinding", "oncall", { name: "sallyport-oncall" }, user(ONCALL)),
    ...[STRANGER, MUTATOR].map((name) =>
      bound("RoleBinding", `patches-${name}`, { name: "patches-rollouts" }, user(name)),
    ),
    bound("RoleBinding", "approves-changes", { name: "approves-changes" }, user(MUTATOR)),
    ...[PLAN, ROLLOUT_RUN, UNNAMED].map((name) => account(name) as Record<string, unknown>),
    account("customers", {}, SHOP) as Record<string, unknown>,
    account("others", { labels: OTHERS }, SHOP) as Record<string, unknown>,
    account("own", { labels: MEMBER }, SHOP) as Record<string, unknown>,
    released("v1", "ConfigMap", "member"),
    released("v1", "ConfigMap", "others", {}, { labels: OTHERS }),
    ...["theirs", "shop-settings"].map((name) => released("v1", "ConfigMap", name, {}, { labels: {} })),
    ...(["vault", "own-set"] as const).map((name) =>
      released(
        "apps/v1",
        "StatefulSet",
        name,
        {
          spec: {
            ...marked({}),
            ...{
              replicas: 0,
              serviceName: name,
              volumeClaimTemplates: [{ metadata: { name: "data" }, ...claimOf({}) }],
            },
          },
        },
        name === "vault" ? { labels: {} } : {},
      ),
    ),
    ...["data-db-0", "data-cache-0"].map((name) =>
      released("v1", "PersistentVolumeClaim", name, claimOf({}), { labels: {} }),
    ),
    released("v1", "PersistentVolumeClaim", "data-own-0", claimOf({})),
    // The customer has had it read a Secret.
    releasedDeployment("reading", volume({ secret: { secretName: "theirs" } })),
    released("v1", "Service", "member", { spec: { ports: [{ port: 80 }] } }),
    releasedDeployment("member"),
    // The customer has given it the node's network.
    releasedDeployment("touched", { hostNetwork: true, serviceAccountName: "own" }),
    // The customer has bound it to a node, and to a network.
    released("apps/v1", "Deployment", "pinned", { spec: marked(PINNED, NETWORK) }),
    // The customer has scaled it beyond what releases may have.
    { ...releasedDeployment("scaled"), spec: { ...marked({}), replicas: 1_000, paused: true } },
    content("rel-1") as Record<string, unknown>,
    ...["waiting", "denied", "ended", "paused", "unnamed", "anew", "pruning"].map(
      (name) => rollout(name) as Record<string, unknown>,
    ),
    rollout("leaving", { action: "delete", contentName: undefined, contentDigest: undefined }) as Record<
      string,
      unknown
    >,
  ]);
  const write = async (name: string, body: object, subresource = ""): Promise<void> => {
    const path = `/apis/sallyport.dev/v1alpha1/namespaces/${GRANTS}/rollouts/${name}${subresource}`;
    const contentType = "application/merge-patch+json";
    const { status, body: answer } = await cluster.request({ method: "PATCH", path, body, contentType });
    if (status !== 200) throw new Error(`${name} was not written: ${JSON.stringify(answer)}`);
  };
  const report = (name: string, status: object): Promise<void> => write(name, { status }, "/status");
  const plan = { create: 0, change: 1, prune: 0, unchanged: 0 };
  const planned = { state: "Planning", plannedDigest: DIGEST };
  await report("waiting", { state: "Planning" });
  await report("waiting", { state: "AwaitingApproval", plannedDigest: DIGEST, plan });
  await report("leaving", { state: "Planning", plannedDigest: DIGEST });
  await report("ended", { state: "Failed" });
  await report("unnamed", { state: "Planning", plannedDigest: DIGEST });
  await report("anew", { ...planned, plan: { ...plan, recreate: ["Deployment.apps/shop/api"] } });
  await report("pruning", { ...planned, plan: { ...plan, prune: 1 } });
  await report("paused", { state: "Planning", plan });
  await write("paused", { spec: { pausedReason: "audit" } });
  const ofAccount = (namespace: string, name: string) => cluster.kubeconfigForServiceAccount(namespace, name);
  return {
    agent: await ofAccount(systemNamespace, "sallyport-agent"),
    operator: await ofAccount(systemNamespace, "sallyport-operator"),
    plan: await ofAccount(GRANTS, PLAN),
    unnamed: await ofAccount(GRANTS, UNNAMED),
    rollout: await ofAccount(GRANTS, ROLLOUT_RUN),
    approver: cluster.kubeconfigFor({ user: APPROVER }),
    oncall: cluster.kubeconfigFor({ user: ONCALL }),
    mutator: cluster.kubeconfigFor({ user: MUTATOR }),
    stranger: cluster.kubeconfigFor({ user: STRANGER }),
    admin: cluster.adminKubeconfig,
  };
}

export const RELEASE_STAMPS: readonly Stamp<Who>[] = [
  {
    ...{ policy: "sallyport-stamp-rollout-approver", as: "approver", field: "approvedBy", person: APPROVER },
    args: say("waiting", { approvedDigest: DIGEST }),
  },
  {
    ...{ policy: "sallyport-stamp-rollout-denier", as: "oncall", field: "deniedBy", person: ONCALL },
    args: say("denied", { deniedReason: "no" }),
  },
  {
    ...{ policy: "sallyport-stamp-rollout-aborter", as: "oncall", field: "abortedBy", person: ONCALL },
    args: say("waiting", { abortReason: "peak" }),
  },
];
