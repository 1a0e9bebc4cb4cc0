import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

onEachDatabase("a workspace's settings", (world) => {
  /** A deployment, and everything that may be set going in its cluster, by whoever asks. */
  async function newScene() {
    const site = await newSite(world);
    const deploymentId = await site.deploy("shop");
    const person = await world.user();
    await site.workspace.member(person, "workspace.admin");
    const query = { project: site.project.id, workspace: site.workspace.name };
    await site.call("PUT", "/v1/operations/policy", { query, body: { rules: [{ pattern: "*", decision: "auto" }] } });
    const line = { command: "kubernetes/get-pods", summary: "see what runs", params: { namespace: "web" } };
    const plan = { deploymentId, remediationPlanId: "plan-1", title: "Look at the web tier", commands: [line] };
    const operation = { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "web" } };
    const debug = { reason: "The queue grows.", mode: "read", namespace: "web", clientKey: "k".repeat(43) };
    const ask = async (key: string) => {
      const post = (path: string, body: object) => world.call("POST", path, { key, query, body });
      const answers = [
        await post("/v1/access-requests", plan),
        await post("/v1/operations/invoke", operation),
        await post(`/v1/deployments/${deploymentId}/debug-requests`, debug),
      ];
      return answers.map(({ status, body }) => body.code ?? status);
    };
    const set = async (body: object) => {
      const path = `/v1/workspaces/${site.workspace.id}/settings`;
      const answer = await world.call("PATCH", path, { key: person.token, body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    };
    return { site, deploymentId, person, ask, set, debug, query };
  }

  it("switched off, keys set nothing going, people do, and reading goes on", async () => {
    const { site, deploymentId, person, ask, set } = await newScene();
    expect(await ask(site.member)).toEqual([201, 200, 201]);
    await set({ enabled: false });
    expect(await ask(site.member)).toEqual(["FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
    expect(await ask(site.admin)).toEqual(["FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
    expect(await ask(person.token)).toEqual([201, 200, 201]);
    expect((await site.call("GET", `/v1/deployments/${deploymentId}`)).status).toBe(200);
    await set({ enabled: true });
    expect(await ask(site.member)).toEqual([201, 200, 201]);
  });

  it("bind sessions that a manager opens by itself as well", async () => {
    const { site, deploymentId, set } = await newScene();
    const open = async () => {
      const expiresAt = new Date(world.clock.wallNow().getTime() + 600_000).toISOString();
      const body = { deploymentId, expiresAt };
      const answer = await world.call("POST", "/v1/debug-sessions", { key: site.manager.key, body });
      return answer.body.code ?? answer.status;
    };
    expect(await open()).toBe(201);
    await set({ debugPermissionMode: "ask" });
    expect(await open()).toBe("ACCESS_REQUEST_REQUIRED");
    await set({ debugPermissionMode: "auto", enabled: false });
    expect(await open()).toBe("FORBIDDEN");
    await set({ enabled: true });
    expect(await open()).toBe(201);
  });

  it("are one workspace's own", async () => {
    const [one, other] = [await newScene(), await newScene()];
    await one.set({ enabled: false, debugPermissionMode: "ask" });
    expect(await other.ask(other.site.member)).toEqual([201, 200, 201]);
  });

  it("`ask` wants the customer's yes before every debug session, a person's too", async () => {
    const { site, deploymentId, person, ask, set, debug, query } = await newScene();
    await set({ debugPermissionMode: "ask" });
    expect(await ask(site.member)).toEqual([201, 200, "ACCESS_REQUEST_REQUIRED"]);
    expect(await ask(person.token)).toEqual([201, 200, "ACCESS_REQUEST_REQUIRED"]);
    const accessRequestId = await approved(site, deploymentId);
    const path = `/v1/deployments/${deploymentId}/debug-requests`;
    const body = { ...debug, accessRequestId };
    expect((await world.call("POST", path, { key: person.token, query, body })).status).toBe(201);
    expect((await site.call("POST", path, { body: { ...body, mode: "exec" } })).body.code).toBe(
      "ACCESS_REQUEST_REQUIRED",
    );
  });

  /** A request for reading in the namespace web, to which the customer has said yes. */
  async function approved(site: Site, deploymentId: string): Promise<string> {
    const commands = [
      { command: "debug/read", summary: "look", params: { namespace: "web", mode: "read", clientKey: "k".repeat(43) } },
    ];
    const body = { deploymentId, remediationPlanId: "incident-7", title: "Look inside", debug: true, commands };
    const { id, planHash } = (await site.call("POST", "/v1/access-requests", { body })).body;
    await site.call("POST", `/v1/access-requests/${id}/queue`);
    const approvedUntil = new Date(world.clock.wallNow().getTime() + 600_000).toISOString();
    const told = await world.call("POST", "/v1/access-requests/approvals", {
      key: site.manager.key,
      body: { deploymentId, approvals: [{ requestId: id, planHash, approvedUntil }] },
    });
    expect(told.body.recorded).toBe(1);
    return id;
  }
});
