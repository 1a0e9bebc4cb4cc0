import { describe, expect, it } from "vitest";
import { type Receipt, receiptDigest } from "../../../contract/access-requests/receipts.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../operations/testing/site.ts";
import { misfitsOf } from "./receipts.ts";
import { deniedReceipt } from "./testing/receipts.ts";
import { LOOK, NOWHERE, RESTART, requestsOf } from "./testing/requests.ts";

type Known = Parameters<typeof misfitsOf>[1];

onEachDatabase("receipts", (world) => {
  const { post, get, queued } = requestsOf(world);
  const told = async (site: Awaited<ReturnType<typeof newSite>>, ...receipts: object[]) =>
    (await post(site.manager, "/receipts", { deploymentId: site.deploymentId, receipts })).body;
  const asked = async (site: Awaited<ReturnType<typeof newSite>>) => {
    const { id } = await queued(site);
    return (await get(site.engineer, `/${id}`)).body;
  };

  it("are kept once and served in the same bytes, with what does not fit", async () => {
    const site = await newSite(world);
    const request = await asked(site);
    const report = deniedReceipt(request);
    expect((await get(site.viewer, `/${request.id}/receipt`)).status).toBe(404);
    expect(await told(site, report)).toEqual({
      recorded: 1,
      results: [{ requestId: request.id, outcome: "recorded" }],
    });
    expect((await told(site, report)).results).toMatchObject([{ outcome: "duplicate" }]);
    const early = (await get(site.viewer, `/${request.id}/receipt`)).body;
    expect(early).toMatchObject({ digest: report.digest, receipt: report.receipt, misfits: ["decision"] });
    expect(receiptDigest(early.receipt)).toBe(report.digest);
    const decision = { requestId: request.id, outcome: "denied", reason: "not today", decidedBy: "alice" };
    await post(site.manager, "/decisions", { deploymentId: site.deploymentId, decisions: [decision] });
    expect((await get(site.viewer, `/${request.id}/receipt`)).body.misfits).toEqual([]);
  });

  it("that are none, of another request or changed are ignored one by one, and the first one stays", async () => {
    const site = await newSite(world);
    const request = await asked(site);
    const report = deniedReceipt(request);
    const other = deniedReceipt(request, { state: "Expired" });
    const answer = await told(
      site,
      { ...report, digest: other.digest },
      { ...report, receipt: { version: "v1" } },
      { ...report, receipt: { ...report.receipt, more: 1 } },
      deniedReceipt({ ...request, id: NOWHERE }),
      { ...deniedReceipt({ ...request, id: NOWHERE }), requestId: request.id },
      report,
      other,
    );
    const codes = answer.results.map(({ outcome, code }: { outcome: string; code?: string }) => code ?? outcome);
    const bad = "VALIDATION_ERROR";
    expect(codes).toEqual([bad, bad, bad, "NOT_FOUND", bad, "recorded", "CONFLICT"]);
  });

  it("say when the chain does not hold", async () => {
    const site = await newSite(world);
    const [one, two] = [await asked(site), await asked(site)];
    const first = deniedReceipt(one);
    await told(site, first, deniedReceipt(two, { sequence: 2, previous: `sha256:${"0".repeat(64)}` }));
    for (const { id } of [one, two]) {
      expect((await get(site.viewer, `/${id}/receipt`)).body.misfits).toContain("chain");
    }
  });

  it("of another customer are not there", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const request = await asked(site);
    const body = { deploymentId: other.deploymentId, receipts: [deniedReceipt(request)] };
    expect((await post(other.manager, "/receipts", body)).body.results).toMatchObject([{ code: "NOT_FOUND" }]);
    expect((await get(other.viewer, `/${request.id}/receipt`)).status).toBe(404);
  });
});

describe("what a receipt says against what the platform knows", () => {
  const request = { id: "ar_1", deploymentId: "dep_1", title: "Restart", risk: "mutating", commands: [RESTART, LOOK] };
  const until = "2026-01-01T11:00:00Z";
  const { receipt: denied } = deniedReceipt(request);
  const result = { replaced: "api-1" };
  const line = {
    index: 0,
    state: "Succeeded",
    commandId: "cmd_1",
    account: "grant-aaaaaaaaaaaa",
    startedAt: until,
    finishedAt: until,
    resultDigest: receiptDigest(result),
  };
  const ran: Receipt = {
    ...denied,
    decision: { outcome: "approved", by: "alice", nameFrom: "stamped", minutes: 60, reason: null },
    window: { from: "2026-01-01T10:00:00Z", until },
    state: "Completed",
    lines: [line],
  };
  const approval = {
    outcome: "approved",
    by: "alice",
    reason: null,
    at: until,
    approvedUntil: until,
    identity: "verified",
  } as const;
  const known: Known = {
    row: {
      plan_hash: denied.request.planHash,
      risk: "mutating",
      title: "Restart",
      commands: [RESTART, LOOK],
      decisions: [approval],
    },
    commands: [{ id: "cmd_1", plan_index: 0, state: "SUCCEEDED", result: JSON.stringify(result) }],
    stored: { sequence: 2, digest: "b", previous: "a" },
    neighbours: [
      { sequence: 1, digest: "a", previous: null },
      { sequence: 3, digest: "c", previous: "b" },
    ],
  };
  const knownWith = (row: Partial<Known["row"]>): Partial<Known> => ({ row: { ...known.row, ...row } });
  const command = { id: "cmd_1", plan_index: 0, state: "SUCCEEDED", result: null } as const;

  it.each<[string, Partial<Receipt>, Partial<Known>, readonly string[]]>([
    ["all of it", {}, {}, []],
    ["another title", {}, knownWith({ title: "Look" }), ["plan"]],
    ["another command", {}, knownWith({ commands: [LOOK, RESTART] }), ["plan"]],
    ["a command less", {}, knownWith({ commands: [RESTART] }), ["plan"]],
    ["another approver", {}, knownWith({ decisions: [{ ...approval, by: "eve" }] }), ["decision"]],
    ["another window", {}, knownWith({ decisions: [{ ...approval, approvedUntil: denied.endedAt }] }), ["decision"]],
    ["no approval known", {}, knownWith({ decisions: [] }), ["decision"]],
    [
      "a revocation unsaid",
      {},
      knownWith({ decisions: [approval, { ...approval, outcome: "revoked" }] }),
      ["decision"],
    ],
    ["a denial against an approval", { decision: denied.decision, window: null }, {}, ["decision"]],
    [
      "revoked before the platform knew, which was told as a denial",
      { revocation: { by: "bob", reason: "over" } },
      knownWith({ decisions: [{ ...approval, outcome: "denied" }] }),
      [],
    ],
    ["another command's id", { lines: [{ ...line, commandId: "cmd_2" }] }, {}, ["lines"]],
    ["a line that is missing", { lines: [] }, {}, ["lines"]],
    ["an end that is another", { lines: [{ ...line, state: "Failed" }] }, {}, ["lines"]],
    ["another result", { lines: [{ ...line, resultDigest: receiptDigest({}) }] }, {}, ["lines"]],
    ["success of what failed here", {}, { commands: [{ ...command, state: "FAILED" }] }, ["lines"]],
    ["a command that has not ended here yet", {}, { commands: [{ ...command, state: "DISPATCHED" }] }, []],
    ["a fork", {}, { neighbours: [{ sequence: 2, digest: "x", previous: "a" }] }, ["chain"]],
    ["another one before", {}, { neighbours: [{ sequence: 1, digest: "x", previous: null }] }, ["chain"]],
    ["another one after", {}, { neighbours: [{ sequence: 3, digest: "c", previous: "x" }] }, ["chain"]],
  ])("%s", (_, said, more, expected) => {
    expect(misfitsOf({ ...ran, ...said }, { ...known, ...more })).toEqual(expected);
  });
});
