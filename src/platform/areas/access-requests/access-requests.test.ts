import { describe, expect, it } from "vitest";
import { planHash } from "../../../contract/operations/plan-hash.ts";
import { newId } from "../../kernel/ids.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { insertDeployment, insertProject, newSite } from "../operations/testing/site.ts";
import { DRAIN, EXEC, HOUR_MS, LOOK, RESTART, requestsOf } from "./testing/requests.ts";

onEachDatabase("access requests", (world) => {
  const { post, get, planOf, create, created, queued, approvals, until, topicsOf, clearTopics } = requestsOf(world);

  describe("a plan", () => {
    it("is stored as it was given, with its risk and its hash", async () => {
      const site = await newSite(world);
      const { status, body } = await create(site, { reason: "It hangs.\nSince noon.", maxMinutes: 30 });
      expect(status).toBe(201);
      expect(body).toEqual({
        id: expect.stringMatching(/^ar_[0-9a-z]{28}$/),
        deploymentId: site.deploymentId,
        remediationPlanId: "incident-7",
        title: "Restart the api",
        reason: "It hangs.\nSince noon.",
        commands: [RESTART, LOOK],
        status: "pending-approval",
        risk: "mutating",
        planHash: planHash({
          requestId: body.id,
          deploymentId: site.deploymentId,
          risk: "mutating",
          commands: body.commands,
        }),
        maxMinutes: 30,
        debug: false,
        decideBefore: new Date(Date.parse(body.createdAt) + 24 * HOUR_MS).toISOString(),
        approvedUntil: null,
        decision: null,
        materialized: null,
        queuedBy: null,
        queuedAt: null,
        acceptedStale: null,
        createdBy: { kind: "serviceAccount", id: expect.any(String), email: null },
        createdAt: body.createdAt,
        updatedAt: body.createdAt,
        execution: {
          state: "idle",
          commands: [RESTART, LOOK].map(({ command }, index) => ({
            ...{ index, command, commandId: null, state: "WAITING", completedAt: null, error: null },
          })),
        },
      });
      expect(await topicsOf(site)).toEqual([]);
      expect((await get(site.viewer, `/${body.id}`)).body).toEqual({ ...body, kubectlApprove: null });
    });

    it.each<[string, object, number, string, object?]>([
      [
        "an unknown operation",
        { commands: [{ ...RESTART, command: "kubernetes/nuke" }] },
        400,
        "UNKNOWN_OPERATION",
        { names: ["kubernetes/nuke"] },
      ],
      [
        "params of another operation",
        { commands: [{ ...RESTART, params: LOOK.params }] },
        400,
        "INVALID_OPERATION_PARAMS",
      ],
      [
        "no params where some are needed",
        { commands: [{ ...RESTART, params: undefined }] },
        400,
        "INVALID_OPERATION_PARAMS",
      ],
      ["debug among others", { commands: [RESTART, EXEC] }, 400, "VALIDATION_ERROR"],
      ["others among debug", { commands: [EXEC, RESTART], debug: true }, 400, "VALIDATION_ERROR"],
      ["a machine among others", { commands: [RESTART, DRAIN] }, 400, "VALIDATION_ERROR"],
      ["a machine among debug", { commands: [EXEC, DRAIN], debug: true }, 400, "VALIDATION_ERROR"],
      [
        "a machine with more",
        { commands: [{ ...DRAIN, params: { ...DRAIN.params, force: true } }] },
        400,
        "INVALID_OPERATION_PARAMS",
      ],
      [
        "debug with another mode",
        { commands: [{ ...EXEC, params: { namespace: "shop", mode: "read" } }], debug: true },
        400,
        "INVALID_OPERATION_PARAMS",
      ],
      [
        "debug with a selector that is none",
        { commands: [{ ...EXEC, params: { ...EXEC.params, selector: "app in front" } }], debug: true },
        400,
        "VALIDATION_ERROR",
      ],
      [
        "debug with a blank selector",
        { commands: [{ ...EXEC, params: { ...EXEC.params, selector: " " } }], debug: true },
        400,
        "VALIDATION_ERROR",
      ],
      ["params too large", { commands: [{ ...RESTART, params: { pod: "x".repeat(5000) } }] }, 413, "PARAMS_TOO_LARGE"],
      [
        "too many params in all",
        { commands: Array.from({ length: 50 }, () => ({ ...RESTART, params: { pod: "x".repeat(900) } })) },
        413,
        "PARAMS_TOO_LARGE",
      ],
      ["another workspace's deployment", { deploymentId: `dep_${"0".repeat(28)}` }, 404, "NOT_FOUND"],
    ])("with %s is refused", async (_, change, status, code, context) => {
      const site = await newSite(world);
      const answer = await create(site, change);
      expect(answer).toMatchObject({ status, body: { code, ...(context && { context }) } });
    });

    it("of a disabled plugin is refused, one made before goes on", async () => {
      const site = await newSite(world);
      const before = await created(site);
      const key = site.engineer;
      await world.call("PUT", "/v1/operations/plugins/builtin/enabled", { key, body: { names: [] } });
      expect(await create(site)).toMatchObject({ status: 409, body: { code: "PLUGIN_DISABLED" } });
      expect((await post(key, `/${before.id}/queue`)).status).toBe(200);
    });

    it("for a deployment that is going away is refused as if it were gone", async () => {
      const site = await newSite(world);
      const workspaceId = site.workspace.id;
      const deploymentId = await insertDeployment(world.platform.db, { ...site, workspaceId, status: "deleting" });
      expect((await create(site, { deploymentId })).status).toBe(404);
    });
  });

  describe("the engineer's gate", () => {
    it("queues once", async () => {
      const site = await newSite(world);
      const { id } = await queued(site);
      expect(await post(site.engineer, `/${id}/queue`)).toMatchObject({
        status: 409,
        body: { code: "INVALID_STATE_TRANSITION", context: { from: "queued", to: "queued" } },
      });
    });

    it("rejects with a reason or without, tells the manager, and keeps it in the closed list while it lies there", async () => {
      const site = await newSite(world);
      const [one, two] = [await queued(site), await queued(site)];
      const place = { namespace: "g", resourcePlural: "accessgrants.sallyport.dev" };
      await post(site.manager, "/materialized", { deploymentId: site.deploymentId, requestIds: [one.id], ...place });
      await clearTopics(site);
      expect(await post(site.engineer, `/${one.id}/reject`, { reason: "solved" })).toMatchObject({
        status: 200,
        body: { status: "rejected", decision: { outcome: "denied", reason: "solved", identity: "verified" } },
      });
      expect(await topicsOf(site)).toEqual(["access-requests"]);
      expect((await post(site.engineer, `/${two.id}/reject`)).body.decision.reason).toBeNull();
      const { body } = await get(site.manager, "/pending", { deploymentId: site.deploymentId });
      expect(body.requests).toEqual([]);
      expect(body.closed).toEqual([{ requestId: one.id, status: "rejected", at: expect.any(String) }]);
      expect((await post(site.engineer, `/${one.id}/reject`)).status).toBe(409);
      expect((await approvals(site, { requestId: one.id, approvedUntil: until() })).body.results[0].code).toBe(
        "INVALID_STATE_TRANSITION",
      );
    });
  });

  describe("time", () => {
    it("ends what nobody decided, in every view, and the sweep tells the manager", async () => {
      const site = await newSite(world);
      const { id } = await queued(site, { decideWithinMinutes: 5 });
      const list = (status: string): Promise<Answer> => get(site.viewer, "", { status });
      expect((await list("queued")).body.items).toHaveLength(1);
      await clearTopics(site);
      world.clock.advance(5 * 60_000 + 300_000);
      const { body } = await get(site.viewer, `/${id}`);
      expect(body).toMatchObject({ status: "expired", decision: { outcome: "expired", by: null } });
      expect(Date.parse(body.decision.at) - Date.parse(body.decideBefore)).toBe(300_000);
      expect((await list("queued")).body.items).toEqual([]);
      expect((await list("expired,rejected")).body.items).toMatchObject([{ id, status: "expired" }]);
      expect((await get(site.manager, "/pending", { deploymentId: site.deploymentId })).body.requests).toEqual([]);
      await world.platform.sweep();
      expect(await topicsOf(site)).toEqual(["access-requests"]);
      expect((await get(site.viewer, `/${id}`)).body).toEqual(body);
    });

    it("stops what the window ends", async () => {
      const site = await newSite(world);
      const { id } = await queued(site);
      await approvals(site, { requestId: id, approvedUntil: until(60_000) });
      world.clock.advance(60_000);
      await world.platform.sweep();
      expect((await get(site.viewer, `/${id}`)).body).toMatchObject({
        status: "expired",
        execution: { state: "stopped", commands: [{ state: "EXPIRED" }, { state: "SKIPPED" }] },
      });
      const report = { requestId: id, outcome: "expired" };
      const { body } = await post(site.manager, "/decisions", { deploymentId: site.deploymentId, decisions: [report] });
      expect(body.results).toEqual([{ requestId: id, outcome: "duplicate" }]);
    });
  });

  describe("tenancy", () => {
    it("other workspaces and other projects see nothing", async () => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const { id } = await queued(site);
      const { projectId } = await insertProject(world.platform.db, site.workspace.id);
      const stranger = await site.workspace.key("project.developer", { type: "project", projectId });
      for (const key of [other.engineer, stranger]) {
        for (const path of [`/${id}`, `/${id}/coordinates`]) expect((await get(key, path)).status).toBe(404);
        for (const path of [`/${id}/queue`, `/${id}/reject`]) expect((await post(key, path)).status).toBe(404);
        expect((await get(key, "")).body.items).toEqual([]);
        expect((await post(key, "", planOf(site))).status).toBe(404);
      }
    });

    it("roles: readers read, writers write, managers relay", async () => {
      const site = await newSite(world);
      const { id } = await created(site);
      expect((await get(site.viewer, `/${id}`)).status).toBe(200);
      expect((await post(site.viewer, `/${id}/queue`)).status).toBe(403);
      expect((await post(site.viewer, "", planOf(site))).status).toBe(403);
      expect((await get(site.manager, `/${id}`)).status).toBe(403);
      expect((await get(site.engineer, "/pending", { deploymentId: site.deploymentId })).status).toBe(403);
      expect((await post(site.engineer, "/approvals", { deploymentId: site.deploymentId, approvals: [] })).status).toBe(
        403,
      );
    });
  });

  it("the list pages newest first and filters", async () => {
    const site = await newSite(world);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await created(site, { remediationPlanId: `plan-${n % 2}` })).id);
    const first = await get(site.viewer, "", { limit: 3 });
    const rest = await get(site.viewer, "", { limit: 3, cursor: first.body.nextCursor });
    const shown = [...first.body.items, ...rest.body.items].map(({ id }: { id: string }) => id);
    expect([new Set(shown), rest.body.nextCursor]).toEqual([new Set(ids), null]);
    const of = async (query: object): Promise<number> => (await get(site.viewer, "", query)).body.items.length;
    expect(await of({ remediationPlanId: "plan-0" })).toBe(3);
    expect(await of({ project: site.projectName, deploymentId: site.deploymentId })).toBe(5);
    expect(await of({ deploymentId: newId("dep") })).toBe(0);
    expect((await get(site.viewer, "", { project: "no-such-project" })).status).toBe(404);
    expect((await get(site.viewer, "", { limit: 3, status: "queued", cursor: first.body.nextCursor })).body.code).toBe(
      "INVALID_CURSOR",
    );
  });
});
