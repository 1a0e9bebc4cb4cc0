import { describe, expect, test } from "vitest";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { approvedGrant, at, DEPLOYMENT_ID, NAMESPACE } from "../testing/fixtures.ts";
import { type DrainFacts, drainVerdict } from "./drain-gate.ts";
import { mergePolicies } from "./policy.ts";

const LINE = { command: "machines/drain", summary: "its disk fails", params: { machineId: "m-3" } };
const REMOVE = { ...LINE, command: "machines/remove" };

function drain(requested: object | undefined = {}, startedAt?: string): DrainFacts["drain"] {
  const asked = { deploymentId: DEPLOYMENT_ID, machineId: "m-3", revision: 1, ...requested };
  const metadata = { name: "m-3-1", namespace: NAMESPACE, uid: "d", resourceVersion: "1", generation: 1 };
  return {
    metadata: { ...metadata, creationTimestamp: "2026-01-01T10:29:50Z" },
    spec: { nodeName: "m-3", ...(requested !== undefined && { requested: asked }) },
    ...(startedAt !== undefined && { status: { state: "Draining", startedAt } }),
  } as MachineDrain;
}

/** Approved from 10:00 to 11:00. */
function grantOf(lines: readonly object[] = [LINE], spec: object = {}, metadata: object = {}): AccessGrant {
  const commands = lines as AccessGrant["spec"]["commands"];
  const risk = lines.includes(REMOVE) ? "destructive" : "mutating";
  const planned = approvedGrant({ commands, risk });
  const hash = risk === "destructive" ? { approvedPlanHash: planned.spec.planHash } : {};
  return { ...planned, metadata: { ...planned.metadata, ...metadata }, spec: { ...planned.spec, ...hash, ...spec } };
}

const policy = (pattern: string, decision: "auto" | "manual" | "deny") =>
  mergePolicies([{ spec: { rules: [{ pattern, decision }] } }]);
/** Asked for at 10:30, with an approved line. */
function said(more: Partial<DrainFacts> = {}): string | undefined {
  const verdict = drainVerdict({
    ...{ drain: drain(), grants: [grantOf()], policy: mergePolicies([]), named: new Map(), now: at("10:30:00") },
    deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: ["shop"] } }],
    ...more,
  });
  return verdict && `${verdict.approved} ${verdict.reason}`;
}
const CREATED = { deletionTimestamp: "2026-01-01T10:20:00Z" };
const EXPIRED = { ...grantOf(), status: { ...grantOf().status, state: "Expired" } } as AccessGrant;

describe("whether the customer's word covers a drain", () => {
  test.each<readonly [string, Partial<DrainFacts>, string | undefined]>([
    ["an approved line for it", {}, "true GrantMatched"],
    ["a person's own", { drain: { ...drain(), spec: { nodeName: "m-3" } }, grants: [] }, undefined],
    ["no grant", { grants: [] }, "false NoGrant"],
    ["a deployment that is not served", { deployments: [] }, "false DeploymentNotAccepted"],
    [
      "a deployment that waits for its acceptance",
      { deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop" } }] },
      "false DeploymentNotAccepted",
    ],
    ["another deployment's grant", { grants: [grantOf([LINE], { deploymentId: "dpl_2" })] }, "false NoGrant"],
    ["a line for another machine", { grants: [grantOf([{ ...LINE, params: { machineId: "m-4" } }])] }, "false NoGrant"],
    [
      "a line with more than the machine",
      { grants: [grantOf([{ ...LINE, params: { machineId: "m-3", force: true } }])] },
      "false NoGrant",
    ],
    ["a removal's line for a drain", { grants: [grantOf([REMOVE])] }, "false NoGrant"],
    ["a drain's line for a removal", { drain: drain({ remove: true }) }, "false NoGrant"],
    [
      "a removal's line for a removal",
      { drain: drain({ remove: true }), grants: [grantOf([REMOVE])] },
      "true GrantMatched",
    ],
    ["a revoked grant", { grants: [grantOf([LINE], { revokedReason: "no" })] }, "false NoGrant"],
    ["a grant that is being deleted", { grants: [grantOf([LINE], {}, CREATED)] }, "false NoGrant"],
    [
      "a plan whose hash is not its own",
      { grants: [grantOf([LINE], { planHash: `sha256:${"0".repeat(64)}` })] },
      "false NoGrant",
    ],
    ["before its window", { now: at("09:59:59.999") }, "false NoGrant"],
    ["the end of its window", { now: at("11:00:00") }, "false NoGrant"],
    ["an expired grant", { grants: [EXPIRED] }, "false NoGrant"],
    ["another grant beside an unfit one", { grants: [EXPIRED, grantOf()] }, "true GrantMatched"],
  ])("%s", (_, more, expected) => {
    expect(said(more)).toBe(expected);
  });

  test.each<readonly [string, Partial<DrainFacts>, string]>([
    ["goes on when its window is over", { grants: [EXPIRED], now: at("12:00:00") }, "true GrantMatched"],
    ["stops when its grant is revoked", { grants: [grantOf([LINE], { revokedReason: "no" })] }, "false NoGrant"],
    ["stops when its grant is deleted", { grants: [] }, "false NoGrant"],
    ["stops when a policy denies it", { policy: policy("machines/*", "deny") }, "false PolicyDenied"],
  ])("one that has begun %s", (_, more, expected) => {
    expect(said({ drain: drain({}, "2026-01-01T10:15:00Z"), ...more })).toBe(expected);
  });

  test("one that has begun before its window is not covered by it", () => {
    expect(said({ drain: drain({}, "2026-01-01T09:15:00Z") })).toBe("false NoGrant");
    expect(said({ drain: drain({}, "soon") })).toBe("false NoGrant");
  });

  test.each([
    ["machines/drain", "auto", "true PolicyAuto"],
    ["machines/drain", "deny", "false PolicyDenied"],
    ["machines/*", "deny", "false PolicyDenied"],
    ["*", "deny", "false PolicyDenied"],
    ["machines/remove", "auto", "false NoGrant"],
    ["machines/*", "auto", "false NoGrant"],
    ["*", "auto", "false NoGrant"],
  ] as const)("a policy that says %s: %s, without a grant: %s", (pattern, decision, expected) => {
    expect(said({ grants: [], policy: policy(pattern, decision) })).toBe(expected);
  });

  test("a tier's default lets no machine be emptied by itself, and may forbid it", () => {
    const defaults = (decision: "auto" | "deny") => mergePolicies([{ spec: { defaults: { mutating: decision } } }]);
    expect(said({ grants: [], policy: defaults("auto") })).toBe("false NoGrant");
    expect(said({ policy: defaults("deny") })).toBe("false PolicyDenied");
  });
});
