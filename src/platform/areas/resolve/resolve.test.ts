import { describe, expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { beat, newSite } from "../deployments/testing/site.ts";
import { type Candidate, choose } from "../managers/record/choice.ts";
import { newVendor } from "../managers/testing/customers.ts";

const NOW = new Date("2026-01-01T00:10:00Z");
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);
const manager = (name: string, facts: Partial<Candidate> = {}): Candidate & { name: string } => ({
  name,
  is_system: false,
  shared: false,
  setup_status: "active",
  setup_changed_at: ago(3600),
  status: "healthy",
  last_heartbeat_at: ago(30),
  ...facts,
});

describe("the choice of a manager", () => {
  const unheard = manager("unheard", { last_heartbeat_at: ago(181) });
  const ill = manager("ill", { status: "unhealthy" });
  const older = manager("older", { last_heartbeat_at: ago(60) });
  const system = manager("system", { is_system: true, setup_status: null });
  it.each([
    ["the default when it is live", unheard, [manager("healthy")], "unheard"],
    ["another when the default is being deleted", manager("gone", { setup_status: "deleting" }), [ill], "ill"],
    ["a private one before the system's, however ill", undefined, [system, ill], "ill"],
    ["the healthy before the ill", undefined, [ill, older], "older"],
    [
      "the customer's own before a shared one, however ill",
      undefined,
      [manager("all's", { shared: true }), ill],
      "ill",
    ],
    ["a shared one before the system's", undefined, [system, manager("all's", { shared: true })], "all's"],
    ["of equals the first, whichever was heard of last", undefined, [older, manager("newer")], "older"],
    ["a silent one when there is no other", undefined, [unheard], "unheard"],
    [
      "the system's when no private one is set up",
      undefined,
      [manager("new", { setup_status: "provisioning" }), system],
      "system",
    ],
    ["none when there is none", undefined, [], undefined],
  ])("is %s", (_, preferred, all, chosen) => {
    expect(choose(preferred, all, NOW)?.name).toBe(chosen);
  });
});

onEachDatabase("resolve", (world) => {
  const resolve = (key: string, query: Record<string, string>) => world.call("GET", "/v1/resolve", { key, query });

  it("a workspace key names its project; a project key need not", async () => {
    const site = await newSite(world);
    expect((await resolve(site.admin, { platform: "kubernetes" })).body.code).toBe("PROJECT_REQUIRED");
    const named = await resolve(site.admin, { platform: "kubernetes", project: site.project.name });
    expect(named.body).toEqual({
      managerId: site.manager.id,
      managerName: "a-manager",
      managerUrl: "https://manager.example.com",
      managerIsSystem: false,
      managerCloud: null,
      projectId: site.project.id,
      installContext: { platform: "kubernetes", managementConfig: { platform: "kubernetes" } },
    });
    const viewer = await site.workspace.key("project.viewer", { type: "project", projectId: site.project.id });
    expect((await resolve(viewer, { platform: "kubernetes" })).body.managerId).toBe(site.manager.id);
  });

  it("a deployment key gets the manager of its deployment, on its own platform only", async () => {
    const site = await newSite(world);
    const other = await site.workspace.manager();
    await beat(world, other);
    const deploymentId = await site.deploy("one");
    const scope = { type: "deployment", deploymentId, projectId: site.project.id } as const;
    const key = await site.workspace.key("deployment.telemetry-writer", scope);
    expect((await resolve(key, { platform: "kubernetes" })).body.managerId).toBe(site.manager.id);
    expect((await resolve(key, { platform: "machines" })).body.code).toBe("MANAGER_NOT_AVAILABLE");
  });

  it("of a project's only group is the group's manager, and of several it is asked for the group", async () => {
    const vendor = await newVendor(world);
    const { groupId, manager } = await vendor.customer("one");
    const query = { platform: "kubernetes", project: vendor.project.id };
    const developer = await vendor.workspace.key("project.developer", { type: "project", projectId: query.project });
    for (const key of [vendor.admin, developer]) expect((await resolve(key, query)).body.managerId).toBe(manager.id);
    await vendor.group("two");
    const several = await resolve(vendor.admin, query);
    expect(several.body).toMatchObject({
      code: "MANAGER_NOT_AVAILABLE",
      hint: expect.stringContaining("deploymentGroup"),
    });
    expect((await resolve(vendor.admin, { ...query, deploymentGroup: groupId })).body.managerId).toBe(manager.id);
  });

  it("without a manager there is none, without its address it is not ready", async () => {
    const workspace = await world.workspace();
    const key = await workspace.key("workspace.admin");
    await world.call("POST", "/v1/projects", { key, body: { name: "shop" } });
    const query = { platform: "azure", project: "shop" };
    expect((await resolve(key, query)).body.code).toBe("MANAGER_NOT_AVAILABLE");
    const { id } = await world.platform.bootstrap.manager({
      workspaceId: workspace.id,
      name: "m",
      targets: ["azure"],
      shared: true,
    });
    await world.platform.db.updateTable("managers").set({ setup_status: "active" }).where("id", "=", id).execute();
    const answer = await resolve(key, query);
    expect([answer.status, answer.body.code, answer.headers.get("retry-after")]).toEqual([
      503,
      "MANAGER_NOT_READY",
      "5",
    ]);
  });
});
