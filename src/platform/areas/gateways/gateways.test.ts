import { describe, expect, it } from "vitest";
import type { ItemStatus } from "../../../contract/deployment-portal/deployment-info.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";
import { type ItemDeployment, itemStatus } from "./item-status.ts";

const told = (
  status: ItemDeployment["status"],
  connectivity: ItemDeployment["connectivity"],
  unhealthy = false,
  provides = true,
) => ({ status, connectivity, unhealthy, provides });

const HEALTHY = {
  ...{ health: "healthy", lifecycle: "running", message: "", partial: false, stale: false },
  collectionIssues: [],
};

describe("the status of a group's item", () => {
  it.each<[ItemDeployment | undefined, ItemStatus]>([
    [undefined, "not-started"],
    [told("pending", "never"), "waiting"],
    [told("waiting-for-machines", "online"), "waiting"],
    [told("initial-setup", "never"), "applying"],
    [told("provisioning", "online", true), "applying"],
    [told("updating", "online"), "applying"],
    [told("updating", "never"), "applying"],
    [told("updating", "stale"), "needs-attention"],
    [told("update-pending", "online", true), "needs-attention"],
    [told("teardown-failed", "online"), "revoked"],
    [told("teardown-failed", "never"), "needs-attention"],
    [told("running", "never"), "verifying"],
    [told("running", "online"), "connected"],
    [told("running", "online", false, false), "verifying"],
    [told("running", "online", true, false), "needs-attention"],
    [told("running", "online", true), "needs-attention"],
    [told("running", "stale"), "needs-attention"],
    [told("provisioning-failed", "online"), "needs-attention"],
    [told("error", "online"), "needs-attention"],
    [told("deleting", "online"), "revoked"],
    [told("deleted", "stale"), "revoked"],
    [told("deleted", "never"), "not-started"],
    [told("delete-failed", "online"), "needs-attention"],
  ])("%j is %s", (deployment, status) => {
    expect(itemStatus(deployment)).toBe(status);
  });
});

onEachDatabase("gateways", (world) => {
  it("counts each project's customers by the deployment of the gateway's purpose", async () => {
    const site = await newSite(world);
    const overview = async (gateway: string, key = site.member) =>
      (await world.call("GET", `/v1/gateways/${gateway}/overview`, { key })).body;
    const empty = await overview("ai");
    expect(empty.projects).toMatchObject([{ id: site.project.id, state: "not-set-up", connectedCustomers: 0 }]);
    expect(empty.summary).toMatchObject({ totalProjects: 1, gatewayProjects: 0 });

    const id = await site.deploy("models");
    // Portals set the purpose, by the item that is set up.
    const { db } = world.platform;
    await db.updateTable("deployments").set({ purpose: "ai" }).where("id", "=", id).execute();
    expect((await overview("ai")).projects).toMatchObject([{ state: "setup-in-progress", settingUpCustomers: 1 }]);
    await site.report(id, "running");
    // Nothing says yet that there is a model.
    expect((await overview("ai")).projects).toMatchObject([{ state: "setup-in-progress", settingUpCustomers: 1 }]);
    const heartbeat = {
      ...{ resourceId: "models", resourceType: "ai", controllerPlatform: "kubernetes", backend: "external" },
      ...{ observedAt: world.clock.wallNow().toISOString(), raw: [] },
      data: { resourceType: "ai", data: { status: HEALTHY, backend: "external", name: "models" } },
    };
    const answer = await site.report(id, "running", { resourceHeartbeats: [heartbeat] });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(await overview("ai")).toMatchObject({
      summary: { gatewayProjects: 1, activeProjects: 1, connectedCustomers: 1 },
      projects: [{ state: "active", connectedCustomers: 1 }],
    });
    expect((await overview("encryption")).projects).toMatchObject([{ state: "not-set-up" }]);
    world.clock.advance(181_000);
    expect(await overview("ai")).toMatchObject({
      summary: { needsAttentionProjects: 1, connectedCustomers: 0 },
      projects: [{ state: "needs-attention", needsAttentionCustomers: 1 }],
    });
    await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "forget" } });
    expect((await overview("ai")).projects).toMatchObject([{ state: "not-set-up", revokedCustomers: 1 }]);
  });

  it("an enabled capability is a set-up begun, and projects come by name", async () => {
    const site = await newSite(world);
    const body = { name: "another-project", enabledCapabilities: ["models"] };
    await site.call("POST", "/v1/projects", { body });
    const { projects } = (await site.call("GET", "/v1/gateways/ai/overview")).body;
    expect(projects.map(({ name, state }: { name: string; state: string }) => [name, state])).toEqual([
      ["another-project", "setup-in-progress"],
      [site.project.name, "not-set-up"],
    ]);
  });

  it("a gateway's key sees its own gateway of its own project", async () => {
    const site = await newSite(world);
    await site.call("POST", "/v1/projects", { body: { name: "another-project" } });
    const key = await site.workspace.key("project.encryption", { type: "project", projectId: site.project.id });
    const own = await world.call("GET", "/v1/gateways/encryption/overview", { key });
    expect(own.body.projects.map(({ id }: { id: string }) => id)).toEqual([site.project.id]);
    const other = await world.call("GET", "/v1/gateways/ai/overview", { key });
    expect([other.status, other.body.code]).toEqual([403, "FORBIDDEN"]);
  });
});
