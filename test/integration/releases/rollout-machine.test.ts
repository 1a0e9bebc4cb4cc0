import type { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { contentDigest } from "../../../src/crds/content-digest.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { type ReleaseObject, releaseContents } from "../../../src/crds/kinds/release-content.ts";
import { type Rollout, type RolloutAction, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { installation, openReleases } from "../../../src/crds/manifests/installation.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import type { RolloutHands } from "../../../src/operator/rollouts/hands/hands.ts";
import { line, ReleaseCluster } from "../../../src/operator/testing/release-cluster.ts";
import { namespace } from "../../world/installation.ts";
import { accept, condition, ours } from "../../world/objects.ts";
import { GRANTS, People, SYSTEM } from "../../world/people.ts";
import { startOperator } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { configMap, deployment, member, useHands } from "./hands-world.ts";

// The operator's own statuses against the kinds' rules on a real API server, and once a whole release on real objects.

const DEPLOYMENT_ID = "dep_1";
const cluster = useCluster({ controllers: true, kwok: { nodes: 1 } });
const world = useHands(cluster);
let people: People;
let admin: Client;

beforeAll(async () => {
  await cluster().apply([namespace(SYSTEM), ...installation().crds, ...openReleases()]);
  people = new People(cluster());
  admin = await people.admin();
  await eventually(
    () =>
      admin
        .create(managedDeployments, ours("ManagedDeployment", DEPLOYMENT_ID, managed()), signal())
        .catch(() => undefined),
    () => true,
  );
});
afterAll(() => people?.close());

const managed = () => ({ deploymentId: DEPLOYMENT_ID, name: "shop" });

/** Runs until the test is over. */
async function withOperator<T>(hands: RolloutHands | undefined, test: (registry: Registry) => Promise<T>): Promise<T> {
  const env = { SALLYPORT_RELEASES_ENABLED: "true", SALLYPORT_SWEEP_INTERVAL: "2s" };
  const tools = hands && { rolloutHands: hands };
  const operator = startOperator({ SALLYPORT_KUBECONFIG: cluster().adminKubeconfig, ...env }, tools);
  try {
    return await test(operator.registry);
  } finally {
    await operator.stop();
  }
}

async function ask(name: string, action: RolloutAction, objects: readonly ReleaseObject[] = []): Promise<string> {
  const wish = { rolloutId: name, deploymentId: DEPLOYMENT_ID, action, requestedAt: new Date().toISOString() };
  const deadline = new Date(Date.now() + 3_600_000).toISOString();
  if (objects.length === 0) {
    await admin.create(rollouts, ours("Rollout", name, { ...wish, deadline }), signal());
    return name;
  }
  const digest = contentDigest(objects);
  const spec = { deploymentId: DEPLOYMENT_ID, version: name, digest, configHash: "c".repeat(64), objects };
  await admin.create(releaseContents, ours("ReleaseContent", `rel-${name}`, spec), signal());
  const content = { contentName: `rel-${name}`, contentDigest: digest };
  await admin.create(rollouts, ours("Rollout", name, { ...wish, deadline, ...content }), signal());
  return name;
}

const read = (name: string): Promise<Rollout | undefined> =>
  admin.get<Rollout>(rollouts, { namespace: GRANTS, name }, signal());

async function inState(name: string, state: string): Promise<Rollout> {
  const seen = await eventually(
    () => read(name),
    ({ status }) => status?.state === state || status?.finishedAt !== undefined,
  );
  expect(seen.status).toMatchObject({ state });
  return seen;
}

/** With the very line that the status shows. */
async function approve(name: string): Promise<void> {
  const { status } = await inState(name, "AwaitingApproval");
  const [, ...words] = (status?.approvalLine ?? "").split(" ");
  const { stderr } = await cluster().kubectl(words.map((word) => word.replace(/^'(.*)'$/, "$1")));
  expect(stderr).toBe("");
}

test("a deployment's life: installed, updated, rolled back, denied, deleted; each status passes the kind's rules", async () => {
  const there = new ReleaseCluster();
  const states: string[] = [];
  const hands: RolloutHands = {
    plan: async (intent) => there.plan(intent),
    apply: async (intent, wave) => there.apply(intent, wave, false),
    health: async (intent, wave) => {
      states.push(`${intent.rollout.metadata.name} ${intent.rollout.status?.state} ${intent.rollout.status?.waveOf}`);
      const { uid } = intent.rollout.metadata;
      return { ...there.health(`${uid} ${intent.rollout.status?.state}`, intent, wave), againMs: 50 };
    },
    prune: async (intent) => there.prune(intent, false),
    leftBehind: async () => ({ left: [], unsearched: [] }),
    detach: async ({ former }) => there.detach(former),
    close: async () => undefined,
  };
  await accept(admin, DEPLOYMENT_ID, "shop");
  await withOperator(hands, async (registry) => {
    await ask("life-1", "install", [line("db", { frozen: true }), line("api", { wave: 1 }), line("old", { wave: 1 })]);
    await approve("life-1");
    const first = await inState("life-1", "Succeeded");
    // Compared comes as soon as the drift controller has looked, which may be before or after this test does.
    const conditions = first.status?.conditions?.filter(({ type }) => type !== "Compared") ?? [];
    expect(conditions.map(({ type, status, reason }) => `${type} ${status}/${reason}`).sort()).toEqual([
      ...["Applied True/AllApplied", "Approved True/ApprovedByCustomer", "Healthy True/AllHealthy"],
      ...["Overridden False/NoOverrides", "Permitted True/RightsComplete", "Planned True/PlanMade"],
      "Pruned True/NothingLeft",
    ]);
    expect(first.status).not.toHaveProperty("approvalLine");
    await ask("life-2", "update", [line("api", { wave: 1, version: "2" })]);
    await approve("life-2");
    await inState("life-2", "Succeeded");
    // The object of the setup is of the former content alone: it is kept, and told.
    expect(condition((await read("life-2")) ?? {}, "Pruned")).toBe("False/SomeLeft");
    expect(there.installed).toEqual(["api=2", "db=1"]);
    await ask("life-3", "update", [line("api", { version: "3" }), line("web", { wave: 1, is: "unhealthy" })]);
    await approve("life-3");
    const third = await inState("life-3", "RolledBack");
    expect(third.status).toMatchObject({ rolledBackTo: "rel-life-2", formerContent: "rel-life-2" });
    expect(there.installed).toEqual(["api=2", "db=1"]);
    await ask("life-4", "update", [line("api", { version: "4" })]);
    await inState("life-4", "AwaitingApproval");
    const no = { type: "merge", body: { spec: { deniedReason: "not this week" } } } as const;
    await admin.patch(rollouts, { namespace: GRANTS, name: "life-4" }, no, {}, signal());
    await inState("life-4", "Denied");
    await ask("life-5", "delete");
    await approve("life-5");
    await inState("life-5", "Succeeded");
    expect(there.installed).toEqual(["db=1"]);
    expect(await registry.metrics()).toContain('sallyport_rollouts_total{action="update",result="RolledBack"} 1');
    // Counted from the operator's cache, which may be behind what this test reads.
    await eventually(
      () => registry.metrics(),
      (metrics) => metrics.includes('sallyport_rollouts{state="Succeeded"} 3'),
    );
  });
  expect(states).toContain("life-3 RollingBack 1/1");
}, 240_000);

test("an update that lacks an object is no way around a denied deletion", async () => {
  const shop = await world.namespace();
  await accept(admin, DEPLOYMENT_ID, shop);
  const decide = (rules: readonly object[]) => cluster().apply([ours("OperationPolicy", "default", { rules })]);
  const updates = { pattern: "release/update", decision: "auto" };
  const [kept, lacked] = ["kept", "lacked"].map((name) => member(configMap(shop, name, {})));
  if (kept === undefined || lacked === undefined) throw new Error("no objects");
  await withOperator(undefined, async () => {
    await ask("lack-1", "install", [kept, lacked]);
    await approve("lack-1");
    await inState("lack-1", "Succeeded");
    await decide([updates, { pattern: "release/delete", decision: "deny" }]);
    await ask("lack-2", "update", [kept]);
    expect(condition(await inState("lack-2", "Denied"), "Approved")).toBe("False/PolicyDenied");
    await decide([updates]);
    await ask("lack-3", "update", [kept]);
    expect(condition(await inState("lack-3", "AwaitingApproval"), "Approved")).toBe("Unknown/AwaitingDecision");
    expect(await world.read(configMap(shop, "lacked", {}))).toBeDefined();
    await approve("lack-3");
    await inState("lack-3", "Succeeded");
    expect(await world.read(configMap(shop, "lacked", {}))).toBeUndefined();
    await ask("lack-4", "update", [member(configMap(shop, "kept", { a: "1" }))]);
    await inState("lack-4", "Succeeded");
    await admin.delete(operationPolicies, { namespace: GRANTS, name: "default" }, {}, signal());
    await ask("lack-5", "delete");
    await approve("lack-5");
    await inState("lack-5", "Succeeded");
  });
}, 240_000);

test("on real objects: installed, and an update whose image cannot be pulled is taken back while the old pods stay", async () => {
  const shop = await world.namespace();
  await accept(admin, DEPLOYMENT_ID, shop);
  const api = (image: string, more: object = {}) =>
    deployment(shop, "api", { image: `registry.example/app:${image}`, ...more });
  await withOperator(undefined, async () => {
    const settings = member(configMap(shop, "settings", { a: "1" }));
    await ask("real-1", "install", [settings, member(api("1"), { wave: 1 })]);
    await approve("real-1");
    await inState("real-1", "Succeeded");
    const [before] = await world.pods(shop);
    const bad = member(api("2", { nodeSelector: { "example.com/nowhere": "yes" } }), { wave: 1 });
    await ask("real-2", "update", [
      member(configMap(shop, "settings", { a: "2" })),
      bad,
      member(configMap(shop, "new", {})),
    ]);
    await approve("real-2");
    await eventually(
      () => read("real-2"),
      ({ status }) => status?.waveOf === "2/2" && status.state === "Gating",
    );
    const [pod] = await eventually(
      async () => (await world.pods(shop)).filter(({ metadata }) => metadata.uid !== before?.metadata.uid),
      (found) => found.length > 0,
    );
    const since = new Date(Date.now() - 180_000).toISOString();
    const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling image registry.example/app:2" };
    const container = { name: "c", image: "registry.example/app:2", imageID: "", ready: false, restartCount: 0 };
    const status = {
      phase: "Pending",
      conditions: [{ type: "Ready", status: "False", lastTransitionTime: since }],
      containerStatuses: [{ ...container, state: { waiting } }],
    };
    const merge = "application/merge-patch+json";
    await world.send("PATCH", `/api/v1/namespaces/${shop}/pods/${pod?.metadata.name}/status`, { status }, merge);
    // It is on no node, where a simulated one would run it; and two minutes are not waited for here.
    const path = `/apis/sallyport.dev/v1alpha1/namespaces/${GRANTS}/rollouts/real-2/status`;
    await world.send("PATCH", path, { status: { waveStartedAt: since.replace(/\.\d+Z$/, "Z") } }, merge);
    const taken = await inState("real-2", "RolledBack");
    expect(condition(taken, "Applied")).toBe("False/GateFailed");
    const message = taken.status?.conditions?.find(({ type }) => type === "Applied")?.message;
    expect(message).toContain("ImagePullBackOff");
    expect(await world.read(configMap(shop, "settings", {}))).toMatchObject({ data: { a: "1" } });
    expect(await world.read(configMap(shop, "new", {}))).toBeUndefined();
    const live = await world.read(api("1"));
    expect(live?.spec?.template?.spec.containers[0]?.image).toBe("registry.example/app:1");
    expect((await world.pods(shop)).map(({ metadata }) => metadata.uid)).toContain(before?.metadata.uid);
    const nothing = { objects: [], former: [], installed: [], formerRef: undefined, done: [], takeOver: [] };
    const intent = { rollout: taken, ...nothing, namespaces: [shop] };
    expect(await world.lent(intent, shop)).toEqual([]);
  });
}, 240_000);
