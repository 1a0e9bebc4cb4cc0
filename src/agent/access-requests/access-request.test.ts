import { describe, expect, test } from "vitest";
import { receiptDigest } from "../../contract/access-requests/receipts.ts";
import type { AccessGrant, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import { receiptOf } from "../../crds/receipt.ts";
import { DEPLOYMENT, NAMESPACE, NOW, newGrant, pendingRequest, REQUEST, stored } from "../testing/sample.ts";
import { decideRequest, type RequestFacts } from "./access-request.ts";
import { readListedRequest } from "./pending-request.ts";

const listed = readListedRequest(pendingRequest(), DEPLOYMENT);
const nothing: RequestFacts = {
  listed: undefined,
  accepted: true,
  grant: undefined,
  deleted: undefined,
  answered: new Set(),
};
const decide = (world: Partial<RequestFacts>, now = NOW) => decideRequest({ ...nothing, ...world }, NAMESPACE, now);
const grant = (status?: AccessGrantStatus, spec: Partial<AccessGrant["spec"]> = {}): AccessGrant =>
  stored(newGrant(), status, spec);
const window = { approvedAt: "2026-01-01T11:55:00Z", approvedUntil: "2026-01-01T12:55:00Z" };
const approved = grant(
  {
    state: "Approved",
    ...window,
    conditions: [
      {
        type: "IdentityVerified",
        status: "True",
        reason: "StampedByAdmission",
        message: "",
        lastTransitionTime: "2026-01-01T11:55:00Z",
      },
    ],
  },
  { approvedForMinutes: 60, decidedBy: "alice" },
);

describe("a request that the platform lists", () => {
  test("becomes a grant with its own name, plan and hash", () => {
    expect(decide({ listed })).toEqual([{ do: "createGrant", grant: newGrant() }]);
    expect(newGrant()).toMatchObject({
      metadata: { name: REQUEST.replace("_", "-"), namespace: NAMESPACE },
      spec: {
        requestId: REQUEST,
        deploymentId: DEPLOYMENT,
        planHash: pendingRequest().planHash,
        planHashVersion: "v1",
      },
    });
  });

  test("for a deployment that the customer does not accept becomes nothing, and nothing is answered", () => {
    const unfit = readListedRequest({ ...pendingRequest(), title: "" }, DEPLOYMENT);
    expect([decide({ listed, accepted: false }), decide({ listed: unfit, accepted: false })]).toEqual([[], []]);
  });

  test("is told to be there once its grant exists, and only until the platform has answered", () => {
    const [told] = decide({ listed, grant: grant() });
    expect(told).toEqual({
      do: "reportMaterialized",
      key: "materialized",
      deploymentId: DEPLOYMENT,
      requestId: REQUEST,
    });
    expect(decide({ listed, grant: grant(), answered: new Set(["materialized"]) })).toEqual([]);
  });

  test.each([
    ["a millisecond before its time is over", new Date("2026-01-02T11:59:59.999Z"), 1],
    ["when its time is over", new Date("2026-01-02T12:00:00.000Z"), 0],
  ])("%s", (_, now, actions) => {
    expect(decide({ listed }, now)).toHaveLength(actions);
  });

  test("with another plan than the grant's changes nothing and is said aloud", () => {
    const other = readListedRequest(
      pendingRequest({ commands: [{ command: "kubernetes/delete-pod", summary: "all" }] }),
      DEPLOYMENT,
    );
    expect(decide({ listed: other, grant: grant() })).toMatchObject([{ do: "tellPlanMismatch" }]);
    expect(decide({ listed: other, grant: grant(), answered: new Set(["mismatch"]) })).toEqual([]);
  });

  test("whose grant the customer deleted does not become a grant again", () => {
    const actions = decide({ listed, deleted: grant() });
    expect(actions).toMatchObject([
      { do: "reportDecision", report: { outcome: "denied", reason: "the grant was deleted in the cluster" } },
    ]);
    expect(decide({ listed, deleted: grant(), answered: new Set(["denied"]) })).toEqual([]);
  });
});

describe("a request that must not be shown is denied with the reason", () => {
  test.each([
    ["a title with a control character", { title: "a\u0000b" }, "title"],
    ["a title with an override", { title: "\u202e" }, "title"],
    ["a title of two lines", { title: "a\nb" }, "title"],
    ["an empty title", { title: "" }, "title"],
    ["a reason that is too long", { reason: "x".repeat(2_049) }, "reason"],
    ["a name that cannot be shown", { requestedBy: "A\u200bda" }, "requestedBy"],
    ["no commands", { commands: [] }, "commands"],
    ["an endless window", { maxMinutes: 43_201 }, "maxMinutes"],
    [
      "unsafe integers",
      { commands: [{ command: "kubernetes/scale", summary: "x", params: { replicas: 2 ** 53 } }] },
      "commands.0.params.replicas",
    ],
    ["a hash of another plan", { planHash: `sha256:${"0".repeat(64)}` }, "planHash"],
  ])("%s", (_, changes, where) => {
    const actions = decide({ listed: readListedRequest(pendingRequest(changes), DEPLOYMENT) });
    expect(actions).toMatchObject([
      {
        do: "reportDecision",
        report: { requestId: REQUEST, outcome: "denied", decidedBy: "sallyport-agent", identity: "unknown" },
      },
    ]);
    expect(actions[0]).toHaveProperty(
      "report.reason",
      expect.stringMatching(`^this cluster refuses the request: ${where}`),
    );
  });

  test("a plan hash that was made for another deployment", () => {
    const other = `dep_${"e".repeat(28)}`;
    expect(decide({ listed: readListedRequest(pendingRequest(), other) })).toMatchObject([
      { report: { outcome: "denied" } },
    ]);
  });

  test("shapes of any kind never throw", () => {
    for (const item of [
      undefined,
      null,
      1,
      "x",
      [],
      {},
      { id: "x" },
      { id: REQUEST },
      { id: REQUEST, commands: [null] },
    ]) {
      expect(() => readListedRequest(item, DEPLOYMENT)).not.toThrow();
    }
    expect(readListedRequest({ id: "not an id" }, DEPLOYMENT)).toBeUndefined();
  });
});

describe("what is reported of a grant", () => {
  test("an approval carries the window, the name, the hash and how sure the name is", () => {
    expect(decide({ grant: approved })).toEqual([
      {
        do: "reportApproval",
        key: `approval/${window.approvedUntil}`,
        deploymentId: DEPLOYMENT,
        report: {
          requestId: REQUEST,
          ...window,
          decidedBy: "alice",
          planHash: pendingRequest().planHash,
          identity: "verified",
        },
      },
    ]);
  });

  test("nothing before the operator has opened the window, whatever spec says", () => {
    expect(decide({ grant: grant({ state: "Pending" }, { approvedForMinutes: 60 }) })).toEqual([]);
    expect(decide({ grant: grant() })).toEqual([]);
  });

  test("no approval of a window that spec never approved: a forged status alone opens nothing", () => {
    expect(decide({ grant: grant({ state: "Approved", ...window }) })).toEqual([]);
  });

  const after = new Date("2026-01-01T12:55:00Z");
  test.each<[string, AccessGrant, Date, readonly string[]]>([
    ["denied", grant({ state: "Denied" }, { deniedReason: "no", decidedBy: "bob" }), NOW, ["denied"]],
    ["lapsed", grant({ state: "Lapsed" }), NOW, ["expired"]],
    ["superseded", grant({ state: "Superseded" }), NOW, ["expired"]],
    [
      "revoked in its window: the approval first",
      grant({ state: "Revoked", ...window }, { approvedForMinutes: 60, revokedReason: "over" }),
      NOW,
      [`approval/${window.approvedUntil}`, "revoked"],
    ],
    [
      "revoked, seen after its window",
      grant({ state: "Revoked", ...window }, { approvedForMinutes: 60, revokedReason: "over" }),
      after,
      ["revoked"],
    ],
    ["expired", grant({ state: "Expired", ...window }, { approvedForMinutes: 60 }), after, ["expired"]],
    [
      "completed, still in its window",
      grant({ state: "Completed", ...window }, { approvedForMinutes: 60 }),
      NOW,
      [`approval/${window.approvedUntil}`],
    ],
    ["completed", grant({ state: "Completed", ...window }, { approvedForMinutes: 60 }), after, []],
  ])("%s", (_, each, now, keys) => {
    expect(decide({ grant: each }, now).map((action) => ("key" in action ? action.key : action.do))).toEqual(keys);
  });

  test.each([
    ["on which nothing was decided", "DecisionTooLate", "OperationMissing", "no decision in time"],
    ["whose risk is too low", "RiskUnderstated", "RuleMissing", "counts as destructive here"],
    [
      "whose operation is not enabled",
      "RiskUnderstated",
      "OperationMissing",
      "counts as destructive here: no operation a/b",
    ],
    ["that is another one than was shown", "PlanHashMismatch", "RightsComplete", "counts as destructive here"],
  ])("a grant that lapsed with a plan %s says so", (_, approvedReason, permittedReason, words) => {
    const lastTransitionTime = NOW.toISOString();
    const no = (type: string, reason: string, message: string) => {
      return { type, status: "False" as const, reason, message, lastTransitionTime };
    };
    const conditions = [
      no("Approved", approvedReason, "counts as destructive here"),
      no("Permitted", permittedReason, "no operation a/b"),
    ];
    expect(decide({ grant: grant({ state: "Lapsed", conditions }) })).toMatchObject([{ report: { reason: words } }]);
  });

  const revoked = (status: object): AccessGrant =>
    grant({ state: "Revoked", ...status }, { approvedForMinutes: 60, revokedReason: "over", revokedBy: "bob" });
  const ends = (world: Partial<RequestFacts>, now = NOW): readonly unknown[] =>
    decide(world, now).flatMap((action) => (action.do === "reportDecision" ? [action.report.outcome] : []));

  test("a grant revoked before its window opened is denied: the platform knows no approval that could be revoked", () => {
    expect(decide({ grant: revoked({}) })).toMatchObject([
      { report: { outcome: "denied", reason: "over", decidedBy: "bob" } },
    ]);
    expect(ends({ deleted: grant({}, { approvedForMinutes: 60 }) })).toEqual(["denied"]);
  });

  test("a grant revoked while the platform was away for its whole window is denied, if the platform still waits for an answer", () => {
    expect(ends({ grant: revoked(window), listed }, after)).toEqual(["denied"]);
    expect(ends({ grant: revoked(window) }, after)).toEqual(["revoked"]);
    // In its window the approval goes first, and then there is something to revoke.
    expect(ends({ grant: revoked(window), listed })).toEqual(["revoked"]);
  });

  test("an approved grant that was deleted is revoked", () => {
    const keys = decide({ deleted: approved }).map((action) => ("key" in action ? action.key : action.do));
    expect(keys).toEqual([`approval/${window.approvedUntil}`, "revoked"]);
  });

  test("a name that admission did not check is a claim, and no name is none", () => {
    const claimed = grant({ state: "Denied" }, { deniedReason: "no", decidedBy: "bob" });
    expect(decide({ grant: claimed })).toMatchObject([{ report: { identity: "claimed", decidedBy: "bob" } }]);
    expect(decide({ grant: grant({ state: "Denied" }, { deniedReason: "no" }) })).toMatchObject([
      { report: { identity: "unknown" } },
    ]);
  });

  test("a receipt goes after the end, whole, with the digest that stands in its status", () => {
    const status = { state: "Denied", endedAt: "2026-01-01T11:58:00Z" } as const;
    const over = grant(status, { deniedReason: "no", decidedBy: "bob" });
    const receipt = receiptOf(over, { sequence: 1 });
    const digest = receiptDigest(receipt);
    expect(decide({ grant: over })).toMatchObject([{ report: { outcome: "denied", at: status.endedAt } }]);
    const linked = grant({ ...status, receipt: { sequence: 1, digest } }, over.spec);
    expect(decide({ grant: linked }).slice(1)).toEqual([
      {
        do: "reportReceipt",
        key: "receipt",
        deploymentId: DEPLOYMENT,
        report: { requestId: REQUEST, digest, receipt },
      },
    ]);
    expect(decide({ grant: linked, answered: new Set(["denied", "receipt"]) })).toEqual([]);
  });
});
