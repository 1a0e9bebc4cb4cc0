import { expect, test } from "vitest";
import { grantAccount } from "../../crds/group.ts";
import { type GrantRecord, timelineOf } from "./timeline.ts";

const uid = "aaaaaaaa-0000-4000-8000-000000000001";
const ACCOUNT = grantAccount(uid);
const condition = (type: string, status: string, at: string, reason: string, message: string) => ({
  type,
  status,
  lastTransitionTime: at,
  reason,
  message,
});

interface Fields {
  readonly spec?: object;
  readonly status?: object;
  readonly invocations?: readonly object[];
  readonly sessions?: readonly object[];
}

function told({ spec = {}, status = {}, invocations = [], sessions = [] }: Fields): readonly string[] {
  const grant = {
    metadata: { name: "ar-1", uid, creationTimestamp: "2026-01-01T09:00:00Z" },
    spec: { title: "more replicas", risk: "mutating", commands: [{}], requestedBy: "ada", ...spec },
    status,
  };
  const record = { grant, invocations, sessions } as unknown as GrantRecord;
  return timelineOf(record).map(({ at, who, what }) => `${at.slice(11)} ${who} ${what}`);
}

const APPROVED = { approvedForMinutes: 30, decidedBy: "bob" };
const WINDOW = { approvedAt: "2026-01-01T09:05:00Z", approvedUntil: "2026-01-01T09:35:00Z" };

test("what has the same second stands in the order in which it can have happened", () => {
  const run = {
    metadata: { name: "cmd-1", creationTimestamp: "2026-01-01T09:05:00Z" },
    spec: { plugin: "kubernetes", operation: "scale" },
    status: { state: "Succeeded", startedAt: "2026-01-01T09:05:00.400Z", finishedAt: "2026-01-01T09:05:00.900Z" },
  };
  const conditions = [
    condition("Active", "False", "2026-01-01T09:05:00Z", "AllUsed", "each line has run"),
    condition("Succeeded", "True", "2026-01-01T09:05:00Z", "AllSucceeded", "1 of 1 succeeded"),
  ];
  expect(told({ spec: APPROVED, status: { ...WINDOW, conditions }, invocations: [run] })).toEqual([
    "09:00:00Z ada asked for one command (mutating): more replicas",
    "09:05:00Z bob approved for 30 minutes, until 2026-01-01T09:35:00Z",
    "09:05:00Z the vendor sent kubernetes/scale as cmd-1",
    `09:05:00.400Z ${ACCOUNT} began kubernetes/scale`,
    `09:05:00.900Z ${ACCOUNT} ended kubernetes/scale, Succeeded`,
    "09:05:00Z the operator closed the window: each line has run",
    "09:05:00Z the operator told the outcome, AllSucceeded: 1 of 1 succeeded",
  ]);
});

test("an approval that the policy cut says what holds, and what was asked for", () => {
  const lines = told({ spec: { ...APPROVED, approvedForMinutes: 300 }, status: WINDOW });
  expect(lines[1]).toBe(
    "09:05:00Z bob approved for 30 minutes (300 were asked for; the policy allows 30), until 2026-01-01T09:35:00Z",
  );
});

test("a denial has its decider and reason", () => {
  const conditions = [condition("Approved", "False", "2026-01-01T09:01:00Z", "Denied", "")];
  expect(told({ spec: { deniedReason: "not today", decidedBy: "bob" }, status: { conditions } }).at(-1)).toBe(
    "09:01:00Z bob denied: not today",
  );
});

test("a revocation has its own, and the window's end is not told twice", () => {
  const conditions = [condition("Active", "False", "2026-01-01T09:06:00Z", "Revoked", "")];
  const spec = { ...APPROVED, revokedReason: "over", revokedBy: "eve" };
  const lines = told({ spec, status: { ...WINDOW, conditions } });
  expect(lines.slice(2)).toEqual(["09:06:00Z eve revoked: over"]);
});

test("a command that was held, and one that ended before it began, are the operator's", () => {
  const spec = { plugin: "kubernetes", operation: "scale" };
  const metadata = { name: "cmd-1", creationTimestamp: "2026-01-01T09:01:00Z" };
  const held = condition("Authorized", "False", "2026-01-01T09:01:01Z", "PolicyDenied", "no");
  const error = { code: "DEADLINE_EXCEEDED", message: "late" };
  const lines = told({
    invocations: [
      { metadata, spec, status: { state: "Held", conditions: [held] } },
      { metadata, spec, status: { state: "Expired", finishedAt: "2026-01-01T09:02:00Z", error } },
    ],
  });
  expect(lines).toContain("09:01:01Z the operator held kubernetes/scale, PolicyDenied: no");
  expect(lines.at(-1)).toBe("09:02:00Z the operator ended kubernetes/scale, Expired: DEADLINE_EXCEEDED: late");
});

test("a debug session has its beginning and its end", () => {
  const session = {
    metadata: { name: "dbg-1", creationTimestamp: "2026-01-01T09:06:00Z" },
    spec: { owner: "ada", mode: "exec", namespace: "shop" },
    status: {
      tunnel: { attachedAt: "2026-01-01T09:07:00Z" },
      closedAt: "2026-01-01T09:09:00Z",
      closeReason: "idle",
    },
  };
  expect(told({ sessions: [session] }).slice(1)).toEqual([
    "09:06:00Z ada asked for debug session dbg-1, exec in shop",
    "09:07:00Z ada entered debug session dbg-1",
    "09:09:00Z the operator closed debug session dbg-1: idle",
  ]);
});
