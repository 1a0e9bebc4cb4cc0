import { expect, it } from "vitest";
import { ROUTES } from "../../contract/table.ts";
import { ROLES, type Role, WORKSPACE_ROLES } from "../../contract/wire/roles.ts";
import type { Route } from "../../contract/wire/route.ts";
import { kept, shown } from "../kernel/tenancy/stored-error.ts";
import { onEachDatabase, type World } from "../testing/harness.ts";
import { sampleQuery } from "../testing/sample.ts";
import { keysOfRoles, newSite, type Site } from "./deployments/testing/site.ts";
import { HELM } from "./packages/testing/builds.ts";
import { release, STACK } from "./releases/testing/releases.ts";

const SECRET = "planted-detail";
const inner = { code: "UPSTREAM", message: `inner ${SECRET}`, internal: true, detail: { more: [SECRET] } };
/** Every form in which an error may hide something. */
const INTERNAL = { ...inner, detail: undefined, retryable: true, hint: SECRET, context: { at: SECRET }, source: inner };
const CHAIN = { code: "OUTER", message: "outer", internal: false, source: inner, context: { causes: [inner] } };

const MAY_READ: readonly Role[] = ["workspace.admin", "manager.runtime"];
const READS = Object.values(ROUTES)
  .flatMap((area): Route[] => Object.values(area))
  .filter(({ method, success, longPoll }) => method === "GET" && success !== 101 && longPoll !== true);

onEachDatabase("stored errors", (world) => {
  it("show what is internal to managers and admins alone, on every route to every role", async () => {
    const { site, ids, keys } = await planted(world);
    const seen = new Map<string, number>();
    for (const route of READS) {
      for (const [who, { role, key }] of keys) {
        const { status, text } = await read(world, route, key, ids, site);
        const held = text.includes(SECRET);
        if (held) seen.set(route.path, (seen.get(route.path) ?? 0) + 1);
        if (held && !MAY_READ.includes(role)) throw new Error(`${who} reads it at ${route.path}: ${text}`);
        expect(status, `${who} ${route.path} ${text}`).toBeLessThan(500);
      }
    }
    // That admins read them there shows that they were planted, and that these routes show what is stored.
    for (const path of PLACES) expect([path, (seen.get(path) ?? 0) > 0]).toEqual([path, true]);
  }, 240_000);

  it("have one form wherever they are read, an event's too", async () => {
    const { site, ids } = await planted(world);
    const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId: ids.broken ?? "" } })).body;
    const ofType = (type: string) => items.find((event: { data: { type: string } }) => event.data.type === type);
    const { error } = (await site.call("GET", `/v1/deployments/${ids.broken}`)).body;
    expect(Object.keys(error).sort()).toEqual(FIELDS);
    expect(ofType("DeploymentFailed").data.error).toEqual(error);
    expect(ofType("RunningPreflights").state.failed.error).toEqual(error);
    expect(ofType("DeploymentRetryRequested").data.previousError).toEqual(error);
    expect(error).toMatchObject({ code: "INTERNAL_ERROR", message: "Internal error", internal: true, retryable: true });
  });
});

it("an error as deep as JSON goes is not shown, and does not end the platform", () => {
  let deep: unknown = inner;
  for (let level = 0; level < 5_000; level += 1) deep = { deep };
  expect(JSON.stringify(shown(kept(deep), { role: "workspace.viewer" }))).not.toContain(SECRET);
});

const FIELDS = ["code", "context", "hint", "httpStatusCode", "internal", "message", "retryable", "source"];

/** Where an admin finds what was planted. */
const PLACES = [
  "/v1/events",
  "/v1/events/{id}",
  "/v1/deployments",
  "/v1/deployments/{id}",
  "/v1/deployments/{id}/info",
  "/v1/releases/{id}/deployments",
  "/v1/commands",
  "/v1/commands/{id}",
  "/v1/access-requests",
  "/v1/access-requests/{id}",
  "/v1/debug-sessions",
  "/v1/debug-sessions/{id}",
  "/v1/packages",
  "/v1/packages/{id}",
  "/v1/resources/{resourceType}/deployments/{deploymentId}/{resourceId}",
];

type Ids = Readonly<Record<string, string>>;
type Keys = ReadonlyMap<string, { readonly role: Role; readonly key: string }>;

async function read(world: World, route: Route, key: string, ids: Ids, site: Site) {
  const area = route.path.split("/")[2] ?? "";
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = name === "id" || name === "idOrName" ? ids[area] : ids[name];
    return encodeURIComponent(id ?? "none");
  });
  const names = route.query === undefined ? [] : Object.keys(route.query.properties);
  const project = names.includes("project") ? { project: site.project.id } : {};
  const own = route.path === "/v1/access-requests/pending" ? { deploymentId: ids.deployments ?? "" } : {};
  const query = { ...sampleQuery(route.query), ...own, ...project, workspace: site.workspace.name };
  const { status, body } = await world.call("GET", path, { key, query });
  return { status, text: JSON.stringify(body) ?? "" };
}

/** A workspace in which each thing that can fail has failed with an internal error. */
async function planted(world: World): Promise<{ site: Site; ids: Ids; keys: Keys }> {
  const site = await newSite(world);
  const ok = async (answer: Promise<{ status: number; body: Body }>): Promise<Body> => {
    const { status, body } = await answer;
    if (status >= 300) throw new Error(JSON.stringify(body));
    return body;
  };
  const asManager = (path: string, body: object) => ok(world.call("POST", path, { key: site.manager.key, body }));
  await ok(site.call("PATCH", `/v1/projects/${site.project.id}`, { body: { packagesConfig: { helm: HELM } } }));
  const releaseId = await release(site, { stack: { kubernetes: STACK } });
  const broken = await site.deploy("broken");
  await ok(site.report(broken, "preflights-failed", {}, { error: INTERNAL }));
  await ok(site.call("POST", `/v1/deployments/${broken}/retry`));

  const deployments = await site.deploy("sample");
  const at = world.clock.wallNow().toISOString();
  const status = { health: "unhealthy", lifecycle: "failed", message: "m", partial: false, stale: false };
  const told = { resourceType: "container", resourceId: "web", controllerPlatform: "kubernetes", backend: "external" };
  const data = { status: { ...status, collectionIssues: [] }, backend: "external", lastError: CHAIN };
  const resource = { type: "container", status: "provision-failed", config: {}, error: INTERNAL };
  const stackState = {
    platform: "kubernetes",
    resourcePrefix: "p",
    resources: { web: { ...resource, outputs: { last: INTERNAL }, history: [{ error: CHAIN }] } },
  };
  await ok(
    site.report(
      deployments,
      "provisioning-failed",
      {
        resourceHeartbeats: [{ ...told, observedAt: at, data: { resourceType: "container", data }, raw: [] }],
        progressEvents: [
          { type: "DeployingStack", state: { failed: { error: CHAIN } }, at, data: { stackName: "s", last: INTERNAL } },
        ],
      },
      { error: CHAIN, stackState, runtimeMetadata: { lastError: INTERNAL } },
    ),
  );

  const query = { project: site.project.id };
  await ok(site.call("PUT", "/v1/operations/policy", { query, body: { rules: [{ pattern: "*", decision: "auto" }] } }));
  const look = { plugin: "kubernetes", operation: "get-pods", params: { namespace: "shop" } };
  const { commandId } = await ok(
    site.call("POST", "/v1/operations/invoke", { query, body: { deploymentId: deployments, ...look } }),
  );
  const fails = async (id: string, error: object) => {
    await asManager(`/v1/commands/${id}/dispatch`, { dispatchedAt: at });
    await asManager(`/v1/commands/${id}/complete`, { state: "FAILED", completedAt: at, error });
  };
  await fails(commandId, INTERNAL);
  const plan = { deploymentId: deployments, remediationPlanId: "p", title: "Look" };
  const commands = [{ command: "kubernetes/get-pods", summary: "look", params: { namespace: "shop" } }];
  const { id: requestId, planHash } = await ok(
    site.call("POST", "/v1/access-requests", { body: { ...plan, commands } }),
  );
  await ok(site.call("POST", `/v1/access-requests/${requestId}/queue`));
  const approvedUntil = new Date(world.clock.wallNow().getTime() + 600_000).toISOString();
  const approvals = [{ requestId, planHash, approvedUntil }];
  await asManager("/v1/access-requests/approvals", { deploymentId: deployments, approvals });
  const asked = await ok(site.call("GET", `/v1/access-requests/${requestId}`));
  await fails(asked.execution.commands[0].commandId, CHAIN);

  const expiresAt = approvedUntil;
  const session = await asManager("/v1/debug-sessions", { deploymentId: deployments, expiresAt, state: "running" });
  // No error object, yet it says that it is internal.
  const odd = { internal: true, message: SECRET, trace: SECRET };
  const patch = { key: site.manager.key, body: { state: "failed", error: odd } };
  await ok(world.call("PATCH", `/v1/debug-sessions/${session.id}`, patch));

  await ok(site.call("POST", "/v1/packages/rebuild", { body: { project: site.project.id } }));
  const builder = { key: site.admin, body: { builderId: "b" } };
  const [{ id: packageId }] = (await ok(world.call("POST", "/v1/packages/lease", builder))).packages;
  const end = { builderId: "b", status: "failed", error: INTERNAL };
  await ok(world.call("POST", `/v1/packages/${packageId}/complete`, { key: site.admin, body: end }));

  const { items } = await ok(site.call("GET", "/v1/events", { query: { deploymentId: broken } }));
  const failed = items.find((event: Body) => event.data.type === "DeploymentFailed");
  const ids: Ids = {
    ...{ broken, deployments, deploymentId: deployments, machines: deployments, resources: deployments },
    ...{ resourceId: "web", resourceType: "container", gateway: "ai", name: "production", releases: releaseId },
    ...{ commands: commandId, events: failed.id, packages: packageId, "debug-sessions": session.id },
    ...{ "access-requests": requestId, managers: site.manager.id, projects: site.project.id },
    ...{ "deployment-groups": site.group.id, workspaces: site.workspace.id },
  };
  return { site, ids, keys: await everybody(world, site, ids) };
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read as they come
type Body = any;

/** A key of each role, a user of each workspace role, and the two tokens that end customers hold. */
async function everybody(world: World, site: Site, ids: Ids): Promise<Keys> {
  const all = new Map<string, { role: Role; key: string }>();
  for (const [role, key] of await keysOfRoles(site, ids.broken ?? "")) all.set(`${role} (broken)`, { role, key });
  for (const [role, key] of await keysOfRoles(site, ids.deployments ?? "")) all.set(role, { role, key });
  for (const role of WORKSPACE_ROLES) {
    const user = await world.user();
    await site.workspace.member(user, role);
    all.set(`user ${role}`, { role, key: user.token });
  }
  const policy = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
  const setupItems = [{ item: "deployment", required: true }];
  const body = { deploymentSetupConfig: { metadata: {}, policy, environmentVariables: [] }, setupItems };
  const made = await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body });
  all.set("group token", { role: "deployment-group.deployer", key: made.body.token });
  const token = await site.call("POST", `/v1/deployments/${ids.deployments}/token`, { body: { description: "test" } });
  expect([made.status, token.status]).toEqual([200, 201]);
  all.set("deployment token", { role: "deployment.manager", key: token.body.token });
  expect(ROLES.every((role) => [...all.values()].some((each) => each.role === role))).toBe(true);
  return all;
}
