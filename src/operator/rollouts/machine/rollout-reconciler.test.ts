import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../base/log.ts";
import type { OperationPolicySpec } from "../../../crds/kinds/operation-policy.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { line } from "../../testing/release-cluster.ts";
import { RELEASES_AUTO, RolloutWorld } from "../../testing/rollout-world.ts";
import { reconcileRollout } from "./rollout-reconciler.ts";
import { RunningRollouts } from "./running-rollouts.ts";

const AUTO = RELEASES_AUTO;
const MANUAL: OperationPolicySpec = {};
const NO_WAY_BACK: OperationPolicySpec = {
  rules: [...(AUTO.rules ?? []), { pattern: "release/rollback", decision: "deny" }],
};

function world(spec: OperationPolicySpec = AUTO): RolloutWorld {
  const made = new RolloutWorld();
  made.policies = [{ spec }];
  return made;
}

const V1 = [line("db", { frozen: true }), line("api", { wave: 1 }), line("web", { wave: 2 }), line("old", { wave: 2 })];
const V2 = [
  line("db", { frozen: true, version: "2" }),
  line("api", { wave: 1, version: "2" }),
  line("web", { wave: 2, version: "2" }),
];

test("an install that the policy allows: plan, wave by wave with its gate, prune, end; each state is stored before it is acted on", async () => {
  const it = world();
  it.addContent("rel-1", V1);
  it.add("a", "install", "rel-1");
  await it.untilState("a", "Succeeded");
  expect(it.log.filter((word, index) => word !== it.log[index - 1])).toEqual([
    ...["Planning", "plan", "Queued", "Applying 1/3", "apply 0", "Gating 1/3", "health 0", "Gating 1/3", "health 0"],
    ...["Applying 2/3", "apply 1", "Gating 2/3", "health 1", "Gating 2/3", "health 1"],
    ...["Applying 3/3", "apply 2", "Gating 3/3", "health 2", "Gating 3/3", "health 2"],
    ...["Pruning", "prune", "close", "Succeeded"],
  ]);
  expect(it.installed).toEqual(["api=1", "db=1", "old=1", "web=1"]);
  expect(it.rights.size).toBe(0);
  expect(it.broken).toEqual([]);
  const conditions = ["Planned", "Approved", "Applied", "Healthy", "Pruned", "Overridden", "Permitted"];
  expect(conditions.map((type) => `${type} ${it.reason("a", type)}`)).toEqual([
    ...["Planned True/PlanMade", "Approved True/PolicyAuto", "Applied True/AllApplied", "Healthy True/AllHealthy"],
    ...["Pruned True/NothingLeft", "Overridden False/NoOverrides", "Permitted True/RightsComplete"],
  ]);
  const { status, spec } = it.rollout("a");
  expect(status).toMatchObject({ appliedDigest: spec.contentDigest, waveOf: "3/3" });
  expect(it.events.map((event) => event.split(":", 1)[0])).toEqual([
    "Planned",
    "WaveApplied",
    "WaveApplied",
    "WaveApplied",
    "Pruned",
  ]);
});

test("an update prunes what is gone, makes what is new of the setup, and leaves what is there of it", async () => {
  const it = world();
  it.addInstalled("rel-1", V1);
  it.addContent("rel-2", [...V2, line("bucket", { frozen: true })]);
  it.add("b", "update", "rel-2");
  await it.untilState("b", "Succeeded");
  expect(it.installed).toEqual(["api=2", "bucket=1", "db=1", "web=2"]);
  expect(it.rollout("b").status).toMatchObject({ formerContent: "rel-1" });
});

test("what a setup that failed made is gone after the next one that does not have it, also what is frozen", async () => {
  const it = world();
  it.addContent("rel-1", [...V1, line("bad", { wave: 1, is: "unhealthy" })]);
  it.add("a", "install", "rel-1");
  await it.untilState("a", "Failed");
  expect(it.installed).toContain("db=1");
  it.clock.advance(1_000);
  it.addContent("rel-2", [line("api", { version: "2" })]);
  it.add("b", "install", "rel-2");
  await it.untilState("b", "Succeeded");
  expect(it.installed).toEqual(["api=2"]);
  expect(it.reason("b", "Pruned")).toBe("True/NothingLeft");
});

test("one that the platform calls an install is held to what is there: the setup is not applied anew", async () => {
  const it = world();
  it.addInstalled("rel-1", V1);
  it.addContent("rel-2", V2);
  it.add("b", "install", "rel-2");
  await it.untilState("b", "Succeeded");
  expect(it.installed).toEqual(["api=2", "db=1", "web=2"]);
});

test("one that the platform calls an update brings the setup where nothing is installed", async () => {
  const it = world();
  it.addContent("rel-1", V1);
  it.add("a", "update", "rel-1");
  await it.untilState("a", "Succeeded");
  expect(it.installed).toEqual(["api=1", "db=1", "old=1", "web=1"]);
  expect(it.rollout("a").status).toMatchObject({ namespaces: ["shop"] });
});

test("while policies are missing nothing is deleted and nothing taken back; an abort then brings the former content", async () => {
  const it = world();
  it.addInstalled("rel-1", V1);
  it.addContent("rel-2", V2);
  it.add("b", "update", "rel-2");
  const occasion = { name: "b", state: "Pruning" } as const;
  it.occasions.push({ ...occasion, say: () => Object.assign(it, { obstacle: "a policy is missing" }) });
  await it.until(() => it.reason("b", "Permitted") === "False/RuleMissing");
  it.say("b", { abortReason: "no" });
  await it.until(() => it.state("b") === "RollingBack");
  await it.look("b");
  expect(it.installed).toEqual(["api=2", "db=1", "old=1", "web=2"]);
  it.obstacle = undefined;
  await it.untilState("b", "RolledBack");
  expect(it.installed).toEqual(["api=1", "db=1", "old=1", "web=1"]);
});

describe("without a policy that says auto", () => {
  test("it waits for the digest of the plan, plans again when that is approved, and goes on", async () => {
    const it = world(MANUAL);
    it.addInstalled("rel-1", V1);
    it.addContent("rel-2", V2);
    it.add("b", "update", "rel-2");
    await it.untilState("b", "AwaitingApproval");
    const { plannedDigest } = it.rollout("b").status ?? {};
    expect(it.rollout("b").status?.approvalLine).toBe(
      `kubectl patch rout b -n sallyport-grants --type=merge -p '{"spec":{"approvedDigest":"${plannedDigest}"}}'`,
    );
    it.clock.advance(3_600_000);
    it.log.length = 0;
    it.approve("b");
    await it.untilState("b", "Gating");
    expect(it.log.slice(0, 5)).toEqual(["Queued", "Planning", "plan", "Queued", "Applying 1/3"]);
    expect(it.rollout("b").status).not.toHaveProperty("approvalLine");
    await it.untilState("b", "Succeeded");
    expect(it.reason("b", "Approved")).toBe("True/ApprovedByCustomer");
  });

  test.each<[Partial<Rollout["spec"]>, string]>([
    [{}, "the plan was approved by its digest, without a name"],
    [{ approvedBy: "ann@example.com" }, "the plan was approved by its digest"],
  ])("an approval with %j is told as such", async (by, message) => {
    const it = world(MANUAL);
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    await it.untilState("a", "AwaitingApproval");
    const { plannedDigest = "" } = it.rollout("a").status ?? {};
    it.say("a", { approvedDigest: plannedDigest, ...by });
    await it.untilState("a", "Succeeded");
    expect(it.message("a", "Approved")).toBe(message);
  });

  test("an approval holds only for the plan that was shown", async () => {
    const it = world(MANUAL);
    it.addInstalled("rel-1", V1);
    it.addContent("rel-2", V2);
    it.add("b", "update", "rel-2");
    await it.untilState("b", "AwaitingApproval");
    it.approve("b");
    // By hand, between the approval and the second plan.
    it.cluster.objects.delete("Deployment.apps/shop/api");
    await it.untilState("b", "Failed");
    expect(it.reason("b", "Approved")).toBe("False/OtherPlanApproved");
    expect(it.log.filter((word) => word.startsWith("apply"))).toEqual([]);
  });

  test("fields that are to be taken over are planned before they are approved", async () => {
    const it = world(MANUAL);
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    await it.untilState("a", "AwaitingApproval");
    it.say("a", { takeOver: [{ kind: "Deployment", name: "api" }] });
    it.log.length = 0;
    await it.look("a");
    expect(it.log).toEqual(["Planning", "plan", "AwaitingApproval", "AwaitingApproval"]);
    expect(it.rollout("a").status?.plannedTakeOver).toBe(1);
  });

  test("a pause makes no other plan: the line that approves stays, and counts for what is held then", async () => {
    const it = world(MANUAL);
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    await it.untilState("a", "AwaitingApproval");
    const { approvalLine, plannedAt } = it.rollout("a").status ?? {};
    for (const pausedReason of ["later", undefined, "later still"]) {
      it.clock.advance(60_000);
      it.say("a", { pausedReason } as Rollout["spec"]);
      it.log.length = 0;
      await it.look("a");
      expect(it.log).toEqual(["AwaitingApproval"]);
      expect(it.rollout("a").status).toMatchObject({
        approvalLine,
        plannedAt,
        observedGeneration: it.rollout("a").metadata.generation,
      });
    }
    it.approve("a");
    await it.until(() => it.state("a") === "Queued");
    await it.look("a");
    expect(it.reason("a", "Applied")).toBe("False/Paused");
    expect([it.state("a"), it.log.filter((word) => word.startsWith("apply"))]).toEqual(["Queued", []]);
    it.say("a", { pausedReason: undefined } as never);
    await it.untilState("a", "Succeeded");
  });
});

test.each([
  ["a policy that says auto", undefined],
  ["a person", MANUAL],
])(
  "an object of the customer waits for their word, also under %s; nothing can be approved before it",
  async (_, policy) => {
    const it = policy === undefined ? world() : world(policy);
    it.cluster.objects.set("Deployment.apps/shop/api", { line: line("api", { version: "theirs" }), isOurs: false });
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    await it.until(() => it.reason("a", "Planned") === "False/NotOurs");
    await it.look("a");
    expect(it.state("a")).toBe("AwaitingApproval");
    expect(it.rollout("a").status).toMatchObject({ plan: { refused: [{ message: "NotOurs" }] } });
    for (const field of ["plannedDigest", "approvalLine"]) expect(it.rollout("a").status).not.toHaveProperty(field);
    expect(it.log.filter((word) => word.startsWith("apply"))).toEqual([]);
    it.say("a", { takeOver: [{ kind: "Deployment", name: "api" }] });
    if (policy !== undefined) {
      await it.until(() => it.reason("a", "Planned") === "True/PlanMade");
      it.approve("a");
    }
    await it.untilState("a", "Succeeded");
    expect(it.installed).toContain("api=1");
  },
);

describe("while objects of the customer are in the way", () => {
  const REF = "Deployment.apps/shop/api";

  async function waiting(policy: OperationPolicySpec) {
    const it = world(policy);
    it.cluster.objects.set(REF, { line: line("api", { version: "theirs" }), isOurs: false });
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    await it.look("a");
    return it;
  }
  async function tenMinutes(it: RolloutWorld): Promise<void> {
    const endsAtMs = it.clock.monotonicMs() + 600_000;
    await it.until(() => it.clock.monotonicMs() > endsAtMs);
  }
  const plans = (it: RolloutWorld): number => it.log.filter((word) => word === "plan").length;

  test("the plan is made again each minute, without an event, and the conditions say what is waited for", async () => {
    const it = await waiting(MANUAL);
    const note = `1 object not of this deployment, to be named in spec.takeOver, deleted or denied: ${REF}: NotOurs`;
    expect(it.events).toEqual([`ApprovalNeeded: ${note}`]);
    await tenMinutes(it);
    expect(it.state("a")).toBe("AwaitingApproval");
    expect(plans(it)).toBeGreaterThan(8);
    expect(plans(it)).toBeLessThan(13);
    expect(it.events).toHaveLength(1);
    expect([it.reason("a", "Planned"), it.reason("a", "Approved")]).toEqual([
      "False/NotOurs",
      "Unknown/AwaitingDecision",
    ]);
    expect(it.message("a", "Approved")).toBe("no plan can be approved while objects of the customer are in the way");
  });

  test.each<[string, (it: RolloutWorld) => void]>([
    [
      "the labels that come after the other word",
      (it) => it.cluster.objects.set(REF, { line: line("api"), isOurs: true }),
    ],
    ["a deletion by hand", (it) => it.cluster.objects.delete(REF)],
  ])("%s lets it go on: one event says that there is a plan to be approved", async (_, happens) => {
    const it = await waiting(MANUAL);
    await tenMinutes(it);
    happens(it);
    await tenMinutes(it);
    const approval = "ApprovalNeeded: release/install waits for a person: status.plan says what would change";
    expect(it.events.slice(1)).toEqual([
      expect.stringContaining("Planned: creates"),
      expect.stringContaining(approval),
    ]);
    const before = plans(it);
    await tenMinutes(it);
    expect(plans(it)).toBe(before);
    it.approve("a");
    await it.untilState("a", "Succeeded");
  });

  test("an API server that is busy, and a right or a policy that is missing, let nothing run that was not planned", async () => {
    const it = await waiting(AUTO);
    const { plan } = it.ports.hands;
    for (const [status, reason] of [
      [503, "ServiceUnavailable"],
      [403, "Forbidden"],
    ] as const) {
      it.hands = { plan: () => Promise.reject(new ApiError("no", { status, reason })) };
      await tenMinutes(it);
      expect(it.state("a")).toBe("AwaitingApproval");
    }
    it.hands = { plan };
    it.obstacle = "a policy is missing";
    await tenMinutes(it);
    expect([it.state("a"), it.reason("a", "Permitted")]).toEqual(["AwaitingApproval", "False/RuleMissing"]);
    it.obstacle = undefined;
    await tenMinutes(it);
    expect([it.state("a"), it.reason("a", "Permitted")]).toEqual(["AwaitingApproval", "True/RightsComplete"]);
    expect([it.reason("a", "Planned"), it.installed]).toEqual(["False/NotOurs", []]);
    it.cluster.objects.delete(REF);
    await it.untilState("a", "Succeeded");
  });
});

test.each<[string, (it: RolloutWorld) => void, string, string, string]>([
  ["a denial", (it) => it.say("b", { deniedReason: "no" }), "Denied", "Approved", "False/DeniedByCustomer"],
  ["an abort", (it) => it.say("b", { abortReason: "no" }), "Aborted", "Approved", "False/AbortedByCustomer"],
  ["a newer rollout", (it) => void it.add("c", "update", "rel-2"), "Superseded", "Approved", "False/Superseded"],
  [
    "a policy that denies",
    (it) => void it.policies.push({ spec: { rules: [{ pattern: "release/*", decision: "deny" }] } }),
    "Denied",
    "Approved",
    "False/PolicyDenied",
  ],
  ["no deployment", (it) => it.accept(undefined), "Failed", "Planned", "False/DeploymentNotServed"],
  ["the deadline", (it) => it.clock.advance(25 * 3_600_000), "Failed", "Approved", "False/DeadlinePassed"],
])("%s ends one that waits for its approval, and nothing is changed", async (_, happens, state, type, reason) => {
  const it = world(MANUAL);
  it.addInstalled("rel-1", V1);
  it.addContent("rel-2", V2);
  it.add("b", "update", "rel-2");
  await it.untilState("b", "AwaitingApproval");
  it.clock.advance(60_000);
  happens(it);
  await it.look("b");
  expect([it.state("b"), it.reason("b", type)]).toEqual([state, reason]);
  expect(it.installed).toEqual(["api=1", "db=1", "old=1", "web=1"]);
  expect(it.rollout("b").status?.finishedAt).toBeDefined();
});

describe("a plan is refused", () => {
  test("when a rule forbids an object, which is named without secrets", async () => {
    const it = world();
    it.addContent("rel-1", [line("api", { namespace: "billing" }), line("web")]);
    it.add("a", "install", "rel-1");
    await it.look("a");
    // Sweeps go where a rollout had rights, and nowhere because a content names it.
    expect(it.rollout("a").status).toMatchObject({ namespaces: ["shop"] });
    expect([it.state("a"), it.reason("a", "Planned")]).toEqual(["Failed", "False/Refused"]);
    const said = JSON.stringify(it.rollout("a").status);
    expect(said).toContain("Deployment.apps/billing/api");
    expect(said).not.toContain("hunter2");
  });

  test("when the content is gone or was exchanged", async () => {
    const it = world();
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    it.contents.delete("rel-1");
    await it.look("a");
    expect(it.reason("a", "Planned")).toBe("False/ContentMissing");
    it.addContent("rel-1", V1);
    it.clock.advance(1_000);
    it.add("b", "install", "rel-1");
    it.addContent("rel-1", V2);
    await it.look("b");
    expect(it.reason("b", "Planned")).toBe("False/ContentChanged");
    expect(it.log).not.toContain("plan");
  });

  test("when what is to be deleted is not known any more", async () => {
    const it = world();
    it.addInstalled("rel-1", V1);
    it.contents.delete("rel-1");
    it.add("d", "delete");
    await it.look("d");
    expect(it.reason("d", "Planned")).toBe("False/ContentMissing");
  });
});

describe("what is queued waits", () => {
  test.each<[string, (it: RolloutWorld) => void, (it: RolloutWorld) => void, string]>([
    [
      "while it is paused",
      (it) => it.say("a", { pausedReason: "later" }),
      (it) => it.say("a", { pausedReason: undefined } as never),
      "Applied False/Paused",
    ],
    [
      "until a window opens",
      (it) => it.open({ isOpen: false, opensAt: new Date("2026-01-01T12:00:00Z") }),
      (it) => it.open({ isOpen: true }),
      "Applied False/WindowClosed",
    ],
  ])("%s", async (_, holds, lets, said) => {
    const it = world();
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    holds(it);
    await it.until(() => it.clock.monotonicMs() > 1_200_000);
    const [type = "", reason] = said.split(" ");
    expect([it.state("a"), it.reason("a", type)]).toEqual(["Queued", reason]);
    expect(it.log.filter((word) => word.startsWith("apply"))).toEqual([]);
    lets(it);
    await it.untilState("a", "Succeeded");
    expect(it.log.filter((word) => word === "plan").length).toBeGreaterThan(1);
  });

  test("for a missing right, which is named, and for the customer's acceptance", async () => {
    const it = world();
    it.addContent("rel-1", V1);
    it.add("a", "install", "rel-1");
    it.accepted = [];
    it.obstacle = "the operator may not create serviceaccounts";
    await it.look("a");
    expect(it.reason("a", "Planned")).toBe("Unknown/AwaitingAcceptance");
    it.accepted = ["shop"];
    await it.look("a");
    expect([it.reason("a", "Permitted"), it.message("a", "Permitted")]).toEqual(["False/RuleMissing", it.obstacle]);
    it.obstacle = undefined;
    await it.untilState("a", "Succeeded");
    expect(it.reason("a", "Permitted")).toBe("True/RightsComplete");
  });

  test("for another rollout of the deployment, and then goes back to what that one has brought", async () => {
    const it = world();
    it.cluster.slowness = 50;
    it.addContent("rel-1", V1);
    it.addContent("rel-2", V2);
    it.add("a", "install", "rel-1");
    await it.untilState("a", "Gating");
    it.clock.advance(1_000);
    it.add("b", "update", "rel-2");
    await it.look("b");
    expect(it.reason("b", "Planned")).toBe("Unknown/AnotherRuns");
    await it.untilState("b", "Succeeded");
    expect(it.rollout("b").status).toMatchObject({ formerContent: "rel-1" });
    expect([it.state("a"), it.broken]).toEqual(["Succeeded", []]);
  });
});

test("two rollouts that are looked at side by side do not run side by side, also when the cache lags", async () => {
  const it = world();
  it.addContent("rel-1", V1);
  it.addContent("rel-2", V2);
  it.window = { isOpen: false };
  it.add("a", "install", "rel-1");
  await it.untilState("a", "Queued");
  it.clock.advance(1_000);
  const before = it.rollout("a");
  it.add("b", "install", "rel-2");
  it.window = { isOpen: true };
  // The cache shows neither the newer one to the older, nor the older one's claim to the newer.
  const stale = { ...it.ports, surroundings: () => ({ ...it.ports.surroundings(before), rollouts: [before] }) };
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
  await Promise.all(["a", "b"].map((name) => reconcileRollout(name, stale, context)));
  await it.untilState("b", "Succeeded");
  expect([it.state("a"), it.broken]).toEqual(["Superseded", []]);
});

describe("what fails is taken back once", () => {
  const BAD = [
    line("api", { wave: 1, version: "2" }),
    line("new", { wave: 1 }),
    line("web", { wave: 2, is: "unhealthy" }),
  ];

  test("to the former content, and what only the new one had is deleted", async () => {
    const it = world();
    it.addInstalled("rel-1", V1);
    it.addContent("rel-2", BAD);
    it.add("b", "update", "rel-2");
    await it.untilState("b", "RolledBack");
    expect(it.installed).toEqual(["api=1", "db=1", "old=1", "web=1"]);
    expect(it.rollout("b").status).toMatchObject({ rolledBackTo: "rel-1" });
    expect([it.reason("b", "Applied"), it.reason("b", "Healthy")]).toEqual(["False/GateFailed", "True/FormerHealthy"]);
    expect(it.message("b", "Applied")).toBe("wave 2 of 2: ImagePullBackOff");
    expect(it.rights.size).toBe(0);
    const names = it.events.map((event) => event.split(":", 1)[0]);
    expect(names).toEqual(["Planned", "WaveApplied", "WaveApplied", "GateFailed", "RolledBack"]);
    // The next one starts from what is there.
    it.clock.advance(1_000);
    it.addContent("rel-3", V2);
    it.add("c", "update", "rel-3");
    await it.untilState("c", "Succeeded");
    expect(it.rollout("c").status).toMatchObject({ formerContent: "rel-1" });
    expect(it.installed).toEqual(["api=2", "db=1", "web=2"]);
  });

  test("and fails when there is nothing to go back to; the next one deletes what it left", async () => {
    const it = world();
    it.addContent("rel-2", BAD);
    it.add("b", "install", "rel-2");
    await it.untilState("b", "Failed");
    expect([it.reason("b", "Applied"), it.reason("b", "Healthy")]).toEqual(["False/GateFailed", "False/GateFailed"]);
    expect(it.installed).toEqual(["api=2", "new=1", "web=1"]);
    it.clock.advance(1_000);
    it.addContent("rel-3", V1);
    it.add("c", "install", "rel-3");
    await it.untilState("c", "Succeeded");
    expect(it.installed).toEqual(["api=1", "db=1", "old=1", "web=1"]);
  });

  test("and fails when the former content is gone, is not healthy either, or may not be gone back to", async () => {
    for (const [how, said] of [
      ["gone", "False/FormerMissing"],
      ["sick", "False/FormerUnhealthy"],
      ["denied", "False/GateFailed"],
    ]) {
      const it = world(how === "denied" ? NO_WAY_BACK : AUTO);
      it.addInstalled("rel-1", how === "sick" ? [line("api", { is: "unhealthy" })] : V1);
      it.addContent("rel-2", BAD);
      it.add("b", "update", "rel-2");
      if (how === "gone") {
        it.occasions.push({ name: "b", state: "Applying", say: () => void it.contents.delete("rel-1") });
      }
      await it.untilState("b", "Failed");
      expect([how, it.reason("b", "Healthy")]).toEqual([how, said]);
      expect(it.rights.size).toBe(0);
    }
  });

  test("an object that a webhook refuses for good fails at once, one that it refuses for a while is tried again", async () => {
    const it = world();
    it.addInstalled("rel-1", V1);
    it.addContent("rel-2", [line("api", { version: "2", is: "busy" })]);
    it.add("b", "update", "rel-2");
    await it.untilState("b", "Succeeded");
    it.clock.advance(1_000);
    it.addContent("rel-3", [line("api", { version: "3", is: "refused" })]);
    it.add("c", "update", "rel-3");
    await it.untilState("c", "RolledBack");
    expect(it.message("c", "Applied")).toBe("wave 1 of 1: Deployment.apps/shop/api: webhook says refused");
    expect(it.installed).toEqual(["api=2", "db=1"]);
  });
});

test.each<[string, (it: RolloutWorld) => void, string, string]>([
  ["an abort", (it) => it.say("b", { abortReason: "peak hours" }), "RolledBack", "False/AbortedByCustomer"],
  ["a denial that comes late", (it) => it.say("b", { deniedReason: "no" }), "RolledBack", "False/DeniedByCustomer"],
  ["an exchanged content", (it) => void it.addContent("rel-2", [line("evil")]), "RolledBack", "False/ContentChanged"],
  ["a namespace that is closed", (it) => it.accept(["other"]), "Failed", "False/NamespaceClosed"],
  ["all namespaces closed", (it) => it.accept([]), "Failed", "False/NamespaceClosed"],
  ["two hours without an operator", (it) => it.clock.advance(7_300_000), "Failed", "False/TimeOver"],
])("between two waves %s stops it", async (_, happens, state, reason) => {
  const it = world();
  it.addInstalled("rel-1", V1);
  it.addContent("rel-2", V2);
  it.add("b", "update", "rel-2");
  it.occasions.push({ name: "b", state: "Applying", wave: 1, say: () => happens(it) });
  await it.untilState("b", "RolledBack", "Failed", "Succeeded", "Aborted");
  expect([it.state("b"), it.reason("b", "Applied")]).toEqual([state, reason]);
  expect(it.log.filter((word) => word === "apply 2").length).toBe(state === "RolledBack" ? 1 : 0);
  expect(it.installed).not.toContain("evil=1");
  expect(it.rights.size).toBe(0);
});

test("a pause holds the next wave, and the one that was applied is gated", async () => {
  const it = world();
  it.addContent("rel-1", V1);
  it.add("a", "install", "rel-1");
  it.occasions.push({ name: "a", state: "Gating", wave: 0, say: () => it.say("a", { pausedReason: "lunch" }) });
  await it.until(() => it.clock.monotonicMs() > 600_000);
  expect([it.state("a"), it.rollout("a").status?.waveOf, it.reason("a", "Applied")]).toEqual([
    ...["Gating", "1/3", "Unknown/Paused"],
  ]);
  it.say("a", { pausedReason: undefined } as never);
  await it.untilState("a", "Succeeded");
});

describe("a deletion", () => {
  test("deletes the former content; what is kept is named", async () => {
    const it = world();
    it.addInstalled("rel-1", [line("api"), line("data", { is: "kept" })]);
    it.add("d", "delete");
    await it.untilState("d", "Succeeded");
    expect(it.installed).toEqual(["data=1"]);
    expect([it.reason("d", "Pruned"), it.message("d", "Pruned")]).toEqual([
      ...["False/SomeLeft", "1 object left: Deployment.apps/shop/data: it is kept"],
    ]);
    it.clock.advance(1_000);
    it.addContent("rel-2", [line("api")]);
    it.add("e", "install", "rel-2");
    await it.untilState("e", "Succeeded");
    expect(it.rollout("e").status).not.toHaveProperty("formerContent");
  });

  test("that does not come to its end is told, and an abort brings everything back", async () => {
    for (const isAborted of [false, true]) {
      const it = world();
      it.addInstalled("rel-1", [line("api"), line("hung", { is: "stuck" })]);
      it.add("d", "delete");
      await it.until(() => it.clock.monotonicMs() > 120_000);
      expect(it.state("d")).toBe("Applying");
      if (isAborted) it.say("d", { abortReason: "wrong one" });
      await it.untilState("d", "Succeeded", "RolledBack");
      expect(it.installed).toEqual(isAborted ? ["api=1", "hung=1"] : ["hung=1"]);
      expect(it.reason("d", "Pruned")).toBe(isAborted ? "True/NothingLeft" : "False/SomeLeft");
    }
  });

  test.each(["delete", "detach"] as const)(
    "by %s that names a content is not gone back to: no plan has shown it",
    async (action) => {
      const it = world();
      it.addInstalled("rel-1", [line("api")]);
      it.addContent("rel-evil", [line("evil")]);
      it.add("d", action, "rel-evil");
      await it.untilState("d", "Succeeded");
      it.cluster.objects.clear();
      it.clock.advance(1_000);
      it.addContent("rel-2", [line("api", { is: "unhealthy" })]);
      it.add("e", "install", "rel-2");
      await it.untilState("e", "Failed");
      expect(it.rollout("e").status).not.toHaveProperty("formerContent");
      expect(it.installed).toEqual(["api=1"]);
    },
  );

  test("by letting go leaves the objects, and nothing is installed any more", async () => {
    const it = world();
    it.addInstalled("rel-1", V1);
    it.add("d", "detach");
    await it.untilState("d", "Succeeded");
    expect([it.installed, it.cluster.objects.size]).toEqual([[], 4]);
  });
});

test("a rollout that is deleted is stopped in the midst of a wave", async () => {
  const it = world();
  it.addContent("rel-1", V1);
  const { metadata } = it.add("a", "install", "rel-1");
  it.hands = {
    apply: (_, __, ___, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        it.rollouts.delete("a");
        it.running.forget(metadata.uid);
      }),
  };
  expect(await it.look("a")).toEqual({ requeueAfterMs: 20 });
  expect([...it.running.held]).toEqual([]);
  expect(await it.look("a")).toBeUndefined();
});

test("a cache that lags brings no account back: what was left behind is not done again", async () => {
  const it = world();
  it.cluster.slowness = 0;
  it.addContent("rel-1", V1);
  it.add("a", "install", "rel-1");
  let old: Rollout | undefined;
  const say = (): void => {
    old = it.rollout("a");
  };
  it.occasions.push({ name: "a", state: "Pruning", say });
  await it.look("a");
  expect([it.state("a"), old?.status?.state]).toEqual(["Succeeded", "Pruning"]);
  it.log.length = 0;
  const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
  await reconcileRollout("a", { ...it.ports, rollout: () => old }, context);
  expect([it.log, it.rights.size]).toEqual([[], 0]);
});

test("while pods fit on no node the condition says so, without secrets, and no longer than that", async () => {
  const it = world();
  const { health } = it.ports.hands;
  let needsNodes: string | undefined = "Deployment.apps/shop/api: api-1: 0/1 nodes are available, password=hunter2";
  it.hands = {
    health: async (...given) => {
      if (needsNodes === undefined) return health(...given);
      return { verdict: "waiting", needsNodes, resources: [], againMs: 2_000 };
    },
  };
  it.addContent("rel-1", [line("api")]);
  it.add("a", "install", "rel-1");
  await it.until(() => it.reason("a", "Healthy") === "Unknown/AwaitingNodes");
  expect(it.message("a", "Healthy")).toBe(
    "wave 1 of 1: Deployment.apps/shop/api: api-1: 0/1 nodes are available, password=[redacted]",
  );
  needsNodes = undefined;
  await it.until(() => it.reason("a", "Healthy") === "Unknown/InProgress");
  await it.untilState("a", "Succeeded");
  expect(it.reason("a", "Healthy")).toBe("True/AllHealthy");
});

test("who looks and then claims does so alone for its deployment, also after one that failed", async () => {
  const running = new RunningRollouts();
  const first = Promise.withResolvers<void>();
  const log: string[] = [];
  const turn = (name: string, until: Promise<void>) => async () => {
    log.push(`${name} looks`);
    await until;
    log.push(`${name} claims`);
  };
  const all = [
    running.alone("dep_1", turn("a", first.promise)),
    running.alone("dep_1", turn("b", Promise.resolve())),
    running.alone("dep_2", turn("c", Promise.resolve())),
  ];
  await all[2];
  expect(log).toEqual(
    ["a looks", "c looks", "c claims"].toSorted((one, other) => log.indexOf(one) - log.indexOf(other)),
  );
  first.reject(new Error("lost"));
  await expect(all[0]).rejects.toThrow("lost");
  await all[1];
  expect(log.slice(-2)).toEqual(["b looks", "b claims"]);
});
