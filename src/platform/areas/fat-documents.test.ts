import { sql } from "kysely";
import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../testing/harness.ts";
import { newSite } from "./deployments/testing/site.ts";

const issueOf = ({ status, body }: Answer) => [status, body.code, body.context?.issues?.[0]];
const refused = (path: string, message: string) => [400, "VALIDATION_ERROR", { path, message }];
const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
const MIB = 1024 * 1024;

onEachDatabase(
  "large documents",
  (world) => {
    it("are refused beyond their limit in bytes or values, and nothing of them stays", async () => {
      const site = await newSite(world);
      const create = (name: string, more: object) =>
        site.call("POST", "/v1/deployments", {
          body: { name, platform: "kubernetes", deploymentGroupId: site.group.id, ...more },
        });
      expect(issueOf(await create("fat", { setupMetadata: { a: "x".repeat(16_384) } }))).toEqual(
        refused("body.setupMetadata", "is larger than 16384 bytes"),
      );
      expect(issueOf(await create("fat", { setupMetadata: named(1025) }))).toEqual(
        refused("body.setupMetadata", "has more than 1024 values"),
      );
      expect(issueOf(await create("fat", { stackSettings: { externalBindings: { a: "x".repeat(65_536) } } }))).toEqual(
        refused("body.stackSettings", "is larger than 65536 bytes"),
      );
      expect(await site.deploy("fat", { setupMetadata: named(1024) })).toMatch(/^dep_/);
      const id = await site.deploy("reports");
      const stackState = (size: number) => ({
        ...{ platform: "kubernetes", resourcePrefix: "shop" },
        resources: { api: { type: "container", status: "running", config: { a: "x".repeat(size) } } },
      });
      const report = (size: number) =>
        site.sync("reconcile", {
          deploymentId: id,
          state: { status: "pending", platform: "kubernetes", protocolVersion: 1, stackState: stackState(size) },
        });
      expect(issueOf(await report(262_144))).toEqual(refused("body.state.stackState", "is larger than 262144 bytes"));
      expect((await report(200_000)).status).toBe(200);
    });

    it("make pages shorter, whose cursor goes on behind what was shown", async () => {
      const site = await newSite(world);
      const made: string[] = [];
      for (let at = 0; at < 5; at += 1) made.push(await site.deploy(`d-${at}`));
      // As an earlier version has stored them.
      const fat = JSON.stringify({ a: "x".repeat(0.9 * MIB) });
      const state = JSON.stringify({ platform: "kubernetes", resourcePrefix: "shop", resources: {}, more: fat });
      await sql`
        update deployments set setup_metadata = ${fat}::jsonb, stack_state = ${state}::jsonb
        where id = any (${made}::text[])`.execute(world.platform.db);
      const shown: string[] = [];
      const sizes: number[] = [];
      let cursor: string | null = null;
      do {
        const query: Record<string, string | number> = { limit: 100, ...(cursor !== null && { cursor }) };
        const { body } = await site.call("GET", "/v1/deployments", { query });
        expect(JSON.stringify(body).length).toBeLessThan(2.1 * MIB);
        sizes.push(body.items.length);
        shown.push(...body.items.map(({ id }: { id: string }) => id));
        cursor = body.nextCursor;
      } while (cursor !== null);
      expect(sizes).toEqual([2, 2, 1]);
      expect(shown).toEqual(made.toReversed());
      const synced: string[] = [];
      let after: string | undefined;
      do {
        const { body } = await site.sync("list", { limit: 500, ...(after !== undefined && { after }) });
        expect(JSON.stringify(body).length).toBeLessThan(2.1 * MIB);
        synced.push(...body.deployments.map(({ id }: { id: string }) => id));
        after = body.nextAfter;
      } while (after !== undefined);
      expect(synced).toEqual(made.toSorted());
      const acquired: string[] = [];
      for (let turn = 0; turn < 3 && acquired.length < made.length; turn += 1) {
        const { body } = await site.sync("acquire", {
          ...{ session: "s", requestId: `r-${turn}`, deploymentModel: "pull", limit: 100 },
        });
        acquired.push(...body.deployments.map(({ deploymentId }: { deploymentId: string }) => deploymentId));
        if (turn === 0) expect(acquired).toHaveLength(3);
      }
      expect(acquired.toSorted()).toEqual(made.toSorted());
    });

    it("a manager's acquires are remembered up to its budget, the oldest give way", async () => {
      const site = await newSite(world);
      for (let turn = 0; turn < 5; turn += 1) {
        await site.sync("acquire", { session: "s", requestId: `r-${turn}`, deploymentModel: "pull" });
        world.clock.advance(1000);
      }
      const kept = await world.platform.db
        .selectFrom("acquires")
        .select("request_id")
        .where("manager_id", "=", site.manager.id)
        .orderBy("request_id")
        .execute();
      expect(kept.map(({ request_id }) => request_id)).toEqual(["r-2", "r-3", "r-4"]);
    });

    it("a deployment has so many commands an hour, so many bytes of them, and so many machines", async () => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const beat = () =>
        world.call("POST", `/v1/managers/${site.manager.id}/heartbeat`, {
          key: site.manager.key,
          body: { status: "healthy", url: "https://m.example.com", managementConfigs: {} },
        });
      await beat();
      const resources = { api: { type: "container", status: "running", config: { commandsEnabled: true } } };
      const stackState = { platform: "kubernetes", resourcePrefix: "shop", resources };
      const running = (status: string) =>
        site.sync("reconcile", {
          deploymentId: id,
          state: { status, platform: "kubernetes", protocolVersion: 1, stackState },
          capabilities: [{ key: "machines", state: "granted" }],
        });
      for (const status of ["initial-setup", "provisioning"]) expect((await running(status)).status).toBe(200);
      const ask = (params: object) =>
        site.call("POST", "/v1/commands", { body: { deploymentId: id, name: "work", params } });
      const answered = ({ status, body }: Answer) => [status, body.code, body.context?.budget];
      expect((await ask({ a: "x".repeat(6000) })).status).toBe(201);
      expect(answered(await ask({ a: "x".repeat(6000) }))).toEqual([
        ...[400, "BUDGET_EXCEEDED", "deployment-command-bytes"],
      ]);
      expect((await ask({})).status).toBe(201);
      expect((await ask({})).status).toBe(201);
      expect(answered(await ask({}))).toEqual([429, "RATE_LIMITED", "deployment-commands"]);
      world.clock.advance(3_600_000);
      await beat();
      expect((await ask({})).status).toBe(201);
      const at = world.clock.wallNow().toISOString();
      const capacity = { allocated: 0, systemReserve: 0, total: 1 };
      const machine = (machineId: string, zone = "a") => ({
        ...{ machineId, status: "ready", capacityGroup: "default", zone, cpu: capacity, memory: capacity },
        ...{ drainBlockers: [], lastHeartbeat: at, localOverrides: [], replicaCount: 0 },
      });
      const tell = (machines: object[]) =>
        world.call("POST", `/v1/machines/deployments/${id}/inventory`, {
          key: site.manager.key,
          body: { observedAt: world.clock.wallNow().toISOString(), complete: false, machines },
        });
      expect(await tell(["a", "b", "c"].map((name) => machine(name)))).toMatchObject({ status: 200 });
      expect(answered(await tell([machine("d")]))).toEqual([400, "BUDGET_EXCEEDED", "deployment-machines"]);
      expect(answered(await tell(["a", "b", "c"].map((name) => machine(name, "z".repeat(500)))))).toEqual([
        ...[400, "BUDGET_EXCEEDED", "deployment-machine-bytes"],
      ]);
    });
  },
  {
    budgets: {
      "manager-acquires": 3,
      "deployment-commands": 3,
      "deployment-command-bytes": 10_000,
      "deployment-machines": 3,
      "deployment-machine-bytes": 1500,
    },
  },
);
