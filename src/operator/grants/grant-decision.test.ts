import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { canonicalDigest } from "../../crds/canonical-digest.ts";
import { grantAccount } from "../../crds/group.ts";
import type { AccessGrant, AccessGrantSpec, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import type { Enforcement } from "../gate/enforcement.ts";
import { claimDigest } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { at, GRANT_UID, grant, INVOCATION_UID, invocation, SCALE } from "../testing/fixtures.ts";
import { decideGrant, type GrantAction, type GrantFacts } from "./grant-decision.ts";

const STAMPED: Enforcement = { kind: "stamped", since: at("08:00:00") };

function world(of: AccessGrant, more: Partial<GrantFacts> = {}): GrantFacts {
  const policy = mergePolicies([]);
  return {
    grant: of,
    policy,
    enforcement: STAMPED,
    commands: BUILT_IN,
    invocationOf: () => undefined,
    missing: [],
    unaccepted: [],
    isBlind: false,
    lending: undefined,
    ...more,
  };
}

/** The grant after its next reconcile, as the API server would hold it. */
function settled(of: AccessGrant, now: Date, more: Partial<GrantFacts> = {}): AccessGrant {
  const action = decideGrant(world(of, more), now).find((each) => each.do === "writeStatus");
  return action?.do === "writeStatus" ? { ...of, status: action.status } : of;
}

function edited(of: AccessGrant, spec: Partial<AccessGrantSpec>): AccessGrant {
  return { ...of, spec: { ...of.spec, ...spec } };
}

const does = (of: AccessGrant, now: Date, more: Partial<GrantFacts> = {}): readonly GrantAction["do"][] =>
  decideGrant(world(of, more), now).map((action) => action.do);
const reasonOf = ({ status }: AccessGrant, type: string): string => {
  const found = status?.conditions?.find((condition) => condition.type === type);
  return `${found?.status}/${found?.reason}`;
};

const messageOf = ({ status }: AccessGrant, type: string): string | undefined =>
  status?.conditions?.find((condition) => condition.type === type)?.message;

const summary = "s";
const fresh = grant();
const pending = settled(fresh, at("09:00:01"));
const asked = edited(pending, { approvedForMinutes: 60, decidedBy: "alice" });
const open = settled(asked, at("10:00:00.700"));
const revoked = edited(open, { revokedReason: "enough", revokedBy: "bob" });
const deleted = { ...open, metadata: { ...open.metadata, deletionTimestamp: "2026-01-01T10:10:00Z" } };

test.each<readonly [string, AccessGrant, string, readonly GrantAction["do"][], string]>([
  ["a new request", fresh, "09:00:01", ["writeStatus", "comeBack"], "Pending"],
  ["nothing new", pending, "09:30:00", ["comeBack"], "Pending"],
  ["approved", asked, "10:00:00.700", ["writeStatus", "comeBack"], "Approved"],
  ["nothing new while open", open, "10:30:00", ["comeBack"], "Approved"],
  ["the last millisecond", open, "10:59:59.999", ["comeBack"], "Approved"],
  ["the end, exactly", open, "11:00:00", ["stopRunning", "closeAccess", "writeStatus"], "Expired"],
  ["revoked", revoked, "10:30:00", ["stopRunning", "closeAccess", "writeStatus"], "Revoked"],
  ["revoked at the very end", revoked, "11:00:00", ["stopRunning", "closeAccess", "writeStatus"], "Revoked"],
  ["deleted while open", deleted, "10:30:00", ["stopRunning", "closeAccess", "writeStatus", "comeBack"], "Approved"],
  ["approved at decideBefore, exactly", asked, "12:00:00", ["writeStatus", "comeBack"], "Approved"],
  ["approved a millisecond later", asked, "12:00:00.001", ["writeStatus"], "Lapsed"],
  ["undecided at decideBefore, exactly", pending, "12:00:00", ["comeBack"], "Pending"],
  ["undecided a millisecond later", pending, "12:00:00.001", ["writeStatus"], "Lapsed"],
  ["denied", edited(pending, { deniedReason: "no" }), "10:00:00", ["writeStatus"], "Denied"],
  ["denied after decideBefore", edited(pending, { deniedReason: "no" }), "13:00:00", ["writeStatus"], "Denied"],
  ["a false hash", grant({ planHash: "sha256:0" }), "09:00:01", ["writeStatus"], "Lapsed"],
  [
    "a false hash, approved",
    grant({ planHash: "sha256:0", approvedForMinutes: 5 }),
    "09:00:01",
    ["writeStatus"],
    "Lapsed",
  ],
  ["an understated risk", grant({ risk: "read-only" }), "09:00:01", ["writeStatus"], "Lapsed"],
  [
    "a longer window, too late",
    edited(settled(open, at("11:00:00")), { approvedForMinutes: 480 }),
    "11:01:00",
    ["linkReceipt"],
    "Expired",
  ],
  [
    "revoked after the end",
    edited(settled(open, at("11:00:00")), { revokedReason: "x" }),
    "11:01:00",
    ["linkReceipt"],
    "Expired",
  ],
])("%s", (_, of, now, actions, state) => {
  expect(does(of, at(now))).toEqual(actions);
  expect(settled(of, at(now)).status?.state).toBe(state);
});

test("all conditions but Lent are there on the first visit, and stay", () => {
  for (const each of [pending, open, settled(revoked, at("10:30:00"))]) {
    const types = each.status?.conditions?.map(({ type }) => type);
    expect(types).toEqual(["Approved", "Active", "Succeeded", "IdentityVerified", "Reported", "Permitted", "Accepted"]);
  }
});

test("an operator that cannot read what it decides by opens nothing, loses no approval, and closes all the same", () => {
  const blind = { isBlind: true };
  expect(settled(asked, at("10:00:00"), blind).status?.state).toBe("Pending");
  expect(settled(settled(asked, at("10:00:00"), blind), at("10:05:00")).status?.state).toBe("Approved");
  expect(settled(asked, at("12:00:00.001"), blind).status?.state).toBe("Lapsed");
  expect(does(open, at("11:00:00"), blind)).toEqual(["stopRunning", "closeAccess", "writeStatus"]);
  expect(does(revoked, at("10:30:00"), blind)).toEqual(["stopRunning", "closeAccess", "writeStatus"]);
});

test("where the customer does not accept its deployment a plan waits, keeps its approval, and says so", () => {
  const unaccepted = ["shop"];
  const told = settled(asked, at("10:00:00"), { unaccepted });
  expect(told.status?.state).toBe("Pending");
  expect(told.status).not.toHaveProperty("approvedAt");
  expect(reasonOf(told, "Accepted")).toBe("False/NotAccepted");
  const accepted = settled(told, at("10:05:00"));
  expect(accepted.status?.state).toBe("Approved");
  expect(reasonOf(accepted, "Accepted")).toBe("True/NamespacesAccepted");
  expect(settled(asked, at("12:00:00.001"), { unaccepted }).status?.state).toBe("Lapsed");
  expect(settled(open, at("10:30:00"), { unaccepted }).status?.state).toBe("Approved");
  expect(does(revoked, at("10:30:00"), { unaccepted })).toEqual(["stopRunning", "closeAccess", "writeStatus"]);
});

test("what the plan lacks is said while it is open, and not written into what is over", () => {
  const right = { verb: "bind", group: "rbac.authorization.k8s.io", resource: "clusterroles", namespace: "shop" };
  const missing = [
    { ...right, name: "sallyport-op-kubernetes-scale", role: "sallyport-operator-target", reach: "opened" },
  ] as const;
  const told = settled(pending, at("09:10:00"), { missing });
  expect(reasonOf(told, "Permitted")).toBe("False/RuleMissing");
  expect(told.status?.conditions?.find(({ type }) => type === "Permitted")?.message).toBe(
    "the operator may not bind clusterroles/sallyport-op-kubernetes-scale in shop (role sallyport-operator-target)",
  );
  expect(reasonOf(settled(told, at("09:20:00")), "Permitted")).toBe("True/RightsComplete");
  const over = settled(edited(pending, { deniedReason: "no" }), at("10:00:00"));
  expect(does(over, at("10:10:00"), { missing })).toEqual(["linkReceipt"]);
});

describe("a plan for a node", () => {
  const node = { command: "kubernetes/cordon-node", params: { name: "node-1" }, summary };
  const asking = grant({ commands: [node] });
  const opens = { operation: node.command, deployments: [asking.spec.deploymentId] };
  const policy = (names?: string[]) =>
    mergePolicies([{ spec: { clusterOperations: [{ ...opens, ...(names && { names }) }] } }]);
  const permitted = ({ status }: AccessGrant) => status?.conditions?.find(({ type }) => type === "Permitted")?.message;

  test("that no policy opens is said to be held before anyone decides", () => {
    for (const closed of [mergePolicies([]), policy(["node-2"])]) {
      const told = settled(asking, at("09:10:00"), { policy: closed });
      expect(told.status?.state).toBe("Pending");
      expect(reasonOf(told, "Permitted")).toBe("False/PolicyDenied");
      expect(permitted(told)).toBe(
        "held also when approved: line 1: the customer's policies do not open kubernetes/cordon-node on its object to deployment dpl_1 (clusterOperations)",
      );
      expect(reasonOf(settled(told, at("09:20:00"), { policy: policy(["node-1"]) }), "Permitted")).toBe(
        "True/RightsComplete",
      );
    }
  });

  test("whose every line is held cannot run, and says so while the window is open, until a policy opens it", () => {
    const held = settled(edited(asking, { approvedForMinutes: 60 }), at("10:00:00"));
    expect([held.status?.state, reasonOf(held, "Succeeded")]).toEqual(["Approved", "False/NothingRan"]);
    expect(reasonOf(settled(held, at("10:01:00"), { policy: policy() }), "Succeeded")).toBe("Unknown/NothingYet");
  });
});

test("a line that a rule denies is said to be held before anyone decides", () => {
  const policy = mergePolicies([{ spec: { rules: [{ pattern: "kubernetes/*", decision: "deny" }] } }]);
  expect(reasonOf(settled(fresh, at("09:10:00"), { policy }), "Permitted")).toBe("False/PolicyDenied");
});

test("a debug session in a mode that is off is said to be refused before anyone decides", () => {
  const plan = (mode: string) =>
    grant({
      risk: "destructive",
      commands: [{ command: `debug/${mode}`, params: { namespace: "shop", mode }, summary }],
    });
  const seen = (mode: string) => settled(plan(mode), at("09:10:00"), { switchedOff: ["debug/exec"] });
  expect(reasonOf(seen("exec"), "Permitted")).toBe("False/ModeDisabled");
  expect(reasonOf(seen("logs"), "Permitted")).toBe("True/RightsComplete");
  expect(reasonOf(settled(seen("exec"), at("09:20:00"), {}), "Permitted")).toBe("True/RightsComplete");
});

describe("the window", () => {
  test("has whole seconds, begins when the decision was seen, and lasts what was approved", () => {
    expect(open.status).toMatchObject({ approvedAt: "2026-01-01T10:00:00Z", approvedUntil: "2026-01-01T11:00:00Z" });
  });

  test("is no longer than the customer's policy allows", () => {
    const policy = mergePolicies([{ spec: { maxWindowMinutes: 15 } }]);
    const cut = settled(asked, at("10:00:00"), { policy });
    expect(cut.status?.approvedUntil).toBe("2026-01-01T10:15:00Z");
    const words = "for 15 minutes (60 were asked for; the policy allows 15)";
    expect(messageOf(cut, "Approved")).toContain(words);
    // What holds is on record: a policy that changes later is another's.
    expect(messageOf(settled(cut, at("10:05:00")), "Approved")).toContain(words);
    expect(messageOf(settled(asked, at("10:00:00")), "Approved")).toMatch(/for 60 minutes$/);
    const waiting = settled(asked, at("10:00:00"), { policy, unaccepted: ["shop"] });
    expect(waiting.status).not.toHaveProperty("approvedAt");
    expect(messageOf(waiting, "Approved")).toContain(words);
  });

  test("is not moved by a policy that changes later, nor by a restart", () => {
    const policy = mergePolicies([{ spec: { maxWindowMinutes: 15 } }]);
    expect(settled(open, at("10:05:00"), { policy }).status?.approvedUntil).toBe("2026-01-01T11:00:00Z");
  });

  test("is counted from the instant on record, where there is one", () => {
    const forged = { ...asked, status: { ...asked.status, approvedAt: "2026-01-01T09:50:00Z" } };
    expect(settled(forged, at("10:00:00")).status?.approvedUntil).toBe("2026-01-01T10:50:00Z");
  });

  test("is never opened after decideBefore, whenever the approval was typed", () => {
    const late = settled(edited(fresh, { approvedForMinutes: 60 }), at("12:00:01"));
    expect(late.status).not.toHaveProperty("approvedAt");
    expect(reasonOf(late, "Approved")).toBe("False/DecisionTooLate");
  });

  test("comes back when the clock alone will change something", () => {
    expect(decideGrant(world(pending), at("11:59:59"))).toEqual([{ do: "comeBack", afterMs: 1_001 }]);
    expect(decideGrant(world(open), at("10:59:59"))).toEqual([{ do: "comeBack", afterMs: 1_000 }]);
  });
});

describe("who decided", () => {
  const since = (time: string): Partial<GrantFacts> => ({ enforcement: { kind: "stamped", since: at(time) } });
  const missing: Partial<GrantFacts> = { enforcement: { kind: "none", missing: ["sallyport-grant-decisions"] } };

  test("is vouched for by policies that are older than the last look at the undecided grant", () => {
    expect(reasonOf(open, "IdentityVerified")).toBe("True/StampedByAdmission");
    const checked = { enforcement: { kind: "checked", since: at("08:00:00") } } as const;
    expect(reasonOf(settled(asked, at("10:00:00"), checked), "IdentityVerified")).toBe("True/ClaimCheckedByPolicy");
  });

  test("is not when a policy is missing, before the decision or after it", () => {
    expect(reasonOf(settled(fresh, at("09:00:01"), missing), "IdentityVerified")).toBe("False/NotEnforced");
    expect(reasonOf(settled(asked, at("10:00:00"), missing), "IdentityVerified")).toBe("False/NotEnforced");
    expect(reasonOf(settled(open, at("10:01:00"), missing), "IdentityVerified")).toBe("False/NotEnforced");
  });

  test("is not when a policy is younger than the decision may be", () => {
    expect(reasonOf(settled(asked, at("10:00:00"), since("09:30:00")), "IdentityVerified")).toBe("False/NotEnforced");
  });

  test("is when the policies came back and the grant was seen undecided after that", () => {
    const gone = settled(fresh, at("09:00:01"), missing);
    const back = settled(gone, at("09:31:00"), since("09:30:00"));
    expect(reasonOf(back, "IdentityVerified")).toBe("Unknown/AwaitingDecision");
    const decided = edited(back, { approvedForMinutes: 60, decidedBy: "alice" });
    expect(reasonOf(settled(decided, at("10:00:00"), since("09:30:00")), "IdentityVerified")).toBe(
      "True/StampedByAdmission",
    );
  });

  test("is not before the API server enforces policies that are new, and is when the decision waits for that", () => {
    const early = settled(fresh, at("09:00:01"), since("09:00:30"));
    expect(reasonOf(early, "IdentityVerified")).toBe("False/NotEnforced");
    expect(messageOf(early, "IdentityVerified")).toContain("wait with the decision until 2026-01-01T09:00:30.000Z");
    expect(decideGrant(world(early, since("09:00:30")), at("09:00:01"))).toEqual([{ do: "comeBack", afterMs: 29_000 }]);
    const approval = { approvedForMinutes: 60, decidedBy: "alice" };
    for (const forged of [fresh, early])
      expect(reasonOf(settled(edited(forged, approval), at("09:00:40"), since("09:00:30")), "IdentityVerified")).toBe(
        "False/NotEnforced",
      );
    const awaited = settled(early, at("09:00:30"), since("09:00:30"));
    expect(reasonOf(awaited, "IdentityVerified")).toBe("Unknown/AwaitingDecision");
    const decided = settled(edited(awaited, approval), at("09:00:40"), since("09:00:30"));
    expect(reasonOf(decided, "IdentityVerified")).toBe("True/StampedByAdmission");
  });

  test("stays doubtful when a policy was taken away and put back around the decision", () => {
    const gone = settled(open, at("10:01:00"), missing);
    expect(reasonOf(settled(gone, at("10:03:00"), since("10:02:00")), "IdentityVerified")).toBe("False/NotEnforced");
    expect(reasonOf(settled(open, at("10:03:00"), since("10:02:00")), "IdentityVerified")).toBe("False/NotEnforced");
  });

  test("stays doubtful also when all of that was in the second in which the grant was made", () => {
    const gone = settled(open, at("09:00:00"), missing);
    expect(reasonOf(settled(gone, at("09:00:01"), since("09:00:00")), "IdentityVerified")).toBe("False/NotEnforced");
    expect(reasonOf(settled(gone, at("09:00:01"), since("08:59:59")), "IdentityVerified")).toBe(
      "True/StampedByAdmission",
    );
  });

  test("is unknown when no name is on the decision", () => {
    const nameless = edited(pending, { approvedForMinutes: 60 });
    expect(reasonOf(settled(nameless, at("10:00:00")), "IdentityVerified")).toBe("False/NoName");
  });

  test("stays on record as it was when the grant was over", () => {
    const over = settled(open, at("11:00:00"));
    expect(does(over, at("12:00:00"), missing)).toEqual(["linkReceipt"]);
  });
});

describe("the lines of the plan", () => {
  const two = {
    commands: [
      { ...SCALE, summary },
      { command: "kubernetes/get-pods", summary, params: { namespace: "shop" } },
    ],
  };
  const opened = settled(grant({ ...two, approvedForMinutes: 60 }), at("10:00:00"));
  const claimed = (more: object = {}): AccessGrant => {
    const first = {
      index: 0,
      state: "Starting",
      commandId: "cmd_1",
      digest: claimDigest(INVOCATION_UID),
      ...more,
    } as const;
    return { ...opened, status: { ...opened.status, commands: [first, { index: 1, state: "Planned" }] } };
  };
  const followed = (status: OperationInvocation["status"], of = claimed()): AccessGrant =>
    settled(of, at("10:10:00"), { invocationOf: () => invocation({}, status) });
  const states = ({ status }: AccessGrant): readonly unknown[] => status?.commands?.map(({ state }) => state) ?? [];

  test("are planned, and held where the policy denies", () => {
    expect(states(opened)).toEqual(["Planned", "Planned"]);
    const policy = mergePolicies([{ spec: { rules: [{ pattern: "kubernetes/scale", decision: "deny" }] } }]);
    expect(states(settled(opened, at("10:01:00"), { policy }))).toEqual(["Held", "Planned"]);
  });

  test.each([
    [undefined, "Starting"],
    [{ state: "Pending" }, "Starting"],
    [{ state: "Running", startedAt: "2026-01-01T10:09:00Z" }, "Running"],
    [{ state: "Succeeded", startedAt: "2026-01-01T10:09:00Z", finishedAt: "2026-01-01T10:09:01Z" }, "Succeeded"],
    [{ state: "Failed", error: { code: "HANDLER_ERROR", message: "no pod" } }, "Failed"],
    [{ state: "Unknown" }, "Unknown"],
    [{ state: "Held" }, "NotStarted"],
    [{ state: "Expired" }, "NotStarted"],
    [{ state: "Expired", startedAt: "2026-01-01T10:09:00Z" }, "Unknown"],
  ] as const)("follow the invocation: %j is %s", (status, state) => {
    expect(states(followed(status))[0]).toBe(state);
  });

  test("are unknown when the invocation that claimed them is gone, or another one has its name", () => {
    expect(states(settled(claimed(), at("10:10:00")))[0]).toBe("Unknown");
    expect(states(followed({ state: "Succeeded" }, claimed({ digest: claimDigest("other") })))[0]).toBe("Unknown");
  });

  test("are skipped when the grant is over, but for what has begun", () => {
    const over = settled(edited(claimed(), { revokedReason: "x" }), at("10:10:00"), {
      invocationOf: () => invocation({}, { state: "Running" }),
    });
    expect(states(over)).toEqual(["Running", "Skipped"]);
    expect(reasonOf(over, "Succeeded")).toBe("Unknown/NothingYet");
    const later = settled(over, at("10:11:00"), { invocationOf: () => invocation({}, { state: "Succeeded" }) });
    expect(states(later)).toEqual(["Succeeded", "Skipped"]);
    expect(reasonOf(later, "Succeeded")).toBe("False/SomeNotStarted");
  });

  test("complete the grant when every one has been used, and close its access first", () => {
    const one = settled(grant({ approvedForMinutes: 60 }), at("10:00:00"));
    const line = { index: 0, state: "Starting", commandId: "cmd_1", digest: claimDigest(INVOCATION_UID) } as const;
    const running = { ...one, status: { ...one.status, commands: [line] } };
    for (const [state, verdict] of [
      ["Succeeded", "True/AllSucceeded"],
      ["Failed", "False/SomeFailed"],
      ["Held", "False/NothingRan"],
      ["Expired", "False/NothingRan"],
      ["Unknown", "Unknown/OutcomeUnknown"],
    ] as const) {
      const invocationOf = (): OperationInvocation => invocation({}, { state });
      expect(does(running, at("10:10:00"), { invocationOf })).toEqual(["closeAccess", "writeStatus"]);
      const over = settled(running, at("10:10:00"), { invocationOf });
      expect([over.status?.state, reasonOf(over, "Succeeded")]).toEqual(["Completed", verdict]);
    }
  });
});

describe("the receipt", () => {
  const line = { index: 0, state: "Starting", commandId: "cmd_1", digest: claimDigest(INVOCATION_UID) } as const;
  const one = settled(grant({ approvedForMinutes: 60, decidedBy: "alice" }), at("10:00:00"));
  const claimed = { ...one, status: { ...one.status, commands: [line] } };
  const revoked = settled(edited(claimed, { revokedReason: "x" }), at("10:10:00"), {
    invocationOf: () => invocation({}, { state: "Running", startedAt: "2026-01-01T10:09:00Z" }),
  });
  const done = {
    invocationOf: () =>
      invocation(
        {},
        {
          state: "Succeeded",
          startedAt: "2026-01-01T10:09:00Z",
          finishedAt: "2026-01-01T10:11:00Z",
          result: { replicas: 5 },
        },
      ),
  };

  test("waits until what runs has ended, and until that is stored", () => {
    expect(revoked.status?.endedAt).toBe("2026-01-01T10:10:00Z");
    expect(does(revoked, at("10:10:30"), { invocationOf: () => invocation({}, { state: "Running" }) })).toEqual([]);
    expect(does(revoked, at("10:11:00"), done)).toEqual(["writeStatus"]);
    const over = settled(revoked, at("10:11:00"), done);
    expect(over.status?.endedAt).toBe("2026-01-01T10:10:00Z");
    expect(does(over, at("10:11:01"), done)).toEqual(["linkReceipt"]);
    const receipt = { sequence: 1, digest: `sha256:${"0".repeat(64)}` };
    expect(does({ ...over, status: { ...over.status, receipt } }, at("10:12:00"), done)).toEqual([]);
    const deleted = { ...over, metadata: { ...over.metadata, deletionTimestamp: "2026-01-01T10:12:00Z" } };
    expect(does(deleted, at("10:12:00"), done)).not.toContain("linkReceipt");
  });

  test("names the account and the digest of the result of each line", () => {
    expect(settled(revoked, at("10:11:00"), done).status?.commands).toMatchObject([
      {
        state: "Succeeded",
        account: grantAccount(GRANT_UID),
        startedAt: "2026-01-01T10:09:00Z",
        finishedAt: "2026-01-01T10:11:00Z",
        resultDigest: canonicalDigest({ replicas: 5 }),
      },
    ]);
  });

  test("is of lines that do not change any more when an invocation tells more later", () => {
    const unknown = { invocationOf: () => invocation({}, { state: "Unknown" }) };
    const over = settled(revoked, at("10:11:00"), unknown);
    expect(settled(over, at("10:12:00"), done).status?.commands).toEqual(over.status?.commands);
  });
});

test("foreign words reach the conditions on one line, printable and cut", () => {
  const words = `evil\u202e\u0007\n${"x".repeat(5_000)}`;
  const message =
    settled(edited(pending, { deniedReason: words }), at("10:00:00")).status?.conditions?.[0]?.message ?? "";
  expect(message.startsWith("denied: evil xx")).toBe(true);
  expect(message.length).toBeLessThanOrEqual(1_024);
});

const edit = fc.constantFrom<Partial<AccessGrantSpec>>(
  {},
  { approvedForMinutes: 30 },
  { approvedForMinutes: 240 },
  { deniedReason: "no" },
  { revokedReason: "no" },
);
const steps = fc.array(fc.record({ spec: edit, minutes: fc.integer({ min: 0, max: 60 }), crash: fc.boolean() }), {
  maxLength: 12,
});

/** What people can do: the API server lets a decision and a revocation happen once, and none after Lapsed. */
function allowed({ spec, status }: AccessGrant, words: Partial<AccessGrantSpec>): boolean {
  const decided = spec.approvedForMinutes !== undefined || spec.deniedReason !== undefined;
  if (words.revokedReason !== undefined)
    return spec.approvedForMinutes !== undefined && spec.revokedReason === undefined;
  return !decided && status?.state !== "Lapsed";
}

test("whatever is edited and wherever we crash, a grant has one window, and what is over stays over", () => {
  fc.assert(
    fc.property(steps, (list) => {
      let current = fresh;
      let now = at("09:00:00");
      let window: string | undefined;
      let final: AccessGrantStatus["state"];
      for (const { spec, minutes, crash } of list) {
        if (allowed(current, spec)) current = edited(current, spec);
        now = new Date(now.getTime() + minutes * 60_000);
        if (crash) continue;
        current = settled(current, now);
        const { status } = current;
        if (status?.approvedAt !== undefined) {
          const seen = `${status.approvedAt} ${status.approvedUntil}`;
          expect(window ?? seen).toBe(seen);
          window = seen;
          const lasts = Date.parse(status.approvedUntil ?? "") - Date.parse(status.approvedAt);
          expect(lasts).toBeLessThanOrEqual((current.spec.approvedForMinutes ?? 0) * 60_000);
          expect(status.approvedAt <= timestamp(new Date(current.spec.decideBefore))).toBe(true);
        }
        if (final !== undefined) expect(status?.state).toBe(final);
        if (status?.state !== "Pending" && status?.state !== "Approved") final = status?.state;
        expect(
          does(current, now).filter((action) => action === "writeStatus"),
          "a settled grant needs no write",
        ).toEqual([]);
        const stands = status?.state === "Approved" && now < new Date(status.approvedUntil ?? "");
        if (status?.state === "Approved") expect(stands).toBe(true);
      }
    }),
    { numRuns: runs(1_000) },
  );
});
