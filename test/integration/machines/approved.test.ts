import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { loadOperatorConfig } from "../../../src/operator/kernel/config.ts";
import { runOperator } from "../../../src/operator/operator.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import { PATIENT_LEASE, signal } from "../../world/wait.ts";
import { DrainWorld, reasonOf } from "./drain-world.ts";

const cluster = useCluster({ controllers: true, kwok: { nodes: 1 }, holds: INSTALLED });
let world: DrainWorld;
let controller: ReturnType<DrainWorld["start"]>;
const stop = new AbortController();
let operator: Promise<void>;

beforeAll(async () => {
  world = await DrainWorld.create(cluster());
  const pool = {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "MachinePool", metadata: { name: "fleet", namespace: GRANTS } },
    spec: { deploymentId: "dep_1", namePrefix: "node-" },
  };
  await cluster().apply([pool]);
  controller = world.start();
  const config = loadOperatorConfig({
    SALLYPORT_KUBECONFIG: await cluster().kubeconfigForServiceAccount(
      DEFAULT_NAMES.systemNamespace,
      "sallyport-operator",
    ),
    SALLYPORT_DEPLOYMENTS: "dep_1=shop",
    SALLYPORT_OPERATOR_MACHINES_ENABLED: "true",
    SALLYPORT_HEALTH_HOST: "127.0.0.1",
    SALLYPORT_HEALTH_PORT: "0",
    ...PATIENT_LEASE,
  });
  const tools = { clock: systemClock, log: silentLogger, registry: new Registry() };
  operator = runOperator(config, tools, stop.signal);
  operator.catch(() => undefined);
}, 600_000);
afterAll(async () => {
  stop.abort(new Error("test over"));
  await operator;
  await controller?.stop();
  await world?.close();
});

const rule = async (decision: string): Promise<void> => {
  const metadata = { name: "machines", namespace: GRANTS };
  const spec = { rules: [{ pattern: "machines/drain", decision }] };
  await cluster().apply([{ apiVersion: "sallyport.dev/v1alpha1", kind: "OperationPolicy", metadata, spec }]);
};

test("a wish waits until the customer accepts the deployment and a policy or a grant covers it; then it goes on", async () => {
  const requested = { deploymentId: "dep_1", machineId: "node-1", revision: 1 };
  const drain = await world.drain({ nodeName: "node-1", requested });
  await world.until(drain, (each) => reasonOf(each, "Approved") === "DeploymentNotAccepted");
  const object = {
    ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "ManagedDeployment" },
    metadata: { name: "dep-1", namespace: GRANTS },
    spec: { deploymentId: "dep_1", name: "fleet" },
  };
  await world.agent.create(managedDeployments, object, signal());
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
