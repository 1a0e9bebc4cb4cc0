import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { namespace } from "../../world/installation.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { MEMBER, ROLLOUT_RUN } from "../releases/released-objects.ts";
import { copied, left, secret, type Who } from "./secret-attacks.ts";

const { systemNamespace, agentAccount } = DEFAULT_NAMES;

/** Secrets of a release and one of the customer's. The agent and a rollout have every right; returns their credentials. */
export async function setSecretScene(cluster: Cluster): Promise<Record<Who, string>> {
  const group = "rbac.authorization.k8s.io";
  const roleRef = { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" };
  const subjects = [
    { kind: "ServiceAccount", name: agentAccount, namespace: systemNamespace },
    { kind: "ServiceAccount", name: ROLLOUT_RUN, namespace: GRANTS },
  ];
  await cluster.apply([
    namespace(SHOP),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ROLLOUT_RUN, namespace: GRANTS } },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "careless-secrets" },
      roleRef,
      subjects,
    },
    left(),
    copied(),
    secret("db-password", MEMBER, SHOP),
  ]);
  return {
    agent: await cluster.kubeconfigForServiceAccount(systemNamespace, agentAccount),
    rollout: await cluster.kubeconfigForServiceAccount(GRANTS, ROLLOUT_RUN),
  };
}
