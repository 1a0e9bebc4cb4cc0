import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

onEachDatabase("debug sessions", (world) => {
  const inMs = (ms: number): string => new Date(world.clock.wallNow().getTime() + ms).toISOString();
  const open = (site: Site, deploymentId: string, more: object = {}): Promise<Answer> =>
    world.call("POST", "/v1/debug-sessions", {
      key: site.manager.key,
      body: { deploymentId, expiresAt: inMs(3_600_000), ...more },
    });
  const patch = (site: Site, id: string, body: object, key = site.manager.key): Promise<Answer> =>
    world.call("PATCH", `/v1/debug-sessions/${id}`, { key, body });
  const events = async (site: Site, deploymentId: string) => {
    const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId } })).body;
    return items
      .filter(({ data }: { data: { type: string } }) => data.type === "DebuggingAgent")
      .map(({ state, debugSessionId }: { state: unknown; debugSessionId: string }) => [state, debugSessionId]);
  };

  it("is recorded once by its id, runs, and ends with its event", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const id = `dbg_${"a1B2".repeat(7)}`;
    const first = await open(site, deployment, { id, owner: "ada@example.com" });
    expect([first.status, first.body]).toMatchObject([
      201,
      { id, state: "pending", owner: "ada@example.com", mode: "pull", provider: "kubernetes", presignedUrls: {} },
    ]);
    const again = await open(site, deployment, { id });
    expect([again.status, again.body.owner]).toEqual([200, "ada@example.com"]);
    expect((await open(site, await site.deploy("bank"), { id })).body.code).toBe("CONFLICT");
    expect(await events(site, deployment)).toEqual([]);
    expect((await patch(site, id, { state: "running" })).body.state).toBe("running");
    expect((await patch(site, id, { state: "running" })).status).toBe(200);
    expect(await events(site, deployment)).toEqual([["started", id]]);
    const back = await patch(site, id, { state: "pending" });
    expect(back.body).toMatchObject({ code: "INVALID_STATE_TRANSITION", context: { from: "running", to: "pending" } });
    await patch(site, id, { state: "stopping" });
    expect((await patch(site, id, { state: "stopped" })).body).toMatchObject({
      state: "stopped",
      closeReason: "agent",
    });
    expect(await events(site, deployment)).toEqual([["success", id]]);
    expect((await patch(site, id, { state: "running" })).body.code).toBe("INVALID_STATE_TRANSITION");
  });

  it("people may stop it and nothing else, and the manager is told", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const { id } = (await open(site, deployment)).body;
    const work = async (cursor: string) => {
      const query = { cursor };
      return (await world.call("GET", `/v1/managers/${site.manager.id}/work`, { key: site.manager.key, query })).body;
    };
    const before = await work("");
    expect(before.topics).toContainEqual({ topic: "debug-sessions", deploymentId: deployment });
    for (const body of [{ state: "running" }, {}, { state: "stopping", error: {} }, { expiresAt: inMs(1000) }]) {
      expect((await patch(site, id, body, site.member)).body.code).toBe("VALIDATION_ERROR");
    }
    const stopped = await patch(site, id, { state: "stopping" }, site.member);
    expect(stopped.body).toMatchObject({ state: "stopping", closeReason: "killed" });
    expect((await work(before.cursor)).topics).toEqual([{ topic: "debug-sessions", deploymentId: deployment }]);
  });

  it("an error ends it, and explains once what is over", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const opened = async () => (await open(site, deployment, { state: "running" })).body.id;
    const own = { code: "TUNNEL_REFUSED", message: "no", internal: false };
    const [one, two] = [await opened(), await opened()];
    expect((await patch(site, one, { error: own })).body).toMatchObject({ state: "failed", error: own });
    expect((await patch(site, one, { error: own })).body.code).toBe("INVALID_STATE_TRANSITION");
    const free = (await patch(site, two, { state: "failed", error: { why: "because" } })).body;
    expect(free.error).toMatchObject({ code: "DEBUG_SESSION_FAILED", context: { why: "because" } });
    expect((await events(site, deployment)).map(([state]: [object]) => Object.keys(state))).toEqual([
      ["failed"],
      ["failed"],
    ]);
    const three = await opened();
    for (const state of ["stopping", "stopped"]) await patch(site, three, { state });
    expect((await patch(site, three, { error: own })).body).toMatchObject({ state: "stopped", error: own });
    expect((await patch(site, three, { error: own })).body.code).toBe("INVALID_STATE_TRANSITION");
  });

  it("the cluster says why it ended, and which line its audit file ends with, also afterwards", async () => {
    const site = await newSite(world);
    const { id } = (await open(site, await site.deploy("shop"), { state: "running" })).body;
    expect((await patch(site, id, { closeReason: "audit-failed" })).body.context.issues[0].path).toBe(
      "body.closeReason",
    );
    await patch(site, id, { state: "stopping", closeReason: "audit-failed" });
    await patch(site, id, { state: "stopped" });
    const auditHead = "0".repeat(64);
    expect((await patch(site, id, { auditHead })).body).toMatchObject({ closeReason: "audit-failed", auditHead });
    expect((await patch(site, id, { auditHead: "short" })).body.code).toBe("VALIDATION_ERROR");
    // Told twice, it stays; another one would stand for another file.
    expect((await patch(site, id, { auditHead })).body).toMatchObject({ auditHead });
    expect((await patch(site, id, { auditHead: "1".repeat(64) })).body.code).toBe("INVALID_STATE_TRANSITION");
    expect((await site.call("GET", `/v1/debug-sessions/${id}`)).body).toMatchObject({ auditHead });
    expect((await patch(site, id, { state: "stopping", auditHead }, site.member)).body.code).toBe("VALIDATION_ERROR");
  });

  it("its end is bounded, only comes nearer, and comes by itself", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const past = await open(site, deployment, { expiresAt: inMs(-1000) });
    expect(past.body.context.issues[0].path).toBe("body.expiresAt");
    const { createdAt, expiresAt } = (await open(site, deployment, { expiresAt: inMs(30 * 3_600_000) })).body;
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(8 * 3_600_000);
    const { id } = (await open(site, deployment, { state: "running" })).body;
    expect((await patch(site, id, { expiresAt: inMs(3_700_000) })).body.code).toBe("VALIDATION_ERROR");
    expect((await patch(site, id, { expiresAt: inMs(60_000) })).body.state).toBe("running");
    expect((await patch(site, id, { state: "expired" })).body.code).toBe("INVALID_STATE_TRANSITION");
    world.clock.advance(60_000);
    const read = await site.call("GET", `/v1/debug-sessions/${id}`);
    expect(read.body).toMatchObject({ state: "expired", closeReason: "expired" });
    const listed = async (state: string) =>
      (await site.call("GET", "/v1/debug-sessions", { query: { state } })).body.items.map(
        (each: { id: string }) => each.id,
      );
    expect([await listed("expired"), await listed("running")]).toEqual([[id], []]);
    await world.platform.sweep();
    expect(await events(site, deployment)).toEqual([["success", id]]);
    expect((await patch(site, id, { state: "stopping" }, site.member)).body.code).toBe("INVALID_STATE_TRANSITION");
  });

  it("lists by what is asked, within what the key may see", async () => {
    const site = await newSite(world);
    const [shop, bank] = [await site.deploy("shop"), await site.deploy("bank", { platform: "machines" })];
    const [first, second] = [(await open(site, shop)).body.id, (await open(site, bank)).body.id];
    const list = async (query: Record<string, string>, key = site.member) => {
      const { body } = await world.call("GET", "/v1/debug-sessions", { key, query });
      return body.items?.map(({ id }: { id: string }) => id) ?? body.code;
    };
    expect(await list({})).toEqual([second, first]);
    expect(await list({ deploymentId: shop })).toEqual([first]);
    expect(await list({ provider: "machines" })).toEqual([second]);
    expect(await list({ mode: "push" })).toEqual([]);
    expect(await list({ project: site.project.name, state: "pending" })).toEqual([second, first]);
    const scope = { type: "deployment", deploymentId: shop, projectId: site.project.id } as const;
    const viewer = await site.workspace.key("deployment.viewer", scope);
    expect(await list({}, viewer)).toEqual([first]);
    expect(await list({ deploymentId: bank }, viewer)).toBe("NOT_FOUND");
    const other = await site.workspace.manager();
    expect(await list({}, other.key)).toEqual([]);
    expect((await patch(site, first, { state: "stopping" }, other.key)).body.code).toBe("NOT_FOUND");
  });
});
