import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { DebugSession, DebugSessionSpec, DebugSessionStatus } from "../../crds/kinds/debug-session.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { DEBUG_MODES } from "../../crds/operations/debug.ts";
import { claimDigest } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { approvedGrant, at, DEPLOYMENT_ID, GRANT_UID, grant, NAMESPACE } from "../testing/fixtures.ts";
import { endOf, paramsOf, type SessionFacts, sessionVerdict, untilOf } from "./session-gate.ts";

const UID = "cccccccc-0000-4000-8000-000000000001";
const KEY = "k".repeat(43);
const EXEC = { command: "debug/exec", summary: "exec", params: { namespace: "shop", mode: "exec", clientKey: KEY } };

function session(
  spec: Partial<DebugSessionSpec> = {},
  status?: DebugSessionStatus,
  metadata: object = {},
): DebugSession {
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "DebugSession",
    metadata: {
      ...{ name: "dbg-1", namespace: NAMESPACE, uid: UID, resourceVersion: "1", generation: 1 },
      creationTimestamp: "2026-01-01T10:29:50Z",
      ...metadata,
    },
    spec: {
      ...{ sessionId: "dbg_1", deploymentId: DEPLOYMENT_ID, grantName: "req-1", mode: "exec", namespace: "shop" },
      ...{ owner: "jo", reason: "500s", clientKey: KEY, expiresAt: "2026-01-01T11:30:00Z" },
      ...spec,
    },
    ...(status && { status }),
  };
}

function debugGrant(lines: readonly object[] = [EXEC], status: object = {}): AccessGrant {
  const commands = lines as AccessGrant["spec"]["commands"];
  const planned = approvedGrant({ commands, risk: "destructive" }, status);
  return { ...planned, spec: { ...planned.spec, approvedPlanHash: planned.spec.planHash } };
}

/** Everything in order, at 10:30: exec in shop, approved from 10:00 to 11:00. */
function facts(more: Partial<SessionFacts> = {}): SessionFacts {
  return {
    session: session(),
    grant: debugGrant(),
    policy: mergePolicies([]),
    commands: BUILT_IN,
    deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: ["shop"] } }],
    named: new Map(),
    limits: { modes: DEBUG_MODES, maxTtlMs: 3_600_000, maxConcurrent: 3, lendingMode: "operator" },
    others: 0,
    now: at("10:30:00"),
    ...more,
  };
}

const said = (more: Partial<SessionFacts>): string => {
  const verdict = sessionVerdict(facts(more));
  return verdict.do === "wait" ? `wait: ${verdict.message}` : verdict.reason;
};
const policy = (pattern: string, decision: "auto" | "manual" | "deny") =>
  mergePolicies([{ spec: { rules: [{ pattern, decision }] } }]);
const automatic = (mode: "logs" | "exec"): DebugSession => {
  const { grantName: _, ...spec } = session({ mode }).spec;
  return { ...session(), spec };
};
const { limits } = facts();
const claimed = (more: object) => ({
  commands: [{ index: 0, state: "Starting" as const, commandId: "dbg_1", ...more }],
});

describe("may it be opened", () => {
  test.each<readonly [string, Partial<SessionFacts>, string]>([
    ["everything in order", {}, "GrantMatched"],
    ["ended before", { session: session({ endedReason: "no" }) }, "Ended"],
    ["deleted before", { session: session({}, undefined, { deletionTimestamp: "2026-01-01T10:30:00Z" }) }, "Ended"],
    ["its time is over at that very instant", { session: session({ expiresAt: "2026-01-01T10:30:00Z" }) }, "Ended"],
    ["an instant that cannot be read", { session: session({ expiresAt: "soon" }) }, "Ended"],
    ["59.999 s after it was asked for", { now: at("10:30:49.999") }, "GrantMatched"],
    ["a minute after it was asked for", { now: at("10:30:50") }, "NotOpenedInTime"],
    ["more than 8 hours", { session: session({ expiresAt: "2026-01-01T18:29:51Z" }) }, "TooLong"],
    ["approvers lend", { limits: { ...limits, lendingMode: "approver" } }, "LendingByApprovers"],
    ["the mode is off", { limits: { ...limits, modes: ["logs", "read"] } }, "ModeDisabled"],
    ["another deployment", { deployments: [] }, "DeploymentNotServed"],
    ["another namespace", { session: session({ namespace: "bank" }) }, "NamespaceNotOpen"],
    ["denied", { policy: policy("debug/*", "deny") }, "PolicyDenied"],
    ["as many as there may be", { others: 3 }, "TooMany"],
    ["one less", { others: 2 }, "GrantMatched"],
    ["a grant that is not there", { grant: undefined }, "NoGrant"],
    ["no grant", { session: automatic("logs") }, "NoGrant"],
    [
      "no grant, logs are automatic",
      { session: automatic("logs"), policy: policy("debug/logs", "auto") },
      "PolicyAuto",
    ],
    [
      "no grant, exec cannot be automatic",
      { session: automatic("exec"), policy: policy("debug/exec", "auto") },
      "NoGrant",
    ],
    ["no grant, everything is automatic", { session: automatic("logs"), policy: policy("*", "auto") }, "NoGrant"],
    ["a grant of another deployment", { grant: grant({ deploymentId: "dpl_2" }) }, "ModeMismatch"],
    ["not approved", { grant: grant({ commands: [EXEC], risk: "destructive" }) }, "GrantClosed"],
    ["revoked", { grant: { ...debugGrant(), spec: { ...debugGrant().spec, revokedReason: "x" } } }, "GrantClosed"],
    ["completed", { grant: debugGrant([EXEC], { state: "Completed" }) }, "GrantClosed"],
    [
      "a plan that says another hash",
      { grant: { ...debugGrant(), spec: { ...debugGrant().spec, planHash: `sha256:${"0".repeat(64)}` } } },
      "GrantClosed",
    ],
    [
      "a plan that claims to read only",
      { grant: approvedGrant({ commands: [EXEC], risk: "read-only" }) },
      "GrantClosed",
    ],
    [
      "the window is over",
      { session: session({}, undefined, { creationTimestamp: "2026-01-01T10:59:59Z" }), now: at("11:00:00") },
      "GrantClosed",
    ],
    [
      "the window is not recorded yet",
      { grant: debugGrant([EXEC], { approvedAt: undefined, approvedUntil: undefined }) },
      "wait: the approval is being recorded",
    ],
    ["a line that is used", { grant: debugGrant([EXEC], claimed({ commandId: "dbg_0" })) }, "LineUsed"],
    [
      "a second line of the same words",
      { grant: debugGrant([EXEC, EXEC], claimed({ commandId: "dbg_0" })) },
      "GrantMatched",
    ],
    ["its own claim", { grant: debugGrant([EXEC], claimed({ digest: claimDigest(UID) })) }, "GrantMatched"],
    [
      "its own claim, while others have all places",
      { grant: debugGrant([EXEC], claimed({ digest: claimDigest(UID) })), others: 3 },
      "wait: 3 sessions may be open at a time",
    ],
    [
      "its own claim, a minute after it was asked for",
      { grant: debugGrant([EXEC], claimed({ digest: claimDigest(UID) })), now: at("10:30:50") },
      "LineUsed",
    ],
    [
      "its own claim, and ended before it was open",
      { grant: debugGrant([EXEC], claimed({ digest: claimDigest(UID) })), session: session({ endedReason: "no" }) },
      "LineUsed",
    ],
    [
      "the claim of an object of its name",
      { grant: debugGrant([EXEC], claimed({ digest: claimDigest(GRANT_UID) })) },
      "LineUsed",
    ],
    [
      "its own line, but over",
      { grant: debugGrant([EXEC], claimed({ digest: claimDigest(UID), state: "Running" })) },
      "LineUsed",
    ],
  ])("%s", (_, more, reason) => {
    expect(said(more)).toBe(reason);
  });

  test.each<readonly [string, Partial<DebugSessionSpec>]>([
    ["another client's key", { clientKey: "x".repeat(43) }],
    ["another mode", { mode: "logs" }],
    ["pods that the plan does not name", { selector: "app=api" }],
    ["ports that the plan does not name", { mode: "port-forward", ports: [80] }],
  ])("a plan is for nothing else: %s", (_, spec) => {
    expect(said({ session: session(spec) })).toBe("ModeMismatch");
  });

  test.each([" ", "  ", "app in front", ",", "app=api,"])(
    "what selects no pods by labels is refused: %j",
    (selector) => {
      const logs = automatic("logs");
      const blank = { ...logs, spec: { ...logs.spec, selector } };
      expect(said({ session: blank, policy: policy("debug/logs", "auto") })).toBe("ModeMismatch");
      const line = { ...EXEC, params: { ...EXEC.params, selector } };
      expect(said({ session: session({ selector }), grant: debugGrant([line]) })).toBe("ModeMismatch");
    },
  );

  test("a line that names more than the session asks for does not fit either", () => {
    const narrower = { ...EXEC, params: { ...EXEC.params, selector: "app=api" } };
    expect(said({ grant: debugGrant([narrower]) })).toBe("ModeMismatch");
    expect(said({ grant: debugGrant([narrower]), session: session({ selector: "app=api" }) })).toBe("GrantMatched");
  });

  test("whatever is asked for is opened only under a line that says exactly that", () => {
    const spec = fc.record(
      {
        mode: fc.constantFrom(...DEBUG_MODES),
        namespace: fc.constantFrom("shop", "bank"),
        clientKey: fc.constantFrom(KEY, "x".repeat(43)),
        selector: fc.constantFrom("app=api", "app=web"),
        ports: fc.constantFrom([80], [80, 81]),
      },
      { requiredKeys: ["mode", "namespace", "clientKey"] },
    );
    const openable = { mode: "exec", namespace: "shop", clientKey: KEY } as const;
    let opened = 0;
    fc.assert(
      fc.property(spec, spec, fc.boolean(), (asked, other, isSame) => {
        const planned = isSame ? asked : other;
        const params = paramsOf(session(planned));
        const line = { command: `debug/${planned.mode}`, summary: "x", params };
        const mine = session(asked);
        const verdict = sessionVerdict(facts({ session: mine, grant: debugGrant([line]) }));
        if (verdict.do !== "open") return;
        opened += 1;
        expect({ mode: mine.spec.mode, params: paramsOf(mine) }).toEqual({ mode: planned.mode, params });
        expect(mine.spec.namespace).toBe("shop");
      }),
      { numRuns: runs(1_000), examples: [[openable, openable, true]] },
    );
    expect(opened).toBeGreaterThan(0);
  });
});

describe("what ends an open one", () => {
  const open: DebugSessionStatus = { state: "Open", openedAt: "2026-01-01T10:29:55Z", until: "2026-01-01T11:00:00Z" };
  const running = (spec: Partial<DebugSessionSpec> = {}, status: Partial<DebugSessionStatus> = {}) =>
    session(spec, { ...open, ...status });
  const closed = (reason: "idle" | "audit-failed") => ({
    tunnel: { instance: "t", closed: { reason, at: "2026-01-01T10:29:59Z" } },
  });
  test.each<readonly [string, Partial<SessionFacts>, string | undefined]>([
    ["nothing", { session: running() }, undefined],
    ["not that it is older than a minute", { session: running(), now: at("10:45:00") }, undefined],
    ["not that others are open", { session: running(), others: 9 }, undefined],
    ["a person's word", { session: running({ endedReason: "enough" }) }, "revoked"],
    ["the tunnel's word", { session: running({}, closed("idle")) }, "idle"],
    ["a person's word before the tunnel's", { session: running({ endedReason: "x" }, closed("idle")) }, "revoked"],
    ["the tunnel cannot keep the record", { session: running({}, closed("audit-failed")) }, "audit-failed"],
    ["the last millisecond", { session: running(), now: at("10:59:59.999") }, undefined],
    ["its end", { session: running(), now: at("11:00:00") }, "expired"],
    ["an end that cannot be read", { session: running({}, { until: "later" }) }, "expired"],
    ["a denying policy", { session: running(), policy: policy("debug/exec", "deny") }, "revoked"],
    [
      "a closed namespace",
      {
        session: running(),
        deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "s", acceptedNamespaces: [] } }],
      },
      "revoked",
    ],
    ["a deployment that is gone", { session: running(), deployments: [] }, "revoked"],
    ["a mode that was switched off", { session: running(), limits: { ...limits, modes: ["logs"] } }, "revoked"],
    [
      "a rule of the policy that still opens it",
      { session: { ...running(), spec: automatic("logs").spec }, policy: policy("debug/logs", "auto") },
      undefined,
    ],
    ["a rule of the policy that is gone", { session: { ...running(), spec: automatic("logs").spec } }, "revoked"],
    ["a grant that is gone", { session: running(), grant: undefined }, "revoked"],
    [
      "a revoked grant",
      { session: running(), grant: { ...debugGrant(), spec: { ...debugGrant().spec, revokedReason: "x" } } },
      "revoked",
    ],
    [
      "deletion",
      { session: { ...running(), metadata: { ...running().metadata, deletionTimestamp: "2026-01-01T10:30:00Z" } } },
      "killed",
    ],
  ])("%s", (_, more, reason) => {
    expect(endOf(facts(more))).toBe(reason);
  });
});

test("its end is the earliest of what was asked, the window, and what the installation allows, whenever it is computed", () => {
  const minutes = fc.integer({ min: 1, max: 600 });
  fc.assert(
    fc.property(minutes, minutes, (asked, ttl) => {
      const from = at("10:30:00");
      const expiresAt = new Date(from.getTime() + asked * 60_000).toISOString();
      const given = facts({ session: session({ expiresAt }), limits: { ...limits, maxTtlMs: ttl * 60_000 } });
      const until = untilOf(given, from).getTime();
      expect(until).toBe(Math.min(from.getTime() + Math.min(asked, ttl, 480) * 60_000, at("11:00:00").getTime()));
      expect(untilOf({ ...given, session: automatic("logs"), grant: undefined }, from).getTime()).toBeLessThanOrEqual(
        from.getTime() + ttl * 60_000,
      );
    }),
  );
});
