import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { judged } from "../../kernel/tenancy/stored-error.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

onEachDatabase("sync", (world) => {
  let requests = 0;
  const acquire = async (site: Site, session: string, more: object = {}): Promise<Answer> => {
    requests += 1;
    const body = { session, requestId: `r-${requests}`, deploymentModel: "pull", ...more };
    for (;;) {
      const answer = await site.sync("acquire", body);
      if (answer.body.code !== "CONFLICT") return answer;
    }
  };
  const idsOf = (answer: Answer): string[] =>
    answer.body.deployments.map((item: { deploymentId: string }) => item.deploymentId);
  const now = (addMs = 0): string => new Date(world.clock.wallNow().getTime() + addMs).toISOString();
  /** Further apart than any request takes, for the clock goes on. */
  const minutesAgo = (minutes: number): string => now(-minutes * 60_000);

  it("fifty sessions at once get disjoint deployments, and all of them", async () => {
    const site = await newSite(world);
    const ids: string[] = [];
    for (let index = 0; index < 30; index += 1) ids.push(await site.deploy(`d-${index}`));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => acquire(site, `s-${index}`, { limit: 2 })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
    const taken = answers.flatMap(idsOf);
    expect(new Set(taken).size).toBe(taken.length);
    // Whoever met only locked rows got nothing; nobody else may have them meanwhile.
    const rest = idsOf(await acquire(site, "last", { limit: 100 }));
    expect([...taken, ...rest].toSorted()).toEqual(ids.toSorted());
  });

  it("a lapsed lease is free to others, a renewed one is not, and a lost one is told", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    expect(idsOf(await acquire(site, "a"))).toEqual([id]);
    expect(idsOf(await acquire(site, "b"))).toEqual([]);
    world.clock.advance(60_000);
    expect(idsOf(await acquire(site, "b"))).toEqual([id]);
    const renew = (session: string) => site.sync("renew", { session, deploymentIds: [id] });
    expect((await renew("a")).body.code).toBe("LEASE_LOST");
    expect((await renew("b")).body).toMatchObject({ success: true, leases: [{ deploymentId: id, renewed: true }] });
    world.clock.advance(290_000);
    expect(idsOf(await acquire(site, "a"))).toEqual([]);
    world.clock.advance(10_000);
    expect(idsOf(await acquire(site, "a"))).toEqual([id]);
    expect((await site.sync("release", { deploymentId: id, session: "b" })).body).toEqual({ success: true });
    expect(idsOf(await acquire(site, "b"))).toEqual([]);
    expect((await site.sync("release", { deploymentId: id, session: "a" })).body).toEqual({ success: true });
    expect(idsOf(await acquire(site, "b"))).toEqual([id]);
  });

  it("where logs are sent is told with telemetry auto alone", async () => {
    const site = await newSite(world);
    const otlpConfig = { logsEndpoint: "https://logs.example.com/v1/logs", logsAuthHeader: "Bearer one" };
    const body = { name: "logs", cloud: "aws", region: "eu-central-1", otlpConfig };
    const made = await world.call("POST", "/v1/managers", { key: site.admin, body });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { db } = world.platform;
    await sql`
      update managers set otlp_config = (select otlp_config from managers where id = ${made.body.managerId})
      where id = ${site.manager.id}`.execute(db);
    const monitoring = async (name: string, telemetry?: string) => {
      const deploymentId = await site.deploy(name, telemetry === undefined ? {} : { stackSettings: { telemetry } });
      return (await site.sync("context", { deploymentId })).body.config.monitoring;
    };
    expect(await monitoring("usual")).toMatchObject(otlpConfig);
    expect(await monitoring("auto", "auto")).toMatchObject(otlpConfig);
    expect([await monitoring("off", "off"), await monitoring("asked", "approval-required")]).toEqual([null, null]);
  });

  it("a repeated acquire gives the same again while it is held, and nothing new", async () => {
    const site = await newSite(world);
    const first = await site.deploy("one");
    const again = { requestId: "same" };
    expect(idsOf(await acquire(site, "a", again))).toEqual([first]);
    const second = await site.deploy("two");
    expect(idsOf(await acquire(site, "a", again))).toEqual([first]);
    expect(idsOf(await acquire(site, "b", again))).toEqual([second]);
    await site.sync("release", { deploymentId: first, session: "a" });
    expect(idsOf(await acquire(site, "a", again))).toEqual([]);
    world.clock.advance(3_600_000);
    expect(idsOf(await acquire(site, "a", again)).toSorted()).toEqual([first, second].toSorted());
  });

  it("a running deployment is handed out once a minute, a delayed one not before its time, delete work first", async () => {
    const site = await newSite(world);
    const [a, b] = [await site.deploy("aa"), await site.deploy("bb")];
    await site.report(a, "running");
    await site.report(b, "running", { suggestedDelayMs: 120_000 });
    expect(idsOf(await acquire(site, "s"))).toEqual([a]);
    await site.sync("release", { deploymentId: a, session: "s" });
    expect(idsOf(await acquire(site, "s"))).toEqual([]);
    world.clock.advance(60_000);
    expect(idsOf(await acquire(site, "s"))).toEqual([a]);
    world.clock.advance(60_000);
    await site.call("DELETE", `/v1/deployments/${b}`);
    expect(idsOf(await acquire(site, "t"))).toEqual([b, a]);
  });

  it("retry is wished at once and done when the work is acquired", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const error = { code: "PROVISIONING_FAILED", message: "no room", internal: false };
    expect((await site.report(id, "provisioning-failed", {}, { error })).status).toBe(200);
    const read = async () => (await site.call("GET", `/v1/deployments/${id}`)).body;
    expect(await read()).toMatchObject({ status: "provisioning-failed", error: { ...error, retryable: false } });
    expect(idsOf(await acquire(site, "s"))).toEqual([]);
    expect((await site.call("POST", `/v1/deployments/${id}/retry`)).status).toBe(202);
    expect(await read()).toMatchObject({ status: "provisioning-failed", retryRequested: true });
    const acquired = await acquire(site, "s");
    expect(acquired.body.deployments).toMatchObject([
      { deploymentId: id, current: { status: "provisioning", error: null } },
    ]);
    expect(await read()).toMatchObject({ status: "provisioning", retryRequested: false });
    expect((await site.call("POST", `/v1/deployments/${id}/retry`)).body.code).toBe("INVALID_STATE_TRANSITION");
  });

  it("an illegal report is refused with what would be legal, and nothing of it is stored", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const answer = await site.report(id, "updating", {
      operatorVersion: "1.2.3",
      resourceHeartbeats: [heartbeat(now())],
    });
    expect(answer.body).toMatchObject({
      code: "INVALID_STATE_TRANSITION",
      context: { from: "pending", to: "updating", allowed: expect.arrayContaining(["running", "initial-setup"]) },
    });
    const read = (await site.call("GET", `/v1/deployments/${id}`)).body;
    expect(read).toMatchObject({ status: "pending", operatorVersion: null, lastHeartbeatAt: null });
    const rows = await world.platform.db
      .selectFrom("resource_heartbeats")
      .selectAll()
      .where("deployment_id", "=", id)
      .execute();
    expect(rows).toEqual([]);
  });

  it("a push report needs the lease, and another platform or protocol is refused", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop", { stackSettings: { deploymentModel: "push" } });
    expect((await site.report(id, "initial-setup")).body.code).toBe("VALIDATION_ERROR");
    expect((await site.report(id, "initial-setup", { session: "s" })).body.code).toBe("LEASE_LOST");
    expect(idsOf(await acquire(site, "s", { deploymentModel: "push" }))).toEqual([id]);
    expect((await site.report(id, "initial-setup", { session: "s" })).status).toBe(200);
    const strange = await site.report(id, "provisioning", { session: "s" }, { platform: "aws" });
    expect(strange.body).toMatchObject({
      code: "VALIDATION_ERROR",
      context: { issues: [{ path: "body.state.platform" }] },
    });
    const old = await site.report(id, "provisioning", { session: "s" }, { protocolVersion: 2 });
    expect(old.body.code).toBe("INCOMPATIBLE_DEPLOYMENT_PROTOCOL");
  });

  it("a pull report without a session is locked out only by a confirmed lease", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await acquire(site, "s");
    expect((await site.report(id, "running")).status).toBe(200);
    await site.sync("renew", { session: "s", deploymentIds: [id] });
    expect((await site.report(id, "running")).body).toMatchObject({ code: "DEPLOYMENT_LOCKED", retryable: true });
    expect((await site.report(id, "running", { session: "s" })).status).toBe(200);
  });

  it("managers see their own deployments only, and a named other manager looks absent", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const other = await site.workspace.manager();
    const as = (path: string, body: object) => world.call("POST", `/v1/sync/${path}`, { key: other.key, body });
    expect((await as("list", {})).body.deployments).toEqual([]);
    expect((await as("list", { managerId: site.manager.id })).status).toBe(404);
    expect((await as("context", { deploymentId: id })).status).toBe(404);
    expect((await as("renew", { session: "s", deploymentIds: [id] })).status).toBe(404);
    expect((await as("release", { session: "s", deploymentId: id })).status).toBe(404);
    const state = { status: "running", platform: "kubernetes", protocolVersion: 1 };
    expect((await as("reconcile", { deploymentId: id, state })).status).toBe(404);
    const body = { session: "s", requestId: "r", deploymentModel: "pull" };
    expect((await as("acquire", body)).body.deployments).toEqual([]);
  });

  it("a deployment that an admin moves to another manager is told to both, and takes its lease with it", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const other = await site.workspace.manager();
    await acquire(site, "s");
    const patch = (key: string) => world.call("PATCH", `/v1/deployments/${id}`, { key, body: { managerId: other.id } });
    expect((await patch(site.member)).body.code).toBe("FORBIDDEN");
    await site.sync("renew", { session: "s", deploymentIds: [id] });
    const work = async (manager: { id: string; key: string }, cursor?: string) => {
      const query = cursor === undefined ? {} : { cursor };
      return (await world.call("GET", `/v1/managers/${manager.id}/work`, { key: manager.key, query })).body;
    };
    const [mine, theirs] = [await work(site.manager), await work(other)];
    expect((await patch(site.admin)).body.managerId).toBe(other.id);
    const told = [{ topic: "deployments", deploymentId: id }];
    expect((await work(site.manager, mine.cursor)).topics).toEqual(told);
    expect((await work(other, theirs.cursor)).topics).toEqual(expect.arrayContaining(told));
    expect((await site.report(id, "running", { session: "s" })).body.code).toBe("NOT_FOUND");
    const body = { session: "t", requestId: "r", deploymentModel: "pull" };
    const taken = await world.call("POST", "/v1/sync/acquire", { key: other.key, body });
    expect(taken.body.deployments).toMatchObject([{ deploymentId: id }]);
    const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId: id } })).body;
    expect(items.map(({ data }: { data: object }) => data).slice(0, 1)).toMatchObject([
      {
        type: "DeploymentEnvironmentUpdated",
        changedKeys: ["managerId"],
        managerId: other.id,
        previousManagerId: site.manager.id,
        actor: { kind: "serviceAccount" },
      },
    ]);
  });

  describe("observations", () => {
    const stored = (id: string) =>
      world.platform.db.selectFrom("resource_heartbeats").selectAll().where("deployment_id", "=", id).execute();
    const inventory = async (id: string) => {
      const rows = world.platform.db
        .selectFrom("inventory_rows")
        .select("raw_identity")
        .where("deployment_id", "=", id);
      const live = await rows.where("removed_at", "is", null).orderBy("raw_identity").execute();
      return live.map((row) => row.raw_identity);
    };

    it("the latest heartbeat of a resource stays, an older one is ignored, and the future counts as now", async () => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const beat = (at: string, health: string) =>
        site.report(id, "running", { resourceHeartbeats: [heartbeat(at, health)] });
      await beat(minutesAgo(10), "healthy");
      await beat(minutesAgo(20), "unhealthy");
      expect((await stored(id)).map((row) => judged(row.body).data.data.status.health)).toEqual(["healthy"]);
      await beat(now(3_600_000), "degraded");
      const [row] = await stored(id);
      expect(row && judged(row.body).data.data.status.health).toBe("degraded");
      expect(row?.observed_at.getTime()).toBeLessThanOrEqual(world.clock.wallNow().getTime());
    });

    it("data that is not of its type's shape is refused, with its path", async () => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const bad = heartbeat(now());
      bad.data.data.pods = "three";
      const answer = await site.report(id, "running", { resourceHeartbeats: [bad] });
      expect(answer.body).toMatchObject({
        code: "VALIDATION_ERROR",
        context: {
          issues: [
            {
              path: "body.resourceHeartbeats.0.data.data.pods",
              message: expect.stringMatching(/^of a container must /),
            },
          ],
        },
      });
    });

    it("a complete list removes what it leaves out, a partial one does not, an old one is ignored", async () => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const report = (batch: object) => site.report(id, "running", { observedInventoryBatches: [batch] });
      await report(batchOf(minutesAgo(40), ["a", "b", "c"]));
      expect(await inventory(id)).toEqual(["a", "b", "c"]);
      await report(batchOf(minutesAgo(20), ["a"], { complete: false }));
      expect(await inventory(id)).toEqual(["a", "b", "c"]);
      await report(batchOf(minutesAgo(30), []));
      expect(await inventory(id)).toEqual(["a", "b", "c"]);
      const at = minutesAgo(10);
      await report(batchOf(at, ["a"], { part: { index: 0, count: 2 } }));
      expect(await inventory(id)).toEqual(["a", "b", "c"]);
      await report(batchOf(at, ["d"], { part: { index: 1, count: 2 } }));
      expect(await inventory(id)).toEqual(["a", "d"]);
    });

    it("one observed version of an observed deployment is shown as its version", async () => {
      const site = await newSite(world);
      const id = await site.deploy("shop", { operatorPermission: "observe" });
      const report = (at: string, versions: string[]) =>
        site.report(id, "running", { observedInventoryBatches: [batchOf(at, versions, {}, versions)] });
      await report(minutesAgo(20), ["1.4.2"]);
      const read = async () => (await site.call("GET", `/v1/deployments/${id}`)).body.environmentInfo;
      expect(await read()).toMatchObject({ platform: "kubernetes", observedVersion: "1.4.2" });
      await report(minutesAgo(10), ["1.4.2", "1.5.0"]);
      expect(await read()).toMatchObject({ observedVersion: null });
    });
  });
});

function heartbeat(observedAt: string, health = "healthy") {
  const status = { health, lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
  const data: Record<string, unknown> = {
    status,
    backend: "kubernetes",
    workloadKind: "deployment",
    namespace: "shop",
    name: "api",
    replicas: { desired: 3, ready: 3 },
    pods: [],
    events: [],
  };
  return {
    resourceId: "api",
    resourceType: "container",
    controllerPlatform: "kubernetes",
    backend: "kubernetes",
    observedAt,
    data: { resourceType: "container", data },
    raw: [],
  };
}

function batchOf(
  observedAt: string,
  identities: readonly string[],
  more: object = {},
  versions: readonly string[] = [],
) {
  return {
    sourceKind: "operator",
    inventoryScope: "kubernetes:apps/v1:Deployment:shop",
    controllerPlatform: "kubernetes",
    backend: "kubernetes",
    observedAt,
    complete: true,
    resources: identities.map((rawIdentity, index) => ({
      rawIdentity,
      providerKind: "Deployment",
      displayName: rawIdentity,
      health: "healthy",
      lifecycle: "running",
      partial: false,
      providerStale: false,
      ...(versions[index] !== undefined && { version: versions[index] }),
    })),
    ...more,
  };
}
