import { describe, expect, it } from "vitest";
import { planHash } from "../../../contract/plan-hash.ts";
import { newId } from "../../ids.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { insertDeployment, insertProject, newSite, type Site } from "../operations/testing/site.ts";

const POD = { namespace: "shop", pod: "api-0" };
const RESTART = { command: "kubernetes/restart-pod", summary: "Restart the stuck pod", params: POD };
const LOOK = { command: "kubernetes/get-pods", summary: "See that it came back", params: { namespace: "shop" } };
const DELETE = { command: "kubernetes/delete-pod", summary: "Remove it", params: POD };
const EXEC = { command: "debug/exec", summary: "Look inside", params: { namespace: "shop", mode: "exec" } };
const NOWHERE = `ar_${"0".repeat(28)}`;
const HOUR_MS = 3_600_000;

onEachDatabase("access requests", (world) => {
  const post = (key: string, path: string, body?: unknown): Promise<Answer> =>
    world.call("POST", `/v1/access-requests${path}`, { key, body });
  const get = (key: string, path: string, query = {}): Promise<Answer> =>
    world.call("GET", `/v1/access-requests${path}`, { key, query });
  const planOf = (site: Site, change: object = {}) => ({
    deploymentId: site.deploymentId,
    remediationPlanId: "incident-7",
    title: "Restart the api",
    commands: [RESTART, LOOK],
    ...change,
  });
  const create = (site: Site, change: object = {}): Promise<Answer> => post(site.engineer, "", planOf(site, change));
  const created = async (site: Site, change: object = {}): Promise<{ id: string; planHash: string }> => {
    const { status, body } = await create(site, change);
    expect(status).toBe(201);
    return body;
  };
  const queued = async (site: Site, change: object = {}) => {
    const request = await created(site, change);
    expect((await post(site.engineer, `/${request.id}/queue`)).status).toBe(200);
    return request;
  };
  const approvals = (site: Site, ...items: object[]): Promise<Answer> =>
    post(site.manager, "/approvals", { deploymentId: site.deploymentId, approvals: items });
  const until = (ms = HOUR_MS): string => new Date(world.clock.wallNow().getTime() + ms).toISOString();
  const commandsOf = (id: string) =>
    world.platform.db
      .selectFrom("commands")
      .selectAll()
      .where("access_request_id", "=", id)
      .orderBy("plan_index")
      .execute();
  const topicsOf = async (site: Site): Promise<string[]> => {
    const rows = await world.platform.db
      .selectFrom("work_feed")
      .selectAll()
      .where("manager_id", "=", site.managerId)
      .execute();
    return rows.map(({ topic }) => topic);
  };
  const clearTopics = (site: Site) =>
    world.platform.db.deleteFrom("work_feed").where("manager_id", "=", site.managerId).execute();

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
      [
        "debug with another mode",
        { commands: [{ ...EXEC, params: { namespace: "shop", mode: "read" } }], debug: true },
        400,
        "INVALID_OPERATION_PARAMS",
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

  describe("the way to a result", () => {
    it("leads through both doors, line by line, once", async () => {
      const site = await newSite(world);
      const { id, planHash: hash } = await queued(site);
      expect(await topicsOf(site)).toEqual(["access-requests"]);
      const { body: waiting } = await get(site.manager, "/pending", { deploymentId: site.deploymentId });
      expect(waiting.closed).toEqual([]);
      expect(waiting.requests).toMatchObject([{ id, planHash: hash, risk: "mutating", commands: [RESTART, LOOK] }]);

      const place = { namespace: "sallyport-grants", resourcePlural: "accessgrants.sallyport.dev" };
      const report = { deploymentId: site.deploymentId, requestIds: [id], ...place };
      const materialized = (): Promise<Answer> => post(site.manager, "/materialized", report);
      expect((await materialized()).body).toEqual({ recorded: 1, results: [{ requestId: id, outcome: "recorded" }] });
      expect((await materialized()).body).toEqual({ recorded: 0, results: [{ requestId: id, outcome: "duplicate" }] });
      const name = id.replace("_", "-");
      expect((await get(site.viewer, `/${id}/coordinates`)).body).toEqual({
        status: "queued",
        kubectlApprove: `kubectl patch accessgrants.sallyport.dev ${name} -n sallyport-grants --type=merge -p '{"spec":{"approvedForMinutes":60}}'`,
      });

      const approvedUntil = until();
      const approval = { requestId: id, approvedUntil, decidedBy: "alice", planHash: hash, identity: "verified" };
      expect((await approvals(site, approval, approval)).body).toEqual({
        recorded: 1,
        results: [
          { requestId: id, outcome: "recorded" },
          { requestId: id, outcome: "duplicate" },
        ],
      });
      const [first, ...none] = await commandsOf(id);
      expect(none).toEqual([]);
      expect(first).toMatchObject({
        name: RESTART.command,
        state: "PENDING",
        plan_index: 0,
        target: { resourceId: "operator", resourceType: "daemon" },
        deadline: new Date(approvedUntil),
      });
      expect(JSON.parse(first?.params ?? "")).toEqual(POD);
      expect((await get(site.viewer, `/${id}`)).body).toMatchObject({
        status: "customer-approved",
        approvedUntil,
        kubectlApprove: null,
        decision: { outcome: "approved", by: "alice", identity: "verified", approvedUntil },
        execution: { state: "running", commands: [{ state: "PENDING", commandId: first?.id }, { state: "WAITING" }] },
      });
    });

    it("a request for debugging is approved and runs nothing", async () => {
      const site = await newSite(world);
      const { id, planHash: hash } = await queued(site, { commands: [EXEC], debug: true });
      expect((await approvals(site, { requestId: id, approvedUntil: until(), planHash: hash })).body.recorded).toBe(1);
      expect(await commandsOf(id)).toEqual([]);
      expect((await get(site.viewer, `/${id}`)).body).toMatchObject({
        status: "customer-approved",
        execution: { state: "idle" },
      });
    });

    it("a destructive plan is approved by its hash, and the customer is shown it", async () => {
      const site = await newSite(world);
      const { id, planHash: hash } = await queued(site, { commands: [DELETE], maxMinutes: 10 });
      const place = { namespace: "g", resourcePlural: "accessgrants.sallyport.dev" };
      await post(site.manager, "/materialized", { deploymentId: site.deploymentId, requestIds: [id], ...place });
      const { body } = await get(site.viewer, `/${id}/coordinates`);
      expect(body.kubectlApprove).toContain(`'{"spec":{"approvedForMinutes":10,"approvedPlanHash":"${hash}"}}'`);
      const approval = { requestId: id, approvedUntil: until(60_000) };
      expect((await approvals(site, approval)).body.results).toEqual([
        { requestId: id, outcome: "ignored", code: "PLAN_HASH_MISMATCH" },
      ]);
      expect(await commandsOf(id)).toEqual([]);
      expect((await approvals(site, { ...approval, planHash: hash })).body.recorded).toBe(1);
    });

    it("fifty reports of one approval at once make one command", async () => {
      const site = await newSite(world);
      const { id } = await queued(site);
      const approval = { requestId: id, approvedUntil: until() };
      const answers = await Promise.all(Array.from({ length: 50 }, () => approvals(site, approval)));
      expect(await commandsOf(id)).toHaveLength(1);
      const recorded = answers.filter(({ body }) => body.recorded === 1);
      expect(recorded).toHaveLength(1);
      for (const { status, body } of answers) {
        // Who lost too many races is told to come again; nobody gets a 500.
        if (status === 200) expect(["recorded", "duplicate"]).toContain(body.results[0].outcome);
        else expect([status, body.code]).toEqual([409, "CONFLICT"]);
      }
    });

    it("of a queue and a reject at once one wins, or they follow each other", async () => {
      const site = await newSite(world);
      const { id } = await created(site);
      const [queue, reject] = await Promise.all([
        post(site.engineer, `/${id}/queue`),
        post(site.engineer, `/${id}/reject`),
      ]);
      expect(reject.status).toBe(200);
      expect([200, 409]).toContain(queue.status);
      expect((await get(site.viewer, `/${id}`)).body.status).toBe("rejected");
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

  describe("a lying or confused manager", () => {
    it("moves nothing of what is not its own, and a bad item spoils no good one", async () => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const [mine, foreign, unqueued] = [await queued(site), await queued(other), await created(site)];
      const approvedUntil = until();
      const items = [foreign.id, NOWHERE, "ar_?", unqueued.id, mine.id].map((requestId) => ({
        requestId,
        approvedUntil,
      }));
      const hidden = { requestId: mine.id, approvedUntil, decidedBy: "a\u202eb" };
      expect((await approvals(site, hidden, ...items)).body).toEqual({
        recorded: 1,
        results: [
          { requestId: mine.id, outcome: "ignored", code: "VALIDATION_ERROR" },
          { requestId: foreign.id, outcome: "ignored", code: "NOT_FOUND" },
          { requestId: NOWHERE, outcome: "ignored", code: "NOT_FOUND" },
          { requestId: "ar_?", outcome: "ignored", code: "NOT_FOUND" },
          { requestId: unqueued.id, outcome: "ignored", code: "INVALID_STATE_TRANSITION" },
          { requestId: mine.id, outcome: "recorded" },
        ],
      });
      expect((await get(other.viewer, `/${foreign.id}`)).body.status).toBe("queued");
    });

    it.each<[string, string, object]>([
      ["GET", "pending", {}],
      ["POST", "materialized", { requestIds: ["x"], namespace: "g", resourcePlural: "a.b" }],
      ["POST", "approvals", { approvals: [{ requestId: "x", approvedUntil: "2030-01-01T00:00:00Z" }] }],
      ["POST", "decisions", { decisions: [{ requestId: "x", outcome: "denied" }] }],
    ])("%s %s of another manager's deployment is a 404, of the same workspace too", async (method, path, body) => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const sibling = await site.workspace.manager();
      const unmanaged = await insertDeployment(world.platform.db, {
        ...site,
        workspaceId: site.workspace.id,
        managerId: null,
      });
      for (const [key, deploymentId] of [
        [site.manager, other.deploymentId],
        [sibling.key, site.deploymentId],
        [site.manager, unmanaged],
      ] as const) {
        const sent = method === "GET" ? { query: { deploymentId } } : { body: { ...body, deploymentId } };
        expect((await world.call(method, `/v1/access-requests/${path}`, { key, ...sent })).status).toBe(404);
      }
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

  describe("bad input", () => {
    const line = RESTART;
    it.each<[string, object, string]>([
      ["title that reads backwards", { title: "a\u202eb" }, "body.title"],
      ["title of two lines", { title: "a\nb" }, "body.title"],
      ["no title", { title: "" }, "body.title"],
      ["reason too long", { reason: "x".repeat(2049) }, "body.reason"],
      ["no commands", { commands: [] }, "body.commands"],
      ["51 commands", { commands: Array.from({ length: 51 }, () => line) }, "body.commands"],
      ["command without a slash", { commands: [{ ...line, command: "kubernetes" }] }, "body.commands.0.command"],
      ["no summary", { commands: [{ command: line.command }] }, "body.commands.0.summary"],
      ["params of a list", { commands: [{ ...line, params: [] }] }, "body.commands.0.params"],
      ["unknown key in a line", { commands: [{ ...line, tier: "read-only" }] }, "body.commands.0.tier"],
      ["unknown key", { status: "customer-approved" }, "body.status"],
      ["window of no time", { maxMinutes: 0 }, "body.maxMinutes"],
      ["window of a month and a minute", { maxMinutes: 43_201 }, "body.maxMinutes"],
      ["window of half a minute", { maxMinutes: 0.5 }, "body.maxMinutes"],
      ["four minutes to decide", { decideWithinMinutes: 4 }, "body.decideWithinMinutes"],
      ["eight days to decide", { decideWithinMinutes: 10_081 }, "body.decideWithinMinutes"],
      ["debug as a word", { debug: "yes" }, "body.debug"],
      ["plan id with a space", { remediationPlanId: "a b" }, "body.remediationPlanId"],
      ["deployment by name", { deploymentId: "shop" }, "body.deploymentId"],
    ])("create: %s", async (_, change, where) => {
      const { status, body } = await create(await newSite(world), change);
      expect([status, body.code]).toEqual([400, "VALIDATION_ERROR"]);
      expect(body.context.issues.map((issue: { path: string }) => issue.path)).toContain(where);
    });

    const items = (n: number, item: object) => Array.from({ length: n }, () => item);
    const approval = { requestId: NOWHERE, approvedUntil: "2030-01-01T00:00:00Z" };
    const decision = { requestId: NOWHERE, outcome: "denied" };
    const place = { requestIds: [NOWHERE], namespace: "g", resourcePlural: "a.b" };
    it.each<[string, object, string]>([
      ["approvals", { approvals: [] }, "body.approvals"],
      ["approvals", { approvals: items(101, approval) }, "body.approvals"],
      ["approvals", { approvals: [{ ...approval, approvedUntil: "tomorrow" }] }, "body.approvals.0.approvedUntil"],
      ["approvals", { approvals: [{ ...approval, identity: "sure" }] }, "body.approvals.0.identity"],
      ["approvals", { approvals: [{ ...approval, decidedBy: "x".repeat(513) }] }, "body.approvals.0.decidedBy"],
      ["approvals", { approvals: [{ ...approval, forMinutes: 5 }] }, "body.approvals.0.forMinutes"],
      ["decisions", { decisions: [{ ...decision, outcome: "approved" }] }, "body.decisions.0.outcome"],
      ["decisions", { decisions: [{ ...decision, reason: "x".repeat(1025) }] }, "body.decisions.0.reason"],
      ["decisions", {}, "body.decisions"],
      ["materialized", { ...place, namespace: "Not_A_Label" }, "body.namespace"],
      ["materialized", { ...place, resourcePlural: "x'; rm -rf /" }, "body.resourcePlural"],
      ["materialized", { ...place, requestIds: [] }, "body.requestIds"],
    ])("%s: %j names %s", async (path, change, where) => {
      const site = await newSite(world);
      const { status, body } = await post(site.manager, `/${path}`, { deploymentId: site.deploymentId, ...change });
      expect([status, body.code]).toEqual([400, "VALIDATION_ERROR"]);
      expect(body.context.issues.map((issue: { path: string }) => issue.path)).toContain(where);
    });

    it("ids, queries and bodies of the other routes", async () => {
      const site = await newSite(world);
      const issue = async (answer: Promise<Answer>): Promise<string> => (await answer).body.context.issues[0].path;
      expect(await issue(get(site.viewer, "/ar_short"))).toBe("path.id");
      expect(await issue(get(site.viewer, "", { status: "approved" }))).toBe("query.status.0");
      expect(await issue(get(site.viewer, "", { limit: 101 }))).toBe("query.limit");
      expect(await issue(get(site.manager, "/pending"))).toBe("query.deploymentId");
      expect(await issue(post(site.engineer, `/${NOWHERE}/queue`, { force: true }))).toBe("body.force");
      expect(await issue(post(site.engineer, `/${NOWHERE}/reject`, { reason: "" }))).toBe("body.reason");
    });
  });
});
