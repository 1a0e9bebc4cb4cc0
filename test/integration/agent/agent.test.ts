import { renameSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { objectName } from "../../../src/crds/group.ts";
import { accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { type OperationInvocation, operationInvocations } from "../../../src/crds/kinds/operation-invocation.ts";
import { type DynamicObject, resources } from "../../../src/kube/objects/resource.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "./agent-world.ts";

const cluster = useCluster({ holds: INSTALLED });
let world: AgentWorld;
let agent: Running;
let operator: Running;

beforeAll(async () => {
  world = await createAgentWorld(cluster());
  operator = world.startOperator();
  agent = world.startAgent("agent-1");
});
afterAll(async () => {
  await agent?.stop();
  await operator?.stop();
  await world?.close();
});

const replicas = async (): Promise<number> =>
  (await world.admin.getScale(resources.deployments, { namespace: SHOP, name: "web" }, signal()))?.spec.replicas ?? -1;
const invoke = async () => {
  const body = {
    deploymentId: world.deploymentId,
    plugin: "kubernetes",
    operation: "get-pods",
    params: { namespace: SHOP },
  };
  const answer = await world.engineer.operations.invoke({ query: { project: world.projectId }, body }, signal());
  return String(answer.commandId);
};
const invocations = async (): Promise<OperationInvocation[]> => {
  const found: OperationInvocation[] = [];
  for await (const each of world.admin.list<OperationInvocation>(operationInvocations, { namespace: GRANTS }, signal()))
    found.push(each);
  return found;
};
/** Approvals answer 503 until the admission policies are loaded. */
const approve = (id: string, minutes = 30) =>
  eventually(
    () => world.decide(id, { approvedForMinutes: minutes }).catch(() => undefined),
    (grant) => grant.spec.approvedForMinutes === minutes,
  );

describe("the agent", () => {
  test("shows the deployment in the cluster and reports it as running, with its workload", async () => {
    const read = () => world.vendorAdmin.deployments.get({ params: { id: world.deploymentId } }, signal());
    const deployment = await eventually(
      read,
      ({ status, connectivity }) => status === "running" && connectivity === "online",
    );
    expect(deployment.operatorVersion).toBe("test");
    expect(deployment.capabilities).toContainEqual(expect.objectContaining({ key: "operations", state: "granted" }));
    const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
    const managed = await eventually(
      () => world.admin.get<ManagedDeployment>(managedDeployments, key, signal()),
      ({ status }) => status?.state === "Serving",
    );
    expect(managed.spec).toEqual({
      deploymentId: world.deploymentId,
      name: "customer-one",
      project: world.projectId,
    });
    expect(managed.status?.namespaces).toEqual([SHOP]);
    const rows = await eventually(
      () => world.platform.db.selectFrom("inventory_rows").selectAll().execute(),
      (list) => list.some(({ raw_identity }) => raw_identity === `apps/v1:Deployment:${SHOP}:web`),
    );
    const heartbeats = await world.platform.db.selectFrom("resource_heartbeats").selectAll().execute();
    expect(heartbeats).toMatchObject([{ resource_type: "container", resource_id: `deployment.${SHOP}.web` }]);
    expect(JSON.stringify([rows, heartbeats])).not.toContain("canary-7c1f");
  });

  test("tells the platform that it lives", async () => {
    const read = () => world.vendorAdmin.managers.get({ params: { id: world.managerId } }, signal());
    const manager = await eventually(read, ({ status }) => status === "healthy");
    expect(manager).toMatchObject({
      version: "test",
      setupStatus: "active",
      managementConfigs: { kubernetes: { platform: "kubernetes" } },
    });
  });

  test("runs what the customer's policy lets run by itself, and brings the result back", async () => {
    const command = await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    expect(command.result).toMatchObject({});
    const made = (await invocations()).filter(({ spec }) => spec.commandId === command.id);
    expect(made).toHaveLength(1);
    expect(made[0]?.spec).toMatchObject({
      plugin: "kubernetes",
      operation: "get-pods",
      tier: "read-only",
      params: { namespace: SHOP },
    });
  });

  test("carries a request from the engineer to the customer, the decision back, and the run there", async () => {
    const { id } = await world.ask(2);
    const shown = await world.request(id, ({ materialized }) => materialized !== null);
    expect(shown.materialized).toMatchObject({ namespace: GRANTS, resourcePlural: "accessgrants.sallyport.dev" });
    expect(await replicas()).toBe(1);
    await approve(id);
    const done = await world.request(id, ({ execution }) => execution.state === "succeeded");
    expect(done).toMatchObject({ status: "customer-approved", decision: { outcome: "approved", by: "alice" } });
    expect(await replicas()).toBe(2);
    const grant = await world.grant(id, ({ status }) => status?.state === "Completed");
    expect(grant.status?.commands).toMatchObject([
      { index: 0, state: "Succeeded", commandId: done.execution.commands[0]?.commandId },
    ]);
  });

  test("brings a denial back with its reason", async () => {
    const { id } = await world.ask(7);
    await world.grant(id, () => true);
    await world.decide(id, { deniedReason: "not this week" });
    const request = await world.request(id, ({ status }) => status === "rejected");
    expect(request.decision).toMatchObject({ outcome: "denied", reason: "not this week", by: "alice" });
  });

  test("takes a deleted grant for a denial, and does not make it again", async () => {
    const { id } = await world.ask(7);
    await world.request(id, ({ materialized }) => materialized !== null);
    await world.admin.delete(accessGrants, { namespace: GRANTS, name: objectName(id) }, {}, signal());
    const request = await world.request(id, ({ status }) => status === "rejected");
    expect(request.decision).toMatchObject({ outcome: "denied", reason: "the grant was deleted in the cluster" });
    expect(await world.admin.get(accessGrants, { namespace: GRANTS, name: objectName(id) }, signal())).toBeUndefined();
  });

  test("refuses a request whose text the customer could misread, and says why", async () => {
    const path = "/v1/access-requests/pending";
    world.gate.lies.set(path, (answer) => {
      const { requests, ...rest } = answer as { requests: object[] };
      return { ...rest, requests: requests.map((each) => ({ ...each, title: "ok\u202e" })) };
    });
    const { id } = await world.ask(7);
    const request = await world.request(id, ({ status }) => status === "rejected");
    world.gate.lies.delete(path);
    expect(request.decision).toMatchObject({ outcome: "denied", by: "sallyport-agent", identity: "unknown" });
    expect(request.decision?.reason).toContain("title: a character that cannot be shown");
  });

  test("goes on with what it knows while the platform is away, and reports when it is back", async () => {
    const { id } = await world.ask(3);
    await world.request(id, ({ materialized }) => materialized !== null);
    world.gate.set("down");
    await approve(id);
    await world.grant(id, ({ status }) => status?.state === "Approved");
    world.gate.set("open");
    await world.request(id, ({ execution }) => execution.state === "succeeded");
    expect(await replicas()).toBe(3);
  });

  test("does not tell of a promoted release that it runs, but that nothing installs it", async () => {
    const stack = { id: "shop", resources: {} };
    const body = { project: world.projectId, version: "1.4.0", stack: { kubernetes: stack } };
    const release = await world.vendorAdmin.releases.create({ body }, signal());
    const deployment = await eventually(
      () => world.vendorAdmin.deployments.get({ params: { id: world.deploymentId } }, signal()),
      ({ error }) => error !== null,
    );
    expect(deployment).toMatchObject({
      status: "update-pending",
      ...{ currentReleaseId: null, desiredReleaseId: release.id },
      error: { code: "RUNNER_DISABLED", message: expect.stringContaining(release.id) },
    });
    expect(deployment.capabilities).toContainEqual(expect.objectContaining({ key: "releases", state: "unavailable" }));
  });

  test("polls a platform that has no work feed", async () => {
    await agent.stop();
    world.gate.set("no-feed");
    agent = world.startAgent("agent-polling", { SALLYPORT_POLL_INTERVAL: "500ms" });
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    world.gate.set("open");
    await agent.stop();
    agent = world.startAgent("agent-2");
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
  });

  test("takes up a new runtime key without a restart when the old one is revoked", async () => {
    const scope = { type: "manager" as const, managerId: world.managerId, role: "manager.runtime" as const };
    const minted = await world.vendorAdmin.apiKeys.create({ body: { description: "rotated", scope } }, signal());
    const list = await world.vendorAdmin.apiKeys.list({ query: { limit: 100 } }, signal());
    writeFileSync(`${world.keyFile}.new`, `${minted.apiKey}\n`);
    renameSync(`${world.keyFile}.new`, world.keyFile);
    const old = list.items.find((key) => key.description === "runtime key of customer-one");
    await world.vendorAdmin.apiKeys.revoke({ params: { id: old?.id ?? "" } }, signal());
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    expect(await agent.registry.metrics()).toContain('sallyport_runtime_key_reloads_total{result="changed"} 2');
  });

  test("of two one acts, and the other takes over when it ends", async () => {
    const second = world.startAgent("agent-3");
    const before = world.gate.passed.filter((line) => line.endsWith("/dispatch")).length;
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
    expect(world.gate.passed.filter((line) => line.endsWith("/dispatch")).length - before).toBe(1);
    const attempts = (await second.registry.getMetricsAsJSON()).find(
      ({ name }) => name === "sallyport_heartbeats_total",
    );
    expect(attempts?.values.reduce((sum, { value }) => sum + value, 0)).toBe(0);
    await agent.stop();
    agent = second;
    await world.command(await invoke(), ({ state }) => state === "SUCCEEDED");
  });

  test("lets no key into a log line, a metric, an event or a custom resource", async () => {
    const seen = [...world.logged, await agent.registry.metrics()];
    for (const resource of [accessGrants, operationInvocations, managedDeployments, resources.events]) {
      for await (const object of world.admin.list<DynamicObject>(resource, { namespace: GRANTS }, signal()))
        seen.push(JSON.stringify(object));
    }
    expect(world.logged.length).toBeGreaterThan(50);
    const text = seen.join("\n");
    expect(text).not.toContain(world.runtimeKey);
    expect(text).not.toMatch(/sp_[wpdgm]_[0-9a-z]{12}_[0-9A-Za-z]{8}/);
  });
});
