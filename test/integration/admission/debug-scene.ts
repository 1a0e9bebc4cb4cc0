import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { SHOP, SYSTEM } from "../../world/people.ts";
import { askSession, DEBUG_NAMESPACE, ONCALL, openToDebug, setStatus } from "../debug/debug-world.ts";
import type { OperatorWorld } from "../operator/operator-world.ts";
import { ACCOUNT, account, hours, OPEN, PENDING, type Who } from "./debug-writes.ts";

/** One session is open, one waits. Each account of a session has every right. Returns the credentials of everybody. */
export async function setDebugScene(cluster: Cluster, world: OperatorWorld): Promise<Record<Who, string>> {
  await openToDebug(cluster);
  const rights = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
  const all = {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "Group",
    name: `system:serviceaccounts:${DEBUG_NAMESPACE}`,
  };
  await cluster.apply([
    account(ACCOUNT) as Record<string, unknown>,
    account("other") as Record<string, unknown>,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "careless" },
      roleRef: rights,
      subjects: [all],
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pod", namespace: SHOP },
      spec: { containers: [{ name: "main", image: "example.com/main:1", stdin: true }] },
    },
  ]);
  const open = await askSession(world, { sessionId: OPEN });
  await askSession(world, { sessionId: PENDING });
  const openedAt = new Date().toISOString();
  await setStatus(world, open, { state: "Open", openedAt, until: hours(0.5), account: ACCOUNT });
  return {
    operator: world.operatorKubeconfig,
    agent: await cluster.kubeconfigForServiceAccount(SYSTEM, "sallyport-agent"),
    tunnel: await cluster.kubeconfigForServiceAccount(SYSTEM, "sallyport-tunnel"),
    session: await cluster.kubeconfigForServiceAccount(DEBUG_NAMESPACE, ACCOUNT),
    oncall: cluster.kubeconfigFor({ user: ONCALL }),
  };
}
