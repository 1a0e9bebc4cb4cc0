import { describe, expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../operations/testing/site.ts";
import { NOWHERE, RESTART, requestsOf } from "./testing/requests.ts";

onEachDatabase("bad input to access requests", (world) => {
  const { post, get, create } = requestsOf(world);

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
      ["materialized", { ...place, resourcePlural: "--kubeconfig" }, "body.resourcePlural"],
      ["materialized", { ...place, resourcePlural: "a.-b" }, "body.resourcePlural"],
      ["materialized", { ...place, namespace: "-n" }, "body.namespace"],
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
