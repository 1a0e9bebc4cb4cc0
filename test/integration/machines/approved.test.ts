import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { INSTALLED } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { SYSTEM } from "../../world/people.ts";
import { type Running, startOperator } from "../../world/processes.ts";
import { signal } from "../../world/wait.ts";
import { DrainWorld, reasonOf } from "./drain-world.ts";

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 }, holds: INSTALLED });
let world: DrainWorld;
let controller: Running;
let operator: Running;

beforeAll(async () => {
  world = await DrainWorld.create(cluster());
  await cluster().apply([ours("MachinePool", "fleet", { deploymentId: "dep_1", namePrefix: "node-" })]);
  controller = world.start();
  operator = startOperator({
    SALLYPORT_KUBECONFIG: await cluster().kubeconfigForServiceAccount(SYSTEM, DEFAULT_NAMES.operatorAccount),
    SALLYPORT_DEPLOYMENTS: "dep_1=shop",
    SALLYPORT_OPERATOR_MACHINES_ENABLED: "true",
  });
}, 600_000);
afterAll(async () => {
  await operator?.stop();
  await controller?.stop();
  await world?.close();
});

const rule = async (decision: string): Promise<void> => {
  const rules = [{ pattern: "machines/drain", decision }];
  await cluster().apply([ours("OperationPolicy", "machines", { rules })]);
};

test("a wish waits until the customer accepts the deployment and a policy or a grant covers it; then it goes on", async () => {
  const requested = { deploymentId: "dep_1", machineId: "node-1", revision: 1 };
  const drain = await world.drain({ nodeName: "node-1", requested });
  await world.until(drain, (each) => reasonOf(each, "Approved") === "DeploymentNotAccepted");
  const managed = ours("ManagedDeployment", "dep_1", { deploymentId: "dep_1", name: "fleet" });
  await world.agent.create(managedDeployments, managed, signal());
  await world.until(drain, (each) => reasonOf(each, "Approved") === "NoGrant");
  // The machine controller says it in its own turn.
  await world.until(drain, (each) => reasonOf(each, "Progressing") === "AwaitingApproval");
  expect((await world.node("node-1"))?.spec.unschedulable).toBeUndefined();
  await rule("deny");
  await world.until(drain, (each) => reasonOf(each, "Approved") === "PolicyDenied");
  await rule("auto");
  const drained = await world.drained(drain);
  expect(reasonOf(drained, "Approved")).toBe("PolicyAuto");
  expect((await world.node("node-1"))?.spec.unschedulable).toBe(true);
  // A rule about drains lets nothing be removed.
  const removal = await world.drain({ nodeName: "node-1", requested: { ...requested, revision: 2, remove: true } });
  await world.until(removal, (each) => reasonOf(each, "Approved") === "NoGrant");
  expect(await world.node("node-1")).toBeDefined();
});
