import { sql } from "kysely";
import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const STATUS = { health: "unhealthy", lifecycle: "running", partial: false, stale: false, collectionIssues: [] };

onEachDatabase(
  "what a deployment may report",
  (world) => {
    const heartbeat = (id: string, size = 0) => ({
      resourceId: id,
      resourceType: "queue",
      controllerPlatform: "kubernetes",
      backend: "kubernetes",
      observedAt: world.clock.wallNow().toISOString(),
      data: { resourceType: "queue", data: { status: STATUS, name: id, more: "x".repeat(size) } },
      raw: [],
    });
    const observed = (id: string) => ({
      ...{ rawIdentity: id, providerKind: "Pod", displayName: id, health: "healthy", lifecycle: "running" },
      ...{ partial: false, providerStale: false },
    });
    const batch = (scope: string, ids: readonly string[]) => ({
      ...{ sourceKind: "operator", inventoryScope: scope, controllerPlatform: "kubernetes", backend: "kubernetes" },
      ...{ observedAt: world.clock.wallNow().toISOString(), complete: true, resources: ids.map(observed) },
    });
    const names = (from: number, count: number) => Array.from({ length: count }, (_, at) => `r-${from + at}`);
    const report = (site: Site, id: string, more: object) => site.report(id, "pending", more);
    const answered = ({ status, body }: Answer) => [status, body.code, body.context?.budget];
    const listed = async (site: Site) =>
      (await site.call("GET", "/v1/resources", { query: { project: site.project.name } })).body.resources as {
        deploymentId: string;
        resourceId: string;
      }[];

    it("a deployment that reports without end keeps the latest resources, is refused more objects and holds up no other", async () => {
      const site = await newSite(world);
      const [noisy, other] = [await site.deploy("noisy"), await site.deploy("other")];
      const send = (ids: readonly string[]) =>
        report(site, noisy, { resourceHeartbeats: ids.map((id) => heartbeat(id)) });
      expect((await send(names(0, 10))).status).toBe(200);
      // The same ones again are none more.
      expect((await send(names(0, 10))).status).toBe(200);
      // Those heard of longest ago give way: workloads are replaced by others, and no report says which are gone.
      world.clock.advance(1_000);
      expect((await send(names(5, 10))).status).toBe(200);
      const kept = (await listed(site)).map(({ resourceId }) => resourceId);
      expect(kept.toSorted()).toEqual(names(5, 10).toSorted());
      expect((await report(site, other, { resourceHeartbeats: [heartbeat("db")] })).status).toBe(200);
      const observe = (scope: string, ids: readonly string[]) =>
        report(site, other, { observedInventoryBatches: [batch(scope, ids)] });
      expect((await observe("pods", names(0, 20))).status).toBe(200);
      expect(answered(await observe("more", names(20, 1)))).toEqual([400, "BUDGET_EXCEEDED", "deployment-inventory"]);
      // What is gone leaves its place; names that come and go do not stay for ever.
      for (let turn = 1; turn < 4; turn += 1) {
        world.clock.advance(1_000);
        expect((await observe("pods", names(turn * 20, 20))).status).toBe(200);
      }
      const rows = await world.platform.db
        .selectFrom("inventory_rows")
        .select("raw_identity")
        .where("deployment_id", "=", other)
        .execute();
      expect(rows.length).toBeLessThanOrEqual(40);
      for (let count = 0; count < 2; count += 1) await observe(`empty-${count}`, []);
      expect(answered(await observe("one-too-many", []))).toEqual([
        400,
        "BUDGET_EXCEEDED",
        "deployment-inventory-scopes",
      ]);
    });

    it("large reports count by their bytes", async () => {
      const site = await newSite(world);
      const id = await site.deploy("large");
      const send = (name: string) => report(site, id, { resourceHeartbeats: [heartbeat(name, 30_000)] });
      expect((await send("a")).status).toBe(200);
      expect((await send("a")).status).toBe(200);
      expect(answered(await send("b"))).toEqual([400, "BUDGET_EXCEEDED", "deployment-report-bytes"]);
    });

    it("what is told within an hour counts; a deployment that flaps is refused for a while, and holds up no other", async () => {
      const site = await newSite(world);
      const [noisy, other] = [await site.deploy("noisy"), await site.deploy("other")];
      world.clock.hold();
      const tell = (id: string) => report(site, id, { resourceHeartbeats: [heartbeat("a", 30_000)] });
      let told = 0;
      while (told < 20 && (await tell(noisy)).status === 200) told += 1;
      // The last one goes beyond the 200 000 bytes.
      expect(told).toBe(7);
      const refused = await tell(noisy);
      expect(answered(refused)).toEqual([429, "RATE_LIMITED", "deployment-told-bytes"]);
      const seconds = Number(refused.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(60);
      expect((await tell(other)).status).toBe(200);
      // What lives and what is confirmed is heard all the same.
      const level = { digest: "0".repeat(16), heartbeats: 1, rows: 0, complete: true };
      const resourceLevel = { ...level, observedAt: world.clock.wallNow().toISOString() };
      expect((await report(site, noisy, { resourceLevel })).status).toBe(200);
      world.clock.advance((seconds - 1) * 1_000);
      expect((await tell(noisy)).status).toBe(429);
      world.clock.advance(1_000);
      expect((await tell(noisy)).status).toBe(200);
      world.clock.advance(3_600_000);
      for (let turn = 0; turn < 6; turn += 1) expect((await tell(noisy)).status).toBe(200);
    });

    it("a report that is refused costs its bytes, and a full one of nothing costs some", async () => {
      const site = await newSite(world);
      const [refused, empty] = [await site.deploy("refused"), await site.deploy("empty")];
      world.clock.hold();
      const huge = { resourceHeartbeats: [heartbeat("a", 60_000)] };
      const foreign = { resourceHeartbeats: [{ ...heartbeat("a", 60_000), deploymentId: empty }] };
      const answers: unknown[] = [];
      for (const more of [huge, foreign, huge, foreign, huge])
        answers.push(answered(await report(site, refused, more)));
      expect(answers).toEqual([
        [400, "BUDGET_EXCEEDED", "deployment-report-bytes"],
        [400, "VALIDATION_ERROR", undefined],
        [400, "BUDGET_EXCEEDED", "deployment-report-bytes"],
        [400, "VALIDATION_ERROR", undefined],
        [429, "RATE_LIMITED", "deployment-told-bytes"],
      ]);
      // Being refused for that costs none: time alone cures it.
      const seconds = Number((await report(site, refused, huge)).headers.get("retry-after"));
      world.clock.advance(seconds * 1_000);
      expect((await report(site, refused, { resourceHeartbeats: [heartbeat("a")] })).status).toBe(200);
      const full = () => {
        const observedAt = world.clock.wallNow().toISOString();
        const level = { digest: "0".repeat(16), heartbeats: 0, rows: 0, complete: true, full: true, observedAt };
        return report(site, empty, { resourceLevel: level });
      };
      let taken = 0;
      while (taken < 100 && (await full()).status === 200) taken += 1;
      expect(taken).toBe(49);
    });

    it("a project's list shows each deployment its share, so that one hides no other", async () => {
      const site = await newSite(world);
      const [noisy, other] = [await site.deploy("noisy"), await site.deploy("other")];
      await report(site, other, { resourceHeartbeats: [heartbeat("z-db")] });
      // Stored beside the budget, as by an earlier version: more than a list shows, and all of it wants attention.
      await sql`
        insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
        select ${noisy}, 'queue', 'r' || n, ${world.clock.wallNow()}, ${JSON.stringify(heartbeat("x"))}::jsonb
        from generate_series(1, 1100) n`.execute(world.platform.db);
      const rows = await listed(site);
      expect(rows).toHaveLength(1000);
      expect(rows.filter(({ deploymentId }) => deploymentId === other)).toHaveLength(1);
    });

    it("events of reports are left out beyond the budget, those of acts never", async () => {
      const site = await newSite(world);
      const [noisy, quiet] = [await site.deploy("noisy"), await site.deploy("quiet")];
      const progress = (count: number) =>
        Array.from({ length: count }, () => ({
          type: "AssumingRole",
          state: "success",
          at: world.clock.wallNow().toISOString(),
          data: { roleArn: "arn" },
        }));
      for (let turn = 0; turn < 3; turn += 1) {
        expect((await report(site, noisy, { progressEvents: progress(8) })).status).toBe(200);
      }
      const told = async (deploymentId: string, type: string) => {
        const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId, limit: 100 } })).body;
        return items.filter((event: { data: { type: string } }) => event.data.type === type).length;
      };
      expect(await told(noisy, "AssumingRole")).toBe(12);
      await report(site, quiet, { progressEvents: progress(1) });
      expect(await told(quiet, "AssumingRole")).toBe(1);
      // A failure is not hidden by progress, and what the vendor asks for is always written.
      expect((await site.report(noisy, "preflights-failed")).status).toBe(200);
      expect(await told(noisy, "DeploymentFailed")).toBe(1);
      const set = (key: string, value: string) =>
        world.call("PATCH", `/v1/deployments/${noisy}/environment-variables`, {
          key,
          body: { variables: [{ name: "A", value, type: "plain" }] },
        });
      for (let turn = 0; turn < 8; turn += 1) expect((await set(site.member, `v-${turn}`)).status).toBe(202);
      const customer = await site.workspace.key("deployment.manager", {
        type: "deployment",
        deploymentId: noisy,
        projectId: site.project.id,
      });
      // What the vendor did is none of the customer's.
      for (let turn = 0; turn < 6; turn += 1) expect((await set(customer, `mine-${turn}`)).status).toBe(202);
      // The customer's own act is refused with its event: neither is lost by itself.
      const refused = await set(customer, "mine");
      expect([refused.status, refused.body.code, refused.body.context.budget]).toEqual([
        429,
        "RATE_LIMITED",
        "deployment-request-events",
      ]);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await told(noisy, "DeploymentEnvironmentUpdated")).toBe(14);
      expect((await set(site.member, "again")).status).toBe(202);
      world.clock.advance(3_600_000);
      expect((await set(customer, "mine")).status).toBe(202);
    });

    it("a manager holds so many work feeds and no more; another manager's are its own", async () => {
      const [one, other] = [await newSite(world), await newSite(world)];
      const ending = new AbortController();
      const feed = (site: Site, wait: number, cursor?: string) =>
        world.call("GET", `/v1/managers/${site.manager.id}/work`, {
          key: site.manager.key,
          query: { wait, ...(cursor !== undefined && { cursor }) },
          signal: ending.signal,
        });
      const { cursor } = (await feed(one, 0)).body;
      // Each comes again until it is held: the third may have been there first.
      const hold = async (): Promise<void> => {
        let answer = await feed(one, 30, cursor);
        while (answer.status === 429) answer = await feed(one, 30, cursor);
      };
      const held = Array.from({ length: 2 }, () => hold().catch(() => undefined));
      let third = await feed(one, 0, cursor);
      while (third.status === 200) third = await feed(one, 0, cursor);
      expect([third.status, third.body.context]).toEqual([
        429,
        { budget: "manager-work-feeds", size: 2, tenant: one.manager.id },
      ]);
      expect((await feed(other, 0)).status).toBe(200);
      ending.abort();
      await Promise.all(held);
    });

    it("a deployment has so many open debug sessions, a user so many workspaces", async () => {
      const site = await newSite(world);
      const [noisy, other] = [await site.deploy("noisy"), await site.deploy("other")];
      const ask = (id: string) =>
        site.call("POST", `/v1/deployments/${id}/debug-requests`, {
          body: { reason: "it is slow", mode: "logs", namespace: "web", clientKey: "k".repeat(43) },
        });
      for (let count = 0; count < 3; count += 1) expect((await ask(noisy)).status).toBe(201);
      expect(answered(await ask(noisy))).toEqual([400, "BUDGET_EXCEEDED", "deployment-debug-sessions"]);
      expect((await ask(other)).status).toBe(201);
      const [maker, another] = [await world.user(), await world.user()];
      const make = (user: typeof maker, name: string) =>
        world.call("POST", "/v1/user/workspaces", { key: user.token, body: { name: `${name}-${user.id.slice(-8)}` } });
      for (let count = 0; count < 2; count += 1) expect((await make(maker, `mine-${count}`)).status).toBe(201);
      expect(answered(await make(maker, "third"))).toEqual([400, "BUDGET_EXCEEDED", "user-workspaces"]);
      expect((await make(another, "theirs")).status).toBe(201);
    });
  },
  {
    budgets: {
      "deployment-resources": 10,
      "deployment-inventory": 20,
      "deployment-inventory-scopes": 3,
      "deployment-report-bytes": 50_000,
      "deployment-told-bytes": 200_000,
      "deployment-progress-events": 12,
      "deployment-report-events": 5,
      "deployment-request-events": 6,
      "deployment-debug-sessions": 3,
      "manager-work-feeds": 2,
      "user-workspaces": 2,
    },
  },
);
