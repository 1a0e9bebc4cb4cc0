import { expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES, EXPIRES_AT_ANNOTATION, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import { lentBinding } from "../../../src/crds/kinds/lending.ts";
import { openCluster } from "../../../src/crds/manifests/installation.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { allowed } from "./kubectl-results.ts";
import { OperatorWorld } from "./operator-world.ts";

// The operator was killed after it had lent a cordon; before it starts again, the grant goes and the policy is closed.

const GONE = "0badcafe-0000-4000-8000-000000000001";
const cluster = useCluster({ controllers: true, holds: INSTALLED });

test("what was lent in the whole cluster is removed, although no policy opens it and no object names it any more", async () => {
  const world = await OperatorWorld.create(cluster(), DEFAULT_NAMES);
  await cluster().apply([...openCluster(DEFAULT_NAMES)]);
  const marks = {
    labels: { [GRANT_UID_LABEL]: GONE },
    annotations: { [EXPIRES_AT_ANNOTATION]: "2026-01-01T00:00:00Z" },
  };
  const cordon = { role: "sallyport-op-kubernetes-cordon-node", namespace: undefined };
  const binding = lentBinding(cordon, grantAccount(GONE), { grantsNamespace: GRANTS }, marks);
  const left = { ...binding, metadata: { ...binding.metadata, name: "left-over" } };
  const asOperator = { kubeconfig: world.operatorKubeconfig };
  await eventually(
    () => cluster().kubectl(["create", "-f", "-"], { ...asOperator, stdin: JSON.stringify(left) }),
    ({ code }) => code === 0,
  );
  allowed(await cluster().kubectl(["get", "clusterrolebinding", "left-over"], asOperator));
  const operator = world.start();
  try {
    const isThere = async (): Promise<boolean> =>
      (await world.admin.get(resources.clusterRoleBindings, { name: "left-over" }, signal())) !== undefined;
    expect(await eventually(isThere, (there) => !there)).toBe(false);
  } finally {
    await operator.stop();
    await world.close();
  }
});
