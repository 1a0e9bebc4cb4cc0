import { sql } from "kysely";
import Type from "typebox";
import { Errors } from "typebox/value";
import { expect, it } from "vitest";
import { KUBERNETES_DATA } from "../../../contract/resources/resource-heartbeat.ts";
import type { Answer } from "../../testing/harness.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { release, STACK } from "../releases/testing/releases.ts";

const WEB = {
  config: { id: "web", type: "container", image: "registry.example.com/web:2" },
  ...{ dependencies: [], lifecycle: "live" },
};

interface Told {
  readonly health?: string;
  readonly lifecycle?: string;
  readonly ready?: number | null;
  readonly at?: Date;
  readonly type?: string;
}

onEachDatabase("resources", (world) => {
  const now = (): Date => world.clock.wallNow();

  const heartbeat = (resourceId: string, told: Told = {}) => {
    const { type = "container", health = "healthy", lifecycle = "running", ready = 2 } = told;
    const status = { health, lifecycle, message: `${resourceId} says`, partial: false, stale: false };
    const replicas = { desired: 2, current: 2, ready };
    const data = {
      status: { ...status, collectionIssues: [] },
      backend: "external",
      name: `name of ${resourceId}`,
      replicas,
    };
    return {
      ...{ resourceId, resourceType: type, controllerPlatform: "kubernetes", backend: "external" },
      observedAt: (told.at ?? now()).toISOString(),
      data: { resourceType: type, data },
      raw: [],
    };
  };
  const inventory = (...resources: object[]) => ({
    ...{ sourceKind: "operator", inventoryScope: "kubernetes:apps/v1:Deployment:shop", backend: "kubernetes" },
    ...{ controllerPlatform: "kubernetes", observedAt: now().toISOString(), complete: true },
    resources: resources.map((more, index) => ({
      ...{ rawIdentity: `apps/v1:Deployment:shop:o${index}`, providerKind: "Deployment", displayName: `o${index}` },
      ...{ health: "healthy", lifecycle: "running", partial: false, providerStale: false },
      ...more,
    })),
  });
  const read = async (site: Site, path: string, query: object = {}, key = site.member): Promise<Answer> =>
    world.call("GET", `/v1/resources${path}`, { key, query: { project: site.project.id, ...query } });
  const report = async (site: Site, id: string, more: object): Promise<void> => {
    const answer = await site.report(id, "running", more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };

  it("one row a deployment and resource, those that need attention first", async () => {
    const site = await newSite(world);
    const [shop, bank] = [await site.deploy("shop"), await site.deploy("bank")];
    await report(site, shop, { resourceHeartbeats: [heartbeat("api"), heartbeat("web", { health: "degraded" })] });
    await report(site, bank, { resourceHeartbeats: [heartbeat("api", { type: "queue" })] });
    const { resources } = (await read(site, "")).body;
    expect(
      resources.map((row: { resourceId: string; deploymentName: string }) => [row.resourceId, row.deploymentName]),
    ).toEqual([
      ["web", "shop"],
      ["api", "shop"],
      ["api", "bank"],
    ]);
    expect(resources[0]).toMatchObject({
      ...{ source: "managed", deploymentId: shop, name: "name of web", health: "degraded", attentionCount: 1 },
      ...{ desiredCount: 2, currentCount: 2, readyCount: 2, platformStale: false, message: "web says" },
    });
    expect((await read(site, "", { deploymentId: bank })).body.resources).toHaveLength(1);
    expect((await read(site, "", { deploymentGroupId: site.group.id })).body.resources).toHaveLength(3);
  });

  it("with heartbeats off nothing of resources is taken, and what was stored is gone", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const pending = (more: object) => site.report(id, "pending", more);
    expect(
      (await pending({ resourceHeartbeats: [heartbeat("api")], observedInventoryBatches: [inventory({})] })).status,
    ).toBe(200);
    expect((await read(site, "", { deploymentId: id })).body.resources).toHaveLength(2);
    const body = { stackSettings: { heartbeats: "off" } };
    expect((await site.call("PATCH", `/v1/deployments/${id}`, { body })).status).toBe(200);
    expect((await read(site, "", { deploymentId: id })).body.resources).toEqual([]);
    for (const told of [{ resourceHeartbeats: [heartbeat("api")] }, { observedInventoryBatches: [inventory({})] }]) {
      const refused = await pending(told);
      expect([refused.status, refused.body.context.issues[0].message]).toEqual([
        400,
        "must be left out: the deployment's heartbeats are off",
      ]);
    }
    expect((await pending({})).status).toBe(200);
    expect((await read(site, "", { deploymentId: id })).body.resources).toEqual([]);
  });

  it("an observed resource is shown until a heartbeat stands for it, and no longer once it is gone", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const batch = () =>
      inventory({ resourceTypeHint: "container", managedResourceId: "api" }, { counts: { ready: 1 } });
    await report(site, id, { observedInventoryBatches: [batch()] });
    const first = (await read(site, "")).body.resources;
    expect(first).toMatchObject([
      { source: "observed", resourceType: "container", rawKind: "Deployment", managedResourceId: "api" },
      { source: "observed", resourceType: "unknown", deploymentGroupId: site.group.id, readyCount: 1 },
    ]);
    await report(site, id, { resourceHeartbeats: [heartbeat("api")] });
    const sources = (await read(site, "")).body.resources.map(({ source }: { source: string }) => source);
    expect(sources).toEqual(["managed", "observed"]);
    world.clock.advance(1000);
    await report(site, id, { observedInventoryBatches: [inventory()] });
    expect((await read(site, "")).body.resources).toHaveLength(1);
  });

  it("the worst fresh report speaks for a resource over its deployments", async () => {
    const site = await newSite(world);
    const ids = [await site.deploy("d1"), await site.deploy("d2"), await site.deploy("d3")];
    const [d1 = "", d2 = "", d3 = ""] = ids;
    await report(site, d1, { resourceHeartbeats: [heartbeat("api", { health: "unhealthy", ready: null })] });
    world.clock.advance(170_000);
    await report(site, d2, { resourceHeartbeats: [heartbeat("api")] });
    await report(site, d3, { resourceHeartbeats: [heartbeat("api", { health: "degraded", lifecycle: "updating" })] });
    const only = async () => (await read(site, "/container")).body.resources;
    expect(await only()).toMatchObject([
      {
        ...{ resourceId: "api", health: "unhealthy", lifecycle: "running", platformStale: false },
        ...{ deploymentCount: 3, attentionCount: 2, desiredCount: 6, readyCount: 4 },
      },
    ]);
    // A stale report is no word on health, only a reason to look.
    world.clock.advance(20_000);
    expect(await only()).toMatchObject([
      { health: "degraded", lifecycle: "updating", platformStale: true, attentionCount: 2 },
    ]);
    world.clock.advance(200_000);
    expect(await only()).toMatchObject([{ health: "unknown", platformStale: true, attentionCount: 3 }]);
  });

  it("a report is stale one millisecond after its 180 s, not before", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const at = new Date(now().getTime() - 179_000);
    await report(site, id, { resourceHeartbeats: [heartbeat("api", { at })] });
    const { staleAt, platformStale } = (await read(site, `/container/deployments/${id}/api`)).body.heartbeat;
    expect(staleAt).toBe(new Date(at.getTime() + 180_000).toISOString());
    expect(platformStale).toBe(false);
    world.clock.advance(1001);
    expect((await read(site, `/container/deployments/${id}/api`)).body.heartbeat.platformStale).toBe(true);
  });

  it("what the reporter cannot read any more needs attention, though it was told a moment ago", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const told = heartbeat("api", { health: "unknown" });
    const data = { ...told.data.data, status: { ...told.data.data.status, stale: true } };
    const batch = inventory({ health: "unknown", resourceTypeHint: "worker", providerStale: true });
    await report(site, id, {
      resourceHeartbeats: [{ ...told, data: { ...told.data, data } }, heartbeat("web")],
      observedInventoryBatches: [batch],
    });
    const { resources } = (await read(site, "")).body;
    const seen = resources.map((row: { resourceId: string; attentionCount: number; platformStale: boolean }) => [
      row.resourceId,
      row.attentionCount,
      row.platformStale,
    ]);
    expect(seen).toEqual([
      ["api", 1, false],
      ["apps/v1:Deployment:shop:o0", 1, false],
      ["web", 0, false],
    ]);
    expect((await read(site, "/container")).body.resources[0]).toMatchObject({ resourceId: "api", attentionCount: 1 });
  });

  it("one resource in its deployments, by their names, and each with its last heartbeat", async () => {
    const site = await newSite(world);
    const [b, a] = [await site.deploy("bb"), await site.deploy("aa")];
    for (const id of [b, a]) await report(site, id, { resourceHeartbeats: [heartbeat("api")] });
    const answer = (await read(site, "/container/api/deployments")).body;
    expect(answer).toMatchObject({ resourceType: "container", resourceId: "api" });
    expect(answer.deployments.map(({ deploymentName }: { deploymentName: string }) => deploymentName)).toEqual([
      "aa",
      "bb",
    ]);
    const detail = (await read(site, `/container/deployments/${a}/api`)).body;
    expect(detail.deployment).toMatchObject({ deploymentId: a, desiredImage: null, health: "healthy" });
    expect(detail.heartbeat).toMatchObject({
      status: "available",
      heartbeat: { data: { data: { name: "name of api" } } },
    });
  });

  const logical = (resourceId: string, logicalId: unknown, told: Told & { namespace?: string } = {}) => {
    const plain = heartbeat(resourceId, told);
    const data = { ...plain.data.data, name: "api", namespace: told.namespace ?? "shop", logicalId };
    return { ...plain, data: { ...plain.data, data } };
  };

  it("one service of several customers is one resource, wherever each has it", async () => {
    const site = await newSite(world);
    const [one, two] = [await site.deploy("one"), await site.deploy("two")];
    const made = await release(site, { stack: { kubernetes: { ...STACK, resources: { web: WEB } } } });
    const currentRelease = { releaseId: made };
    for (const [id, namespace] of [
      [one, "shop"],
      [two, "boutique"],
    ] as const) {
      const resourceHeartbeats = [logical(`deployment.${namespace}.api`, "web", { namespace })];
      expect((await site.report(id, "running", { resourceHeartbeats }, { currentRelease })).status).toBe(200);
    }
    expect((await read(site, "/container")).body.resources).toMatchObject([
      { resourceId: "web", name: "api", deploymentCount: 2, desiredCount: 4 },
    ]);
    expect((await read(site, "/container/web/deployments")).body.deployments).toMatchObject([
      { deploymentId: one, resourceId: "web" },
      { deploymentId: two, resourceId: "web" },
    ]);
    const named = (await read(site, "", { name: "web" })).body.resources as { resourceId: string; objectId: string }[];
    expect(named.map(({ resourceId, objectId }) => `${resourceId} ${objectId}`).toSorted()).toEqual([
      "web deployment.boutique.api",
      "web deployment.shop.api",
    ]);
    const detail = (await read(site, `/container/deployments/${two}/web`)).body;
    expect(detail.deployment).toMatchObject({ resourceId: "web", desiredImage: WEB.config.image });
    expect(detail.heartbeat).toMatchObject({
      status: "available",
      heartbeat: { data: { data: { namespace: "boutique" } } },
    });
    const other = await newSite(world);
    expect((await read(other, "/container")).body.resources).toEqual([]);
  });

  it("of two objects of one resource both are listed, and the worst is shown for both", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await report(site, id, {
      resourceHeartbeats: [
        logical("deployment.a.api", "deployment.api", { namespace: "a" }),
        logical("deployment.b.api", "deployment.api", { namespace: "b", health: "degraded", ready: 1 }),
      ],
    });
    expect((await read(site, "")).body.resources).toHaveLength(2);
    const sum = { resourceId: "deployment.api", health: "degraded", desiredCount: 4, readyCount: 3 };
    expect((await read(site, "/container")).body.resources).toMatchObject([{ ...sum, deploymentCount: 1 }]);
    const { deployments } = (await read(site, "/container/deployment.api/deployments")).body;
    expect(deployments).toMatchObject([{ ...sum, deploymentId: id }]);
    const of = async (resource: string) =>
      (await read(site, `/container/deployments/${id}/${resource}`)).body.heartbeat.heartbeat.data.data.namespace;
    expect(await of("deployment.api")).toBe("b");
    expect(await of("deployment.a.api")).toBe("a");
  });

  it.each(["", "a/b", "a b", "../x", ".x", "é", "x".repeat(254), null])(
    "an id that is none, %j, is not taken for one",
    async (logicalId) => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const batch = inventory({ resourceTypeHint: "container", attributes: { logicalId } });
      await report(site, id, {
        resourceHeartbeats: [logical("deployment.shop.api", logicalId)],
        observedInventoryBatches: [batch],
      });
      const ids = (await read(site, "")).body.resources.map(({ resourceId }: { resourceId: string }) => resourceId);
      expect(ids.sort()).toEqual(["apps/v1:Deployment:shop:o0", "deployment.shop.api"]);
    },
  );

  it.each(["container", "worker", "daemon"])(
    "what only the inventory has of a %s is in the form of its heartbeat",
    async (resourceTypeHint) => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const counts = { desired: 2, ready: 1 };
      const more = { resourceTypeHint, namespace: "shop", counts, attributes: { logicalId: "api" } };
      await report(site, id, {
        observedInventoryBatches: [inventory(more, { ...more, namespace: null, counts: null })],
      });
      for (const name of ["o0", "o1"]) {
        const raw = encodeURIComponent(`apps/v1:Deployment:shop:${name}`);
        const { deployment, heartbeat: view } = (await read(site, `/${resourceTypeHint}/deployments/${id}/${raw}`))
          .body;
        expect(deployment.resourceId).toBe("api");
        const { data } = view.heartbeat.data;
        expect([...Errors(KUBERNETES_DATA[resourceTypeHint] ?? Type.Never(), data)]).toEqual([]);
        expect(data.status.collectionIssues).toMatchObject([{ source: "inventory" }]);
      }
    },
  );

  it("an observed resource has its detail under its raw identity", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await report(site, id, {
      observedInventoryBatches: [inventory({ resourceTypeHint: "daemon", labels: { a: "b" } })],
    });
    const raw = encodeURIComponent("apps/v1:Deployment:shop:o0");
    const detail = (await read(site, `/daemon/deployments/${id}/${raw}`)).body;
    expect(detail.deployment).toMatchObject({ resourceId: "apps/v1:Deployment:shop:o0", backend: "kubernetes" });
    expect(detail.heartbeat.heartbeat.data.data).toMatchObject({ labels: { a: "b" }, status: { stale: false } });
  });

  it("what only the stack knows is missing, and what nobody knows is not found", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const since = (await site.call("GET", `/v1/deployments/${id}`)).body.createdAt;
    const resources = { api: { type: "container", status: "pending", config: {} } };
    const stackState = { platform: "kubernetes", resourcePrefix: "p", resources };
    expect((await site.report(id, "running", {}, { stackState })).status).toBe(200);
    const detail = (await read(site, `/container/deployments/${id}/api`)).body;
    expect(detail).toMatchObject({
      deployment: { health: "unknown", backend: "kubernetes", platformStale: false, observedAt: since },
      heartbeat: { status: "missing", deploymentId: id, resourceId: "api", resourceType: "container" },
    });
    expect((await read(site, `/worker/deployments/${id}/api`)).status).toBe(404);
    expect((await read(site, `/container/deployments/${id}/nothing`)).status).toBe(404);
  });

  it.each(["x", "/", "😀"])("an id may be 512 characters long, as one of nothing but %s", async (character) => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const detail = (length: number) =>
      read(site, `/container/deployments/${id}/${encodeURIComponent(character.repeat(length))}`);
    expect((await detail(512)).body.code).toBe("NOT_FOUND");
    expect((await detail(513)).body.code).toBe("VALIDATION_ERROR");
  });

  it("each key sees its own scope, an AI gateway's AI resources only, and other workspaces nothing", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const [mine, beside] = [await site.deploy("mine"), await site.deploy("beside")];
    const all = [heartbeat("api"), heartbeat("chat", { type: "ai" })];
    for (const id of [mine, beside]) await report(site, id, { resourceHeartbeats: all });
    const projectId = site.project.id;
    const deployment = await site.workspace.key("deployment.viewer", {
      type: "deployment",
      deploymentId: mine,
      projectId,
    });
    const rows = (await world.call("GET", "/v1/resources", { key: deployment })).body.resources;
    expect(rows.map(({ deploymentId }: { deploymentId: string }) => deploymentId)).toEqual([mine, mine]);
    expect((await read(site, `/container/deployments/${beside}/api`, {}, deployment)).status).toBe(404);
    const group = { type: "deployment-group", deploymentGroupId: site.group.id, projectId } as const;
    const deployer = await site.workspace.key("deployment-group.deployer", group);
    expect((await world.call("GET", "/v1/resources", { key: deployer })).body.resources).toHaveLength(4);
    const gateway = await site.workspace.key("project.ai-gateway", { type: "project", projectId });
    const seen = (await world.call("GET", "/v1/resources", { key: gateway })).body.resources;
    expect(new Set(seen.map(({ resourceType }: { resourceType: string }) => resourceType))).toEqual(new Set(["ai"]));
    expect((await read(site, "/container", {}, gateway)).body.code).toBe("NOT_FOUND");
    expect((await read(site, "", {}, other.member)).body.code).toBe("NOT_FOUND");
    expect((await world.call("GET", "/v1/resources", { key: site.member })).body.resources).toHaveLength(4);
    expect((await read(site, "/queue")).body.context.issues[0].path).toBe("path.resourceType");
  });

  it("in a cut list each deployment has its turns, however many and long the rows of one are", async () => {
    const site = await newSite(world);
    const [noisy, quiet] = [await site.deploy("noisy"), await site.deploy("quiet")];
    const told = heartbeat("x", { health: "unhealthy", type: "a" });
    const status = { ...told.data.data.status, message: "m".repeat(4_096) };
    const data = { ...told.data.data, name: "n".repeat(100_000), status, namespace: "s".repeat(1_024) };
    const body = JSON.stringify({ ...told, data: { ...told.data, data } });
    await sql`
      insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
      select ${noisy}, 'a', 'r' || n, ${now()}, ${body}::jsonb from generate_series(1, 1200) n`.execute(
      world.platform.db,
    );
    const own = ["one", "two", "three"].map((id) => heartbeat(id, { health: "degraded", type: "worker" }));
    await report(site, quiet, { resourceHeartbeats: [...own, heartbeat("well", { type: "worker" })] });
    const answer = await read(site, "");
    expect(Buffer.byteLength(JSON.stringify(answer.body))).toBeLessThan(2 * 1024 * 1024 + 100_000);
    const { resources, truncated, truncatedDeployments } = answer.body;
    const idsOf = (id: string) =>
      resources.flatMap((row: { deploymentId: string; resourceId: string }) =>
        row.deploymentId === id ? [row.resourceId] : [],
      );
    expect(idsOf(quiet)).toEqual(["one", "three", "two", "well"]);
    expect([truncated, truncatedDeployments]).toEqual([
      true,
      [{ deploymentId: noisy, deploymentName: "noisy", shownCount: idsOf(noisy).length, totalCount: 1200 }],
    ]);
    expect(idsOf(noisy).length).toBeGreaterThan(900);
    expect(resources[0]).toMatchObject({
      ...{ name: `${"n".repeat(252)}…`, message: `${"m".repeat(511)}…`, namespace: `${"s".repeat(252)}…` },
    });
    const workers = (await read(site, "", { resourceType: "worker" })).body;
    expect([workers.resources.length, workers.truncated]).toEqual([4, undefined]);
    // A list of one type over all deployments: a resource that the quiet one has alone is in it too.
    await sql`
      update resource_heartbeats set resource_type = 'worker' where deployment_id = ${noisy}`.execute(
      world.platform.db,
    );
    const summed = (await read(site, "/worker")).body.resources.map((row: { resourceId: string }) => row.resourceId);
    expect(summed).toEqual(expect.arrayContaining(["one", "two", "three", "well"]));
  });

  it("?name= finds by id, name and namespace, behind the cut too, and each name has its own tag", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await report(site, id, {
      resourceHeartbeats: [heartbeat("api"), heartbeat("name of api", { type: "queue" })],
      observedInventoryBatches: [inventory({ namespace: "shop" }, { namespace: "100%", resourceTypeHint: "worker" })],
    });
    const body = JSON.stringify(heartbeat("x"));
    await sql`
      insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
      select ${id}, 'container', 'a' || n, ${now()}, ${body}::jsonb from generate_series(1, 1001) n`.execute(
      world.platform.db,
    );
    const named = async (name: string, more: object = {}): Promise<string[]> => {
      const { resources, truncated } = (await read(site, "", { name, ...more })).body;
      expect(truncated).toBeUndefined();
      return resources.map(({ resourceId }: { resourceId: string }) => resourceId);
    };
    expect(await named("api")).toEqual(["api"]);
    expect(await named("name of api")).toEqual(["api", "name of api"]);
    expect(await named("name of api", { resourceType: "queue" })).toEqual(["name of api"]);
    expect(await named("shop/o0")).toEqual(["apps/v1:Deployment:shop:o0"]);
    expect(await named("100%/o1")).toEqual(["apps/v1:Deployment:shop:o1"]);
    for (const name of ["a", "o", "shop/o1", "/o0", "%", "API", "\u0001", "x".repeat(512)])
      expect(await named(name), name).toEqual([]);
    expect((await read(site, "", { name: "x".repeat(513) })).body.code).toBe("VALIDATION_ERROR");
    const tags = new Set<string | null>();
    for (const query of [{}, { name: "api" }, { name: "o0" }])
      tags.add((await read(site, "", query)).headers.get("etag"));
    expect(tags.size).toBe(3);
  });

  it("a list that is too long is cut, and says so", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const body = JSON.stringify(heartbeat("x"));
    await sql`
      insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
      select ${id}, 'container', 'r' || n, ${now()}, ${body}::jsonb from generate_series(1, 1001) n`.execute(
      world.platform.db,
    );
    for (const path of ["", "/container"]) {
      const { resources, truncated } = (await read(site, path)).body;
      expect([resources.length, truncated]).toEqual([1000, true]);
      expect(resources.at(-1).message).toBe("only the first 1000 rows are shown");
    }
  });
});
