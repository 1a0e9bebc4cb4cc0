import { expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { logIdle } from "../areas/managers/idle.ts";
import { newVendor } from "../areas/managers/testing/customers.ts";
import { openDatabase } from "../database/open.ts";
import { inMemory } from "../testing/empty-database.ts";
import { OWN_PLATFORM, onEachDatabase } from "../testing/harness.ts";
import { type Administration, administer } from "./administration.ts";
import { createBootstrap } from "./bootstrap.ts";
import { serveManager } from "./manager-administration.ts";
import { RefusedError } from "./refused-error.ts";

const inEmpty = async <T>(work: (administration: Administration) => Promise<T>) => administer(await inMemory(), work);

it("makes workspaces, keys and managers, lists and revokes them", async () => {
  await inEmpty(async (admin) => {
    const { id } = await admin.createWorkspace("acme");
    const manager = await admin.createManager({ name: "eu", workspace: "acme", targets: ["kubernetes"] });
    const shared = await admin.createManager({ name: "shared" });
    const key = await admin.createKey({ workspace: "acme", role: "workspace.member", description: "on call" });
    expect(await admin.workspaces()).toEqual([{ id, name: "acme", createdAt: expect.any(String) }]);
    expect(key.key).toMatch(/^sp_w_/);
    expect(manager.key).toMatch(/^sp_m_/);
    expect(await admin.keys("acme")).toHaveLength(2);
    expect((await admin.keys(undefined)).map((line) => line.id)).toContain(shared.keyId);
    expect(await admin.revokeKey(key.id)).toBe(true);
    expect(await admin.revokeKey(key.id)).toBe(false);
    expect((await admin.keys("acme")).find((line) => line.id === key.id)).toMatchObject({
      role: "workspace.member",
      description: "on call",
      state: "revoked",
    });
  });
});

it("says what is wrong, and does nothing of it", async () => {
  await inEmpty(async (admin) => {
    await admin.createWorkspace("acme");
    const refusals: readonly [Promise<unknown>, RegExp][] = [
      [admin.createWorkspace("acme"), /there is a workspace acme already/],
      [admin.createWorkspace("A!"), /cannot be a workspace/],
      [admin.createKey({ workspace: "nope", role: "workspace.admin" }), /there is no workspace nope/],
      [admin.createKey({ workspace: "acme", role: "boss" }), /boss is no role; there are workspace\.viewer/],
      [admin.createKey({ workspace: "acme", role: "project.viewer" }), /needs --project/],
      [admin.createKey({ workspace: "acme", role: "workspace.admin", project: "shop" }), /takes no --project/],
      [admin.createKey({ workspace: "acme", role: "project.viewer", project: "shop" }), /no project shop/],
      [admin.createKey({ workspace: "acme", role: "workspace.admin", expiresAt: new Date(0) }), /in the past/],
      [admin.createManager({ name: "x", targets: ["moon"] }), /moon is no target/],
      [admin.createManager({ name: "x", shared: true }), /a system manager serves every group/],
      [admin.createManager({ name: "x", workspace: "acme", group: "dg_x" }), /no deployment-group dg_x in that/],
      [admin.createManager({ name: "x", workspace: "acme", group: "dg_x", shared: true }), /exclude each other/],
      [admin.serveManager("mgr_x", { shared: true }), /there is no manager mgr_x/],
      [admin.revokeKey("apikey_x"), /there is no key apikey_x/],
    ];
    for (const [refusal, words] of refusals) {
      await expect(refusal).rejects.toThrow(words);
      await expect(refusal).rejects.toBeInstanceOf(RefusedError);
    }
    expect(await admin.keys(undefined)).toEqual([]);
  });
});

it("makes the first workspace once", async () => {
  const { db, close } = await openDatabase(await inMemory());
  const bootstrap = createBootstrap(db, systemClock);
  const answers = await Promise.all([bootstrap.first("acme"), bootstrap.first("acme")]);
  expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
  await close();
});

onEachDatabase(
  "a database in use",
  (world) => {
    it("has no first start", async () => {
      await world.workspace();
      expect(await world.platform.bootstrap.first("acme")).toBeUndefined();
    });

    it("has its managers told whom they serve, and says at a start what is left to decide", async () => {
      const { db, bootstrap } = world.platform;
      const vendor = await newVendor(world);
      const { token, groupId, manager } = await vendor.customer("customer");
      const { id } = await vendor.deploy(token, "shop");
      const waits = async () =>
        (await vendor.as(vendor.admin, "GET", `/v1/deployments/${id}`)).body.waitsFor === "manager";
      const said = async () => {
        const lines: [object, string][] = [];
        const warn = (fields: object, text: string) => void lines.push([fields, text]);
        await logIdle(db, { ...silentLogger, warn });
        return lines;
      };
      expect(await said()).toEqual([]);
      await serveManager(db, world.clock, manager.id, {});
      expect(await waits()).toBe(true);
      expect(await said()).toEqual([
        [
          { count: 1, managers: [manager.id] },
          expect.stringMatching(/serve no deployment group; .* managers serve ID/),
        ],
        [
          { count: 1, deployments: [id], previous: [manager.id] },
          expect.stringMatching(
            /wait for their manager; .* unless it serves a group already: then move the deployment/,
          ),
        ],
      ]);
      await serveManager(db, world.clock, manager.id, { group: groupId });
      expect(await waits()).toBe(false);
      await serveManager(db, world.clock, manager.id, { shared: true });
      expect(await waits()).toBe(false);
      expect(await said()).toEqual([]);
      const system = await bootstrap.systemManager({ name: "system" });
      await expect(serveManager(db, world.clock, system.id, { shared: true })).rejects.toThrow(/cannot go from system/);
    });
  },
  OWN_PLATFORM,
);
