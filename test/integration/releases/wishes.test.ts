import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sentFields } from "../../../scripts/generate/egress/egress.ts";
import { AGENT_ROUTES } from "../../../src/agent/platform-link/routes.ts";
import type { Render } from "../../../src/agent/releases/render/render-stack.ts";
import type { DeploymentConfig } from "../../../src/contract/deployments/sync.ts";
import { contentDigest } from "../../../src/crds/content-digest.ts";
import { DEFAULT_NAMES, objectName } from "../../../src/crds/group.ts";
import { customResourceDefinition } from "../../../src/crds/kinds/kind.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { RELEASE_CONTENT, type ReleaseContent, releaseContents } from "../../../src/crds/kinds/release-content.ts";
import { ROLLOUT, type Rollout, type RolloutStatus, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { CapturedFields, covers } from "../egress/captured.ts";
import { RELEASE_FIELDS } from "../egress/release-fields.ts";

// The agent's half of a release on a real platform and a real API server. The test is the operator: it writes the status of
// rollouts. Their objects are never applied, so a stand-in makes them.

const cluster = useCluster({ holds: INSTALLED });
const captured = new CapturedFields(AGENT_ROUTES);
let world: AgentWorld;
let agent: Running;

/** One ConfigMap for each resource of the stack; a resource `bad` cannot be made. */
const render: Render = ({ stack, config, deploymentId, releaseId }) => {
  const resources = Object.keys((stack as { resources: object }).resources);
  if (resources.includes("bad")) {
    return {
      ok: false,
      problems: [{ path: "resources.bad", message: "cannot be made", code: "UNSUPPORTED_RESOURCE" }],
    };
  }
  const labels = { "sallyport.dev/deployment-id": deploymentId, "sallyport.dev/release-id": releaseId };
  const objects = resources.map((name) => ({
    ...{ wave: 0, frozen: false, resourceId: name },
    manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels } },
  }));
  const configHash = createHash("sha256")
    .update((config as DeploymentConfig).environmentVariables.hash)
    .digest("hex");
  return { ok: true, objects, configHash };
};

const ON = { SALLYPORT_RELEASES_ENABLED: "true" };

beforeAll(async () => {
  world = await createAgentWorld(cluster());
  world.gate.onHeard = captured.add;
  const { systemNamespace, agentAccount } = DEFAULT_NAMES;
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: `${agentAccount}-releases`, namespace: GRANTS };
  const verbs = ["create", "get", "list", "watch"];
  await cluster().apply([
    customResourceDefinition(ROLLOUT),
    customResourceDefinition(RELEASE_CONTENT),
    {
      ...{ apiVersion: `${group}/v1`, kind: "Role", metadata },
      rules: [{ apiGroups: ["sallyport.dev"], resources: ["rollouts", "releasecontents"], verbs }],
    },
    {
      ...{ apiVersion: `${group}/v1`, kind: "RoleBinding", metadata },
      roleRef: { apiGroup: group, kind: "Role", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", name: agentAccount, namespace: systemNamespace }],
    },
  ]);
  agent = world.startAgent("agent-1", ON, render);
  await deployment(({ status }) => status === "running");
});
afterAll(async () => {
  await agent?.stop();
  await world?.close();
});

type Deployment = Awaited<ReturnType<AgentWorld["vendorAdmin"]["deployments"]["get"]>>;

function deployment(until: (found: Deployment) => boolean): Promise<Deployment> {
  return eventually(() => world.vendorAdmin.deployments.get({ params: { id: world.deploymentId } }, signal()), until);
}

const stackOf = (...ids: readonly string[]) => {
  const resource = (id: string) => ({
    ...{ dependencies: [], lifecycle: "live" as const },
    config: { id, type: "container" as const, image: "registry.example.com/web:1" },
  });
  return { kubernetes: { id: "shop", resources: Object.fromEntries(ids.map((id) => [id, resource(id)])) } };
};

async function promoted(version: string, ...ids: readonly string[]): Promise<string> {
  const { projectId: project, vendorAdmin } = world;
  const { id } = await vendorAdmin.releases.create({ body: { project, version, stack: stackOf(...ids) } }, signal());
  await vendorAdmin.releaseChannels.promote(
    { params: { name: "production" }, query: { project }, body: { releaseId: id } },
    signal(),
  );
  return id;
}

async function all<T>(resource: typeof rollouts): Promise<T[]> {
  const found: T[] = [];
  for await (const each of world.admin.list(resource, { namespace: GRANTS }, signal())) found.push(each as T);
  return found;
}

async function contentOf(rollout: Rollout): Promise<ReleaseContent> {
  const name = rollout.spec.contentName ?? "";
  const found = await world.admin.get<ReleaseContent>(releaseContents, { namespace: GRANTS, name }, signal());
  if (found === undefined) throw new Error(`there is no content ${name}`);
  return found;
}

/** The one rollout whose content is of this release and that goes on. */
function rolloutOf(releaseId: string, attempt = /[^-].$|/): Promise<Rollout> {
  const isIt = ({ spec, status }: Rollout) =>
    spec.contentName?.startsWith(objectName(releaseId)) &&
    status?.finishedAt === undefined &&
    attempt.test(spec.rolloutId);
  return eventually(
    async () => (await all<Rollout>(rollouts)).find(isIt),
    () => true,
  );
}

async function report({ metadata: { name } }: Rollout, status: RolloutStatus): Promise<void> {
  const body = { status };
  await world.admin.patch(
    rollouts,
    { namespace: GRANTS, name },
    { type: "merge", body },
    { subresource: "status" },
    signal(),
  );
}

const AT = "2026-01-01T12:00:00Z";
let starts = 0;
/** One runs at a time: what has begun last is what is installed. */
function runs(): Pick<RolloutStatus, "startedAt" | "until"> {
  starts += 1;
  return { startedAt: new Date(Date.parse(AT) + starts * 1_000).toISOString(), until: "2026-01-01T13:00:00Z" };
}
const PLANNED = `sha256:${"c".repeat(64)}`;
const plan = { create: 1, change: 0, prune: 0, unchanged: 0 };
const resource = (resourceId: string, state: "running" | "failed", message = "") => ({
  ...{ resourceId, state, message },
  health: state === "running" ? ("healthy" as const) : ("unhealthy" as const),
});

/** What the operator does, from the plan on, with the customer's yes. */
async function carriedOut(rollout: Rollout, ...ids: readonly string[]): Promise<void> {
  await report(rollout, { state: "Planning" });
  await report(rollout, { state: "Queued", plan, plannedDigest: PLANNED });
  await report(rollout, { state: "Applying", ...runs(), wave: 0, waves: 1 });
  await report(rollout, { state: "Pruning" });
  const resources = ids.map((id) => resource(id, "running"));
  await report(rollout, { state: "Succeeded", finishedAt: AT, resources });
}

const errorOf = ({ error }: Deployment): string | undefined => error?.code;

test("a promoted release becomes a content and a rollout, waits for the customer, and runs", async () => {
  const capabilities = (await deployment(() => true)).capabilities ?? [];
  expect(capabilities).toContainEqual({ key: "releases", state: "granted" });
  const releaseId = await promoted("1.0.0", "web");
  const rollout = await rolloutOf(releaseId);
  const { updateState } = await deployment(() => true);
  expect(rollout.spec).toMatchObject({ rolloutId: updateState?.active?.id, action: "install" });
  const content = await contentOf(rollout);
  expect(content.spec).toMatchObject({ deploymentId: world.deploymentId, releaseId, version: "1.0.0" });
  expect(content.spec.digest).toBe(contentDigest(content.spec.objects));
  expect(rollout.spec.contentDigest).toBe(content.spec.digest);

  await report(rollout, { state: "Planning" });
  await report(rollout, { state: "AwaitingApproval", plan, plannedDigest: PLANNED });
  const waiting = await deployment((found) => errorOf(found) === "APPROVAL_PENDING");
  expect(waiting.status).toBe("update-pending");
  await report(rollout, { state: "Queued" });
  await report(rollout, { state: "Applying", ...runs(), wave: 0, waves: 1 });
  await deployment(({ status, error }) => status === "updating" && error === null);
  await report(rollout, { state: "Pruning", resources: [resource("web", "running")] });
  await report(rollout, { state: "Succeeded", finishedAt: AT });
  const done = await deployment(({ status }) => status === "running");
  expect(done).toMatchObject({ currentReleaseId: releaseId, desiredReleaseId: null, error: null });
  expect(done.stackState?.resources).toMatchObject({ web: { type: "container", status: "running" } });
  const { items } = await world.vendorAdmin.releases.deployments({ params: { id: releaseId }, query: {} }, signal());
  expect(items).toMatchObject([{ rolloutState: "updated" }]);
});

test("an agent that is started anew in the middle makes no second rollout, and goes on with the first", async () => {
  const releaseId = await promoted("1.1.0", "web");
  const rollout = await rolloutOf(releaseId);
  await report(rollout, { state: "Planning" });
  await report(rollout, { state: "AwaitingApproval", plan, plannedDigest: PLANNED });
  await deployment((found) => errorOf(found) === "APPROVAL_PENDING");
  await agent.stop();
  await report(rollout, { state: "Queued" });
  await report(rollout, { state: "Applying", ...runs(), wave: 0, waves: 1 });
  agent = world.startAgent("agent-2", ON, render);
  await deployment(({ status }) => status === "updating");
  await report(rollout, { state: "Pruning" });
  await report(rollout, { state: "Succeeded", finishedAt: AT });
  await deployment(({ status, currentReleaseId }) => status === "running" && currentReleaseId === releaseId);
  const made = (await all<Rollout>(rollouts)).filter(({ spec }) => spec.contentName === rollout.spec.contentName);
  expect(made).toHaveLength(1);
  expect(made[0]?.spec.action).toBe("update");
});

test("what others change of an installed release is told until it is gone, or until it is installed again", async () => {
  const { currentReleaseId } = await deployment(({ status }) => status === "running");
  const name = objectName(currentReleaseId ?? "");
  const installed = (await all<Rollout>(rollouts)).find(({ spec }) => spec.contentName?.startsWith(name));
  if (installed === undefined) throw new Error("nothing is installed");
  const drift = [{ ref: "ConfigMap/shop/web", field: ".data.a", manager: "their-editor" }];
  await report(installed, { drift });
  const degraded = await deployment(({ status }) => status === "refresh-failed");
  expect(degraded).toMatchObject({ currentReleaseId, desiredReleaseId: null });
  expect(degraded.error).toMatchObject({
    code: "RESOURCE_DRIFT",
    context: {
      objects: 1,
      missing: 0,
      drift: [{ object: "ConfigMap/shop/web", field: ".data.a", manager: "their-editor" }],
    },
  });
  const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
  const shown = await eventually(
    () => world.admin.get<ManagedDeployment>(managedDeployments, key, signal()),
    (found) => found?.status?.release?.drift !== undefined,
  );
  expect(shown?.status?.release).toMatchObject({
    ...{ id: currentReleaseId, version: "1.1.0", rollout: installed.metadata.name },
    drift: ["ConfigMap/shop/web .data.a is their-editor's"],
  });
  await report(installed, { drift: null } as unknown as RolloutStatus);
  await deployment(({ status, error }) => status === "running" && error === null);

  await report(installed, { drift: [{ ref: "ConfigMap/shop/web" }] });
  await deployment(
    ({ status, error }) => status === "refresh-failed" && error?.message.endsWith("is missing") === true,
  );
  await world.vendorAdmin.deployments.redeploy({ params: { id: world.deploymentId } }, signal());
  const again = await rolloutOf(currentReleaseId ?? "");
  expect(again.spec.contentName).toBe(installed.spec.contentName);
  await carriedOut(again, "web");
  await deployment(({ status, error }) => status === "running" && error === null);
});

test("one that was rolled back fails with what ran before, and is tried again as another rollout", async () => {
  const before = await deployment(() => true);
  const releaseId = await promoted("1.2.0", "web", "jobs");
  const rollout = await rolloutOf(releaseId);
  await report(rollout, { state: "Planning" });
  await report(rollout, { state: "Queued", plan, plannedDigest: PLANNED });
  await report(rollout, { state: "Applying", ...runs(), wave: 0, waves: 2 });
  // Its failure is told as the end of work that was told.
  await deployment(({ status }) => status === "updating");
  await report(rollout, { state: "RollingBack", resources: [resource("web", "failed", "image cannot be pulled")] });
  const conditions = [
    {
      type: "Healthy",
      status: "False" as const,
      reason: "Stuck",
      message: "web: ImagePullBackOff",
      lastTransitionTime: AT,
    },
  ];
  await report(rollout, { state: "RolledBack", finishedAt: AT, rolledBackTo: "rel-before", conditions });
  const failed = await deployment(({ status }) => status === "update-failed");
  expect(failed).toMatchObject({ currentReleaseId: before.currentReleaseId, desiredReleaseId: releaseId });
  expect(failed.error).toMatchObject({
    code: "ROLLED_BACK",
    message: expect.stringContaining("ImagePullBackOff"),
    context: { from: rollout.spec.contentName, to: "rel-before" },
  });
  expect(failed.stackState?.resources).toMatchObject({ web: { status: "update-failed" } });

  await world.vendorAdmin.deployments.retry({ params: { id: world.deploymentId } }, signal());
  const again = await rolloutOf(releaseId, /-2$/);
  expect(again.spec.rolloutId).toBe(`${rollout.spec.rolloutId}-2`);
  expect(again.spec.contentName).toBe(rollout.spec.contentName);
  await carriedOut(again, "web", "jobs");
  await deployment(({ status, currentReleaseId }) => status === "running" && currentReleaseId === releaseId);
});

test("what the customer denies, and what cannot be made, fails with the reason", async () => {
  const denied = await rolloutOf(await promoted("1.3.0", "web"));
  await report(denied, { state: "Planning" });
  await report(denied, { state: "AwaitingApproval", plan, plannedDigest: PLANNED });
  const words = { spec: { deniedReason: "not this week" } };
  const key = { namespace: GRANTS, name: denied.metadata.name };
  await world.admin.patch(rollouts, key, { type: "merge", body: words }, {}, signal());
  await report(denied, { state: "Denied", finishedAt: AT });
  const found = await deployment(({ status }) => status === "update-failed");
  expect(found.error).toMatchObject({ code: "ROLLOUT_DENIED", message: "the customer said no: not this week" });
  const before = await all<Rollout>(rollouts);
  await promoted("1.4.0", "bad");
  const unmade = await deployment((each) => errorOf(each) === "PREFLIGHT_CHECKS_FAILED");
  expect(unmade.error?.message).toContain("resources.bad cannot be made");
  expect(await all<Rollout>(rollouts)).toHaveLength(before.length);
});

test("a release that is replaced before its end is no end of the one that replaces it", async () => {
  const first = await rolloutOf(await promoted("1.5.0", "web"));
  const second = await promoted("1.6.0", "web");
  await report(first, { state: "Planning" });
  await report(first, { state: "Superseded", finishedAt: AT });
  const rollout = await rolloutOf(second);
  expect((await deployment(() => true)).updateState?.active).toMatchObject({ id: rollout.spec.rolloutId });
  await carriedOut(rollout, "web");
  await deployment(({ status, currentReleaseId }) => status === "running" && currentReleaseId === second);
});

test("of two agents one makes the rollout, and another takes over when its lease has lapsed", async () => {
  const other = world.startAgent("agent-3", ON, render);
  try {
    const releaseId = await promoted("1.7.0", "web");
    const rollout = await rolloutOf(releaseId);
    await agent.stop();
    await carriedOut(rollout, "web");
    await deployment(({ status, currentReleaseId }) => status === "running" && currentReleaseId === releaseId);
    const made = (await all<Rollout>(rollouts)).filter(({ spec }) => spec.rolloutId === rollout.spec.rolloutId);
    expect(made).toHaveLength(1);
  } finally {
    agent = other;
  }
});

test("a deletion is a rollout of its own; what it leaves is for a person", async () => {
  await world.vendorAdmin.deployments.delete(
    { params: { id: world.deploymentId }, body: { action: "cleanup" } },
    signal(),
  );
  const isIt = ({ spec }: Rollout) => spec.action === "delete";
  const removal = await eventually(
    async () => (await all<Rollout>(rollouts)).find(isIt),
    () => true,
  );
  expect(removal.spec.contentName).toBeUndefined();
  await report(removal, { state: "Planning" });
  await report(removal, { state: "AwaitingApproval", plan: { ...plan, create: 0, prune: 1 }, plannedDigest: PLANNED });
  await deployment((found) => found.status === "delete-pending" && errorOf(found) === "APPROVAL_PENDING");
  await report(removal, { state: "Queued" });
  await report(removal, { state: "Applying", ...runs() });
  await deployment(({ status }) => status === "deleting");
  await report(removal, { state: "Pruning", resources: [resource("web", "running")] });
  const message = "1 stay: PersistentVolumeClaim/shop/data: a volume claim is never deleted";
  const left = { type: "Pruned", status: "False" as const, reason: "SomeLeft", message, lastTransitionTime: AT };
  await report(removal, { state: "Succeeded", finishedAt: AT, conditions: [left] });
  const ended = await deployment(({ status }) => status === "teardown-required");
  expect(ended.error?.message).toContain(message);
});

// The last: it looks at what all of the above have sent.
test("what left the cluster by it stands in docs/data-that-leaves.md, and each row of releases was sent", () => {
  const page = sentFields();
  expect(captured.undocumented(page)).toEqual([]);
  const sent = [...(captured.fields.get("sync.reconcile") ?? [])];
  const isFree = (path: string): boolean =>
    page.get("sync.reconcile")?.some((field) => field.path === path && field.free) === true;
  expect(RELEASE_FIELDS.filter((path) => !sent.some((each) => covers(path, each, isFree(path))))).toEqual([]);
});
