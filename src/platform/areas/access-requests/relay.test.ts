import { describe, expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { insertDeployment, newSite } from "../operations/testing/site.ts";
import { DELETE, DRAIN, EXEC, LOOK, NOWHERE, POD, REMOVE, RESTART, requestsOf } from "./testing/requests.ts";

onEachDatabase("the relay of access requests", (world) => {
  const { post, get, created, queued, approvals, until, commandsOf, topicsOf } = requestsOf(world);

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

    it("each line begins when the one before has succeeded, and results show where they were asked for", async () => {
      const site = await newSite(world);
      const { id } = await queued(site);
      await approvals(site, { requestId: id, approvedUntil: until() });
      const now = until(0);
      const run = async (commandId: string, end: object): Promise<unknown> => {
        const [key, path] = [site.manager, `/v1/commands/${commandId}`];
        const dispatched = await world.call("POST", `${path}/dispatch`, { key, body: { dispatchedAt: now } });
        expect(dispatched.body).toEqual({ updated: true });
        return (await world.call("POST", `${path}/complete`, { key, body: { completedAt: now, ...end } })).body;
      };
      const line = async (index: number) => (await get(site.viewer, `/${id}`)).body.execution.commands[index];
      const first = await line(0);
      expect(await run(first.commandId, { state: "SUCCEEDED", result: { replaced: "api-1" } })).toEqual({
        updated: true,
      });
      const second = await line(1);
      expect(second).toMatchObject({ state: "PENDING", command: LOOK.command });
      const error = { code: "HANDLER_TIMEOUT", message: "too slow", internal: false };
      await run(second.commandId, { state: "FAILED", error });
      expect((await get(site.viewer, `/${id}`)).body).toMatchObject({
        status: "customer-approved",
        execution: {
          state: "failed",
          commands: [
            { state: "SUCCEEDED", completedAt: now, error: null },
            { state: "FAILED", error: { code: "HANDLER_TIMEOUT" } },
          ],
        },
      });
      const read = await world.call("GET", `/v1/commands/${first.commandId}`, {
        key: site.engineer,
        query: { include: "payload" },
      });
      expect(read.body).toMatchObject({
        accessRequestId: id,
        planIndex: 0,
        params: POD,
        result: { replaced: "api-1" },
      });
    });

    it("a report that asks for it is answered with the command that it makes, claimed once for that manager", async () => {
      const site = await newSite(world);
      const { id } = await queued(site);
      const claimAt = until(0);
      const body = { deploymentId: site.deploymentId, approvals: [{ requestId: id, approvedUntil: until() }], claimAt };
      // Of two at the same time one makes the command, and it alone is told of it.
      const answers = await Promise.all([1, 2].map(() => post(site.manager, "/approvals", body)));
      const [first, ...none] = answers.flatMap((answer) => answer.body.claimed);
      expect(none).toEqual([]);
      const common = {
        accessRequestId: id,
        state: "DISPATCHED",
        dispatchedAt: claimAt,
        deploymentId: site.deploymentId,
      };
      expect(first).toMatchObject({ ...common, name: RESTART.command, planIndex: 0, params: POD, result: null });
      expect(await commandsOf(id)).toMatchObject([{ id: first.id, state: "DISPATCHED" }]);
      const listed = await world.call("GET", "/v1/commands", {
        key: site.manager,
        query: { deploymentId: site.deploymentId, state: "DISPATCHED", include: "payload" },
      });
      expect(listed.body.items).toEqual([first]);

      const end = { state: "SUCCEEDED", completedAt: until(0), claimAt };
      const complete = (commandId: string): Promise<Answer> =>
        world.call("POST", `/v1/commands/${commandId}/complete`, { key: site.manager, body: end });
      const { body: completed } = await complete(first.id);
      expect(completed).toMatchObject({
        updated: true,
        claimed: [{ ...common, name: LOOK.command, planIndex: 1, params: LOOK.params }],
      });
      expect((await complete(first.id)).body).toEqual({ updated: false, claimed: [] });
      expect((await complete(completed.claimed[0].id)).body).toEqual({ updated: true, claimed: [] });
      expect((await get(site.viewer, `/${id}`)).body.execution.state).toBe("succeeded");
    });

    it("claims nothing for another manager, and nothing of a plan that is over", async () => {
      const [site, other] = [await newSite(world), await newSite(world)];
      const { id } = await queued(site);
      const claimAt = until(0);
      const report = {
        deploymentId: site.deploymentId,
        approvals: [{ requestId: id, approvedUntil: until() }],
        claimAt,
      };
      expect((await post(other.manager, "/approvals", report)).status).toBe(404);
      const foreign = { ...report, deploymentId: other.deploymentId };
      expect((await post(other.manager, "/approvals", foreign)).body).toMatchObject({
        results: [{ code: "NOT_FOUND" }],
        claimed: [],
      });
      const [first] = (await post(site.manager, "/approvals", report)).body.claimed;
      const revoked = { deploymentId: site.deploymentId, decisions: [{ requestId: id, outcome: "revoked" }] };
      expect((await post(site.manager, "/decisions", revoked)).body.recorded).toBe(1);
      const body = { state: "SUCCEEDED", completedAt: until(0), claimAt };
      const ended = await world.call("POST", `/v1/commands/${first.id}/complete`, { key: site.manager, body });
      expect(ended.body).toEqual({ updated: true, claimed: [] });
      expect(await commandsOf(id)).toHaveLength(1);
    });

    it("a revoked plan hands nothing out any more, and what ran already keeps its result", async () => {
      const site = await newSite(world);
      const { id } = await queued(site);
      const approval = { requestId: id, approvedUntil: until() };
      await approvals(site, approval);
      const [command] = await commandsOf(id);
      const path = `/v1/commands/${command?.id}`;
      const key = site.manager;
      await world.call("POST", `${path}/dispatch`, { key, body: { dispatchedAt: until(0) } });
      const revoked = {
        requestId: id,
        outcome: "revoked",
        decidedBy: "bob",
        reason: "wrong pod",
        identity: "verified",
      };
      const report = { deploymentId: site.deploymentId, decisions: [revoked] };
      expect((await post(key, "/decisions", report)).body.results).toEqual([{ requestId: id, outcome: "recorded" }]);
      expect((await post(key, "/decisions", report)).body.results).toEqual([{ requestId: id, outcome: "duplicate" }]);
      await world.call("POST", `${path}/complete`, { key, body: { state: "SUCCEEDED", completedAt: until(0) } });
      expect((await get(site.viewer, `/${id}`)).body).toMatchObject({
        status: "rejected",
        decision: { outcome: "revoked", by: "bob", reason: "wrong pod" },
        execution: { state: "stopped", commands: [{ state: "SUCCEEDED" }, { state: "SKIPPED", commandId: null }] },
      });
      expect((await approvals(site, approval)).body.results[0].code).toBe("INVALID_STATE_TRANSITION");
      expect(await commandsOf(id)).toHaveLength(1);
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

    it("a request for machines is as bad as its worst line, is approved and runs nothing", async () => {
      const site = await newSite(world);
      const { id, planHash: hash } = await queued(site, { commands: [DRAIN, REMOVE] });
      const { body: listed } = await get(site.manager, "/pending", { deploymentId: site.deploymentId });
      expect(listed.requests).toMatchObject([{ risk: "destructive", commands: [DRAIN, REMOVE], debug: false }]);
      expect((await approvals(site, { requestId: id, approvedUntil: until() })).body.recorded).toBe(0);
      const claimAt = until(0);
      const approval = { requestId: id, approvedUntil: until(), planHash: hash };
      const report = { deploymentId: site.deploymentId, approvals: [approval], claimAt };
      expect((await post(site.manager, "/approvals", report)).body).toMatchObject({ recorded: 1, claimed: [] });
      expect(await commandsOf(id)).toEqual([]);
      expect((await get(site.viewer, `/${id}`)).body).toMatchObject({
        status: "customer-approved",
        execution: { state: "idle", commands: [{ state: "WAITING" }, { state: "WAITING" }] },
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
});
