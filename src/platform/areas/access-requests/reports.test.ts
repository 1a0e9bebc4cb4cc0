import { describe, expect, it } from "vitest";
import type { ApprovalReport, DecisionReport } from "../../../contract/access-requests/access-relay.ts";
import { judgeApproval, judgeDecision, lapse, type Reported, type Verdict, WINDOW_SLACK_MS } from "./state.ts";

const NOW = new Date("2026-03-01T12:00:00.000Z");
const at = (offsetMs: number): Date => new Date(NOW.getTime() + offsetMs);
const iso = (offsetMs: number): string => at(offsetMs).toISOString();
const HOUR_MS = 3_600_000;
const HASH = `sha256:${"a".repeat(64)}`;
const OTHER_HASH = `sha256:${"b".repeat(64)}`;

const queued: Reported = {
  status: "queued",
  execution: "idle",
  decideBefore: at(HOUR_MS),
  approvedUntil: null,
  risk: "mutating",
  planHash: HASH,
  maxMinutes: 60,
  decision: null,
};
const approved: Reported = {
  ...queued,
  status: "customer-approved",
  execution: "running",
  approvedUntil: at(HOUR_MS),
};
const report: ApprovalReport = { requestId: "ar_x", approvedUntil: iso(HOUR_MS) };

function inShort(verdict: Verdict): string {
  return verdict.outcome === "ignored" ? verdict.code : verdict.outcome;
}

describe("an approval report", () => {
  it.each<[string, Partial<Reported>, Partial<ApprovalReport>, string]>([
    ["a sane window", {}, {}, "recorded"],
    ["the right hash", {}, { planHash: HASH }, "recorded"],
    ["another plan's hash", {}, { planHash: OTHER_HASH }, "PLAN_HASH_MISMATCH"],
    ["the right hash in capitals", {}, { planHash: HASH.toUpperCase() }, "PLAN_HASH_MISMATCH"],
    ["an empty hash", {}, { planHash: "" }, "PLAN_HASH_MISMATCH"],
    ["destructive, no hash", { risk: "destructive" }, {}, "PLAN_HASH_MISMATCH"],
    ["destructive, right hash", { risk: "destructive" }, { planHash: HASH }, "recorded"],
    ["read-only, no hash", { risk: "read-only" }, {}, "recorded"],
    ["a window that ends now", {}, { approvedUntil: iso(0) }, "VALIDATION_ERROR"],
    ["a window that ends in a millisecond", {}, { approvedUntil: iso(1) }, "recorded"],
    ["the longest window", {}, { approvedUntil: iso(HOUR_MS + WINDOW_SLACK_MS) }, "recorded"],
    ["a millisecond more", {}, { approvedUntil: iso(HOUR_MS + WINDOW_SLACK_MS + 1) }, "VALIDATION_ERROR"],
    ["an instant that is none", {}, { approvedUntil: "2026-12-31T23:59:60Z" }, "VALIDATION_ERROR"],
    ["a name that reads backwards", {}, { decidedBy: "alice\u202e" }, "VALIDATION_ERROR"],
    ["never queued", { status: "pending-approval" }, {}, "INVALID_STATE_TRANSITION"],
    ["rejected", { status: "rejected" }, {}, "INVALID_STATE_TRANSITION"],
    ["expired", { status: "expired" }, {}, "INVALID_STATE_TRANSITION"],
    ["approved, same window", approved, {}, "duplicate"],
    ["approved, same window in another offset", approved, { approvedUntil: "2026-03-01T15:00:00+02:00" }, "duplicate"],
    ["approved, longer window", approved, { approvedUntil: iso(HOUR_MS + 1) }, "CONFLICT"],
    ["approved, shorter window", approved, { approvedUntil: iso(HOUR_MS - 1) }, "CONFLICT"],
    ["approved, same window, other plan", approved, { planHash: OTHER_HASH }, "PLAN_HASH_MISMATCH"],
  ])("%s", (_, request, change, expected) => {
    expect(inShort(judgeApproval({ ...queued, ...request }, { ...report, ...change }, NOW))).toBe(expected);
  });

  it.each<[string, Partial<ApprovalReport>, string]>([
    ["nothing said", {}, "unknown"],
    ["a name alone", { decidedBy: "alice" }, "claimed"],
    ["what the cluster says", { decidedBy: "alice", identity: "verified" }, "verified"],
  ])("takes the identity from: %s", (_, change, identity) => {
    expect(judgeApproval(queued, { ...report, ...change }, NOW)).toMatchObject({ decision: { identity } });
  });

  it.each<[string, string | undefined, string]>([
    ["the reported time", iso(-5000), iso(-5000)],
    ["now, when none is reported", undefined, iso(0)],
    ["now, when the cluster's clock is ahead", iso(5000), iso(0)],
    ["now, when the time is none", "2025-12-31T23:59:60Z", iso(0)],
  ])("dates the decision by %s", (_, approvedAt, expected) => {
    const verdict = judgeApproval(queued, { ...report, ...(approvedAt && { approvedAt }) }, NOW);
    expect(verdict).toMatchObject({ decision: { at: expected } });
  });

  it("opens the reported window", () => {
    expect(judgeApproval(queued, report, NOW)).toMatchObject({
      next: { status: "customer-approved", approvedUntil: at(HOUR_MS) },
    });
  });
});

describe("a decision report", () => {
  const denied: DecisionReport = { requestId: "ar_x", outcome: "denied", reason: "change freeze", decidedBy: "alice" };
  const ended = (status: "rejected" | "expired", outcome: DecisionReport["outcome"]): Partial<Reported> => ({
    status,
    decision: { ...lapse(NOW, null), outcome },
  });

  it.each<[string, Partial<Reported>, Partial<DecisionReport>, string]>([
    ["denied, queued", {}, {}, "recorded"],
    ["denied, approved", approved, {}, "INVALID_STATE_TRANSITION"],
    ["denied, never queued", { status: "pending-approval" }, {}, "INVALID_STATE_TRANSITION"],
    ["denied again", ended("rejected", "denied"), {}, "duplicate"],
    ["denied after revoked", ended("rejected", "revoked"), {}, "INVALID_STATE_TRANSITION"],
    ["denied after expired", ended("expired", "expired"), {}, "INVALID_STATE_TRANSITION"],
    ["revoked, queued", {}, { outcome: "revoked" }, "INVALID_STATE_TRANSITION"],
    ["revoked, approved", approved, { outcome: "revoked" }, "recorded"],
    ["revoked again", ended("rejected", "revoked"), { outcome: "revoked" }, "duplicate"],
    ["expired, queued", {}, { outcome: "expired" }, "recorded"],
    ["expired, approved and running", approved, { outcome: "expired" }, "recorded"],
    [
      "expired, approved and done",
      { ...approved, execution: "succeeded" },
      { outcome: "expired" },
      "INVALID_STATE_TRANSITION",
    ],
    ["expired, never queued", { status: "pending-approval" }, { outcome: "expired" }, "INVALID_STATE_TRANSITION"],
    ["expired again", ended("expired", "expired"), { outcome: "expired" }, "duplicate"],
    ["a superseded grant's hash", {}, { outcome: "expired", planHash: OTHER_HASH }, "recorded"],
    ["a reason that cannot be read", {}, { reason: "no\u200bpe" }, "VALIDATION_ERROR"],
    ["a reason of two lines", {}, { reason: "no\nreally" }, "recorded"],
  ])("%s", (_, request, change, expected) => {
    expect(inShort(judgeDecision({ ...queued, ...request }, { ...denied, ...change }, NOW))).toBe(expected);
  });

  it("keeps the window of what it revokes on record", () => {
    expect(judgeDecision(approved, { ...denied, outcome: "revoked" }, NOW)).toMatchObject({
      next: { status: "rejected", execution: "stopped" },
      decision: { outcome: "revoked", by: "alice", reason: "change freeze", approvedUntil: iso(HOUR_MS) },
    });
  });
});
