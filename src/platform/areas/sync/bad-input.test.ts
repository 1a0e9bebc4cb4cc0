import fc from "fast-check";
import { expect, it } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import { deploymentGroupRoutes } from "../../../contract/deployment-groups/deployment-groups.ts";
import { deploymentRoutes } from "../../../contract/deployments/deployments.ts";
import { syncRoutes } from "../../../contract/deployments/sync.ts";
import { commandRoutes } from "../../../contract/operations/commands.ts";
import { projectRoutes } from "../../../contract/projects/projects.ts";
import { ROLES, scopeOf } from "../../../contract/wire/roles.ts";
import type { Route } from "../../../contract/wire/route.ts";
import { newId } from "../../kernel/ids.ts";
import type { Scope } from "../../kernel/tenancy/principal.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

/** The areas that a deployment's life passes through. */
const ALL: readonly Route[] = [
  projectRoutes,
  deploymentGroupRoutes,
  deploymentRoutes,
  syncRoutes,
  commandRoutes,
].flatMap((table) => Object.values(table));

onEachDatabase("bad input", (world) => {
  const pathOf = (route: Route, site: Site, deploymentId: string): string =>
    route.path
      .replace("/deployment-groups/{id}", `/deployment-groups/${site.group.id}`)
      .replace("/deployments/{id}", `/deployments/${deploymentId}`)
      .replace("/commands/{id}", `/commands/${newId("cmd")}`)
      .replace("{idOrName}", site.project.id);
  const keyFor = (route: Route, site: Site): string =>
    Array.isArray(route.roles) && route.roles.includes("workspace.admin") ? site.admin : site.manager.key;

  it("an unknown key is refused in every body, with its path", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    for (const route of ALL.filter(({ body }) => body !== undefined)) {
      const answer = await world.call(route.method, pathOf(route, site, id), {
        key: keyFor(route, site),
        body: { surprise: 1 },
      });
      expect([route.path, answer.status, answer.body.code]).toEqual([route.path, 400, "VALIDATION_ERROR"]);
      const paths = answer.body.context.issues.map((issue: { path: string }) => issue.path);
      expect([route.path, paths]).toEqual([route.path, expect.arrayContaining(["body.surprise"])]);
    }
  });

  it("every role outside a route's list is forbidden, whatever it sends", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const scopes: Record<string, Scope> = {
      workspace: { type: "workspace" },
      project: { type: "project", projectId: site.project.id },
      deployment: { type: "deployment", deploymentId: id, projectId: site.project.id },
      "deployment-group": {
        type: "deployment-group",
        deploymentGroupId: site.group.id,
        projectId: site.project.id,
      },
      manager: { type: "manager", managerId: site.manager.id },
    };
    for (const role of ROLES) {
      const key = await site.workspace.key(role, scopes[scopeOf(role)]);
      for (const route of ALL) {
        if ((route.roles as readonly string[]).includes(role)) continue;
        const answer = await world.call(route.method, pathOf(route, site, id), { key });
        expect([role, route.method, route.path, answer.body?.code]).toEqual([
          role,
          route.method,
          route.path,
          "FORBIDDEN",
        ]);
      }
    }
  });

  it("a good body with one value swapped is taken or refused, never a 500", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop", { operatorPermission: "observe" });
    const bodies = goodBodies(site, id);
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(
        null,
        "",
        "x".repeat(400),
        "\u0000",
        "\ud800",
        -1,
        2 ** 53,
        0.5,
        [],
        {},
        "9999-12-31T23:59:59.999Z",
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...bodies), fc.nat(), odd, async ({ method, path, key, body }, where, value) => {
        const leaves = pathsOf(body);
        const swapped = swap(body, leaves[where % leaves.length] ?? [], value);
        const answer = await world.call(method, path, { key, body: swapped });
        expect([path, answer.status, answer.body?.code]).toEqual([
          path,
          Math.min(answer.status, 499),
          answer.body?.code,
        ]);
      }),
      { numRuns: runs(300) },
    );
    for (const { method, path, key, body } of bodies) {
      expect([path, (await world.call(method, path, { key, body })).status]).toEqual([
        path,
        expect.toBeOneOf([200, 201, 202]),
      ]);
    }
  });

  it("no body and no query makes a 500", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const keys = [
      "name",
      "project",
      "state",
      "deploymentId",
      "session",
      "limit",
      "cursor",
      "status",
      "search",
      "params",
    ];
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom(
        id,
        site.project.id,
        site.group.id,
        "pending",
        "running",
        "2026-01-01T00:00:00Z",
        "\u0000",
        "\ud800",
        -1,
      ),
    );
    const body = fc.oneof(value, fc.dictionary(fc.constantFrom(...keys), value));
    const query = fc.dictionary(
      fc.constantFrom(...keys),
      fc.oneof(fc.string(), fc.constantFrom("running", "0", "101")),
    );
    const route = fc.constantFrom(...ALL.filter(({ path }) => !path.includes("idOrName")));
    await fc.assert(
      fc.asyncProperty(route, body, query, async (route, body, query) => {
        const sent = route.body === undefined ? {} : { body: body === undefined ? {} : body };
        const answer = await world.call(route.method, pathOf(route, site, id), {
          key: keyFor(route, site),
          query,
          ...sent,
        });
        expect([route.path, answer.status]).toEqual([route.path, Math.min(answer.status, 499)]);
      }),
      { numRuns: runs(250) },
    );
  });
});

/** One call a route with much to say, each good as it is. */
function goodBodies(site: Site, deploymentId: string) {
  const observedAt = "2026-01-01T00:00:00Z";
  const status = { health: "healthy", lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
  const replicas = { desired: 1, ready: 1 };
  const workload = { namespace: "shop", name: "api", replicas, pods: [], events: [] };
  const data = { status, backend: "kubernetes", workloadKind: "deployment", ...workload };
  const observed = { health: "healthy", lifecycle: "running", partial: false, providerStale: false };
  const resources = { api: { type: "container", status: "running", config: { image: "shop:1" } } };
  const source = { controllerPlatform: "kubernetes", backend: "kubernetes", observedAt };
  const reconcile = {
    deploymentId,
    session: null,
    state: {
      status: "running",
      platform: "kubernetes",
      protocolVersion: 1,
      currentRelease: null,
      stackState: { platform: "kubernetes", resourcePrefix: "shop", resources },
      error: null,
      environmentInfo: { platform: "kubernetes", clusterName: "c" },
      runtimeMetadata: { notes: [1] },
    },
    updateHeartbeat: true,
    suggestedDelayMs: 0,
    resourceHeartbeats: [
      { ...source, resourceId: "api", resourceType: "container", data: { resourceType: "container", data }, raw: [] },
    ],
    observedInventoryBatches: [
      {
        ...source,
        sourceKind: "operator",
        inventoryScope: "shop",
        complete: true,
        part: { index: 0, count: 1 },
        resources: [{ ...observed, rawIdentity: "a", providerKind: "Deployment", displayName: "a", version: "1" }],
      },
    ],
    capabilities: [{ key: "operations", state: "granted", detail: null }],
    operatorVersion: "1.0.0",
    progressEvents: [{ type: "DeployingStack", state: "started", at: observedAt, data: { stackName: "s" } }],
  };
  const variables = [{ name: "A", value: "1", type: "plain", targetResources: ["api*"] }];
  const acquire = { session: "s", requestId: "r", deploymentModel: "pull", statuses: ["pending"], limit: 5 };
  const call = (method: string, path: string, body: object, key = site.member) => ({ method, path, key, body });
  return [
    call("POST", "/v1/sync/reconcile", reconcile, site.manager.key),
    call("POST", "/v1/sync/acquire", acquire, site.manager.key),
    call("POST", "/v1/sync/list", { statuses: [], platforms: [], deploymentIds: [] }, site.manager.key),
    call("PATCH", `/v1/deployments/${deploymentId}/environment-variables`, { variables }),
    call("PATCH", `/v1/projects/${site.project.id}`, {
      gitRepository: { type: "git-host", repo: "a/b" },
      deploymentPortalAppearance: { preset: "clean", title: "T" },
      packagesConfig: { helm: { enabled: true, chartName: "c", description: "" } },
      defaultManagers: { kubernetes: null },
      enabledCapabilities: ["deployments"],
    }),
  ];
}

type Path = readonly (string | number)[];

/** Every place in a JSON value, the root aside. */
function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  const children = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [...(at.length === 0 ? [] : [at]), ...children.flatMap(([name, child]) => pathsOf(child, [...at, name]))];
}

function swap(value: unknown, [name, ...rest]: Path, by: unknown): unknown {
  if (name === undefined) return by;
  const children = value as Record<string | number, unknown>;
  const changed = swap(children[name], rest, by);
  return Array.isArray(value) ? value.with(Number(name), changed) : { ...children, [name]: changed };
}
