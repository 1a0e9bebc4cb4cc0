import { describe, expect, test } from "vitest";
import type { Rollout, RolloutSpec, RolloutState, RolloutStatus } from "../../../crds/kinds/rollout.ts";
import { mergePolicies } from "../../gate/policy.ts";
import { RELEASES_AUTO, RolloutWorld } from "../../testing/rollout-world.ts";
import { nextRolloutStep } from "./next-step.ts";
import type { RolloutFacts } from "./rollout-step.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const NOW = new Date("2026-01-01T10:00:00Z");
const APPROVED = { approvedDigest: DIGEST };
/** One object, named twice. */
const TAKES_OVER = { takeOver: [1, 2].map(() => ({ kind: "Deployment", name: "web" })) };
const at = (minutes: number): string => new Date(NOW.getTime() + minutes * 60_000).toISOString();

interface Given extends Partial<Omit<RolloutFacts, "rollout">> {
  readonly spec?: Partial<RolloutSpec>;
  readonly status?: RolloutStatus;
}

function facts(state: RolloutState | undefined, { spec, status, ...more }: Given = {}): RolloutFacts {
  const world = new RolloutWorld();
  const isRunning = ["Applying", "Gating", "Pruning", "RollingBack", "Unknown"].includes(state ?? "");
  const planned = {
    type: "Planned",
    status: "True",
    reason: "PlanMade",
    message: "",
    lastTransitionTime: at(-1),
  } as const;
  const made = world.add("b", "update", undefined, {
    contentName: "rel-2",
    contentDigest: DIGEST,
    deadline: at(60),
    ...spec,
  });
  const rollout = {
    ...made,
    status: {
      ...(state && { state }),
      ...(state !== "Planning" && { plannedDigest: DIGEST, plannedAt: at(-1) }),
      ...(isRunning && { startedAt: at(-1), until: at(119), waveStartedAt: at(-1) }),
      ...{ wave: 0, waves: 2, formerContent: "rel-1", formerDigest: DIGEST },
      conditions: [{ ...planned, observedGeneration: 1 }],
      ...status,
    },
  };
  // What it was planned with.
  const done = world.add(
    "a",
    "install",
    undefined,
    { contentName: "rel-1", contentDigest: DIGEST, requestedAt: at(-600) },
    { state: "Succeeded", startedAt: at(-600) },
  );
  const older = { ...done, metadata: { ...done.metadata, creationTimestamp: at(-600) } };
  return {
    ...{ rollout, siblings: [older], policy: mergePolicies([]), accepted: ["shop"], window: { isOpen: true } },
    ...{ obstacle: undefined, now: NOW },
    ...more,
  };
}

/** The step in a word: where it goes, or what it does. */
function next(state: RolloutState | undefined, given: Given = {}): string {
  const step = nextRolloutStep(facts(state, given));
  if (step.do === "act") return step.act;
  return "to" in step ? `${step.do} ${step.to}` : step.do;
}

function newer(): readonly Rollout[] {
  const world = new RolloutWorld();
  const made = world.add("c", "update");
  return [{ ...made, metadata: { ...made.metadata, creationTimestamp: at(1) } }];
}

function sibling(state: RolloutState): readonly Rollout[] {
  const [each] = facts(undefined).siblings;
  return each === undefined ? [] : [{ ...each, status: { state, startedAt: at(-5) } }];
}

/** Objects of the customer are, as the plan of so many minutes ago has found. */
function inTheWay(minutesAgo: number): RolloutStatus {
  return { plannedDigest: undefined as never, plannedAt: at(-minutesAgo) };
}

const auto = mergePolicies([{ spec: RELEASES_AUTO }]);
const deny = mergePolicies([{ spec: { rules: [{ pattern: "release/update", decision: "deny" }] } }]);

describe("each pair of states, by what leads from one to the other", () => {
  test.each<[RolloutState | undefined, string, Given]>([
    [undefined, "go Planning", {}],
    [undefined, "end Superseded", { siblings: newer() }],
    ["Planning", "plan", {}],
    ["Planning", "end Aborted", { spec: { abortReason: "no" } }],
    ["Planning", "end Denied", { spec: { deniedReason: "no" } }],
    ["Planning", "end Denied", { policy: deny }],
    ["Planning", "end Superseded", { siblings: newer() }],
    ["Planning", "end Failed", { accepted: undefined }],
    ["Planning", "end Failed", { spec: { deadline: at(0) } }],
    ["Planning", "end Failed", { spec: { deadline: at(0) }, status: { plannedAt: at(-1) } }],
    ["Planning", "end Failed", { spec: { deadline: at(0) }, accepted: [] }],
    ["Planning", "wait", { accepted: [] }],
    ["Planning", "wait", { obstacle: "rights" }],
    ["Planning", "wait", { siblings: sibling("Gating") }],
    ["AwaitingApproval", "wait", {}],
    ["AwaitingApproval", "wait", { status: inTheWay(0.9) }],
    ["AwaitingApproval", "plan", { status: inTheWay(1) }],
    ["AwaitingApproval", "wait", { status: inTheWay(0.9), policy: auto }],
    ["AwaitingApproval", "plan", { status: inTheWay(1), policy: auto }],
    ["AwaitingApproval", "wait", { status: inTheWay(1), obstacle: "rights" }],
    ["AwaitingApproval", "wait", { status: inTheWay(1), accepted: [] }],
    ["AwaitingApproval", "wait", { status: inTheWay(1), siblings: sibling("Gating") }],
    ["AwaitingApproval", "end Failed", { status: inTheWay(1), spec: { deadline: at(0) } }],
    ["AwaitingApproval", "wait", { spec: { pausedReason: "later" }, status: { conditions: [] } }],
    ["AwaitingApproval", "go Planning", { spec: TAKES_OVER }],
    ["AwaitingApproval", "wait", { spec: TAKES_OVER, status: { plannedTakeOver: 1 } }],
    ["AwaitingApproval", "go Queued", { spec: { ...TAKES_OVER, ...APPROVED } }],
    ["AwaitingApproval", "go Queued", { spec: APPROVED }],
    ["AwaitingApproval", "go Queued", { policy: auto }],
    ["AwaitingApproval", "wait", { spec: { approvedDigest: DIGEST.replace("a", "b") } }],
    ["AwaitingApproval", "end Denied", { spec: { deniedReason: "no", ...APPROVED } }],
    ["AwaitingApproval", "end Superseded", { spec: APPROVED, siblings: newer() }],
    ["AwaitingApproval", "end Failed", { spec: { deadline: at(0), ...APPROVED } }],
    ["Queued", "claim Applying", { spec: APPROVED }],
    ["Queued", "claim Applying", { policy: auto }],
    ["Queued", "go Planning", {}],
    ["Queued", "go Planning", { policy: auto, status: { plannedAt: at(-6) } }],
    ["Queued", "go Planning", { policy: auto, status: { formerContent: "rel-0" } }],
    ["Queued", "go Planning", { policy: auto, status: { conditions: [] } }],
    ["Queued", "wait", { policy: auto, window: { isOpen: false } }],
    ["Queued", "wait", { policy: auto, spec: { pausedReason: "later" } }],
    ["Queued", "wait", { policy: auto, obstacle: "rights" }],
    ["Queued", "wait", { policy: auto, siblings: sibling("RollingBack") }],
    ["Queued", "end Failed", { policy: auto, spec: { deadline: at(0) } }],
    ["Queued", "end Failed", { policy: auto, spec: { deadline: at(0), pausedReason: "later" } }],
    ["Queued", "end Denied", { policy: deny, spec: APPROVED }],
    ["Queued", "end Superseded", { policy: auto, siblings: newer() }],
    ["Applying", "apply", { spec: APPROVED }],
    ["Applying", "remove", { spec: { action: "delete", ...APPROVED } }],
    ["Applying", "detach", { spec: { action: "detach", ...APPROVED } }],
    ["Applying", "go Pruning", { spec: APPROVED, status: { wave: 2, waves: 2 } }],
    ["Applying", "go RollingBack", { spec: { abortReason: "no", ...APPROVED } }],
    ["Applying", "go RollingBack", { spec: { deniedReason: "no", ...APPROVED } }],
    ["Applying", "go RollingBack", { policy: deny, spec: APPROVED }],
    ["Applying", "go RollingBack", { spec: APPROVED, status: { until: at(20) } }],
    ["Applying", "end Aborted", { spec: { abortReason: "no" }, status: { formerContent: undefined } as never }],
    ["Applying", "end Failed", { policy: deny, status: { formerContent: undefined } as never }],
    ["Applying", "end Failed", { accepted: [] }],
    ["Applying", "go Unknown", { status: { until: at(0) } }],
    ["Applying", "go Applying", { spec: APPROVED, status: { waveStartedAt: undefined } as never }],
    ["Applying", "wait", { spec: APPROVED, obstacle: "rights" }],
    ["Gating", "gate", { spec: APPROVED, siblings: newer() }],
    ["Gating", "go Gating", { spec: APPROVED, status: { waveStartedAt: undefined } as never }],
    ["Gating", "wait", { spec: { pausedReason: "later", ...APPROVED }, status: { waveStartedAt: undefined } as never }],
    ["Gating", "go RollingBack", { spec: { abortReason: "no", ...APPROVED } }],
    ["Gating", "go Unknown", { status: { until: at(0) } }],
    ["Pruning", "prune", { spec: APPROVED, siblings: newer() }],
    ["Pruning", "go Pruning", { spec: APPROVED, status: { waveStartedAt: undefined } as never }],
    ["Pruning", "go RollingBack", { spec: { abortReason: "no", ...APPROVED } }],
    ["Pruning", "go RollingBack", { spec: { deniedReason: "no", ...APPROVED } }],
    ["Pruning", "go RollingBack", { policy: deny, spec: APPROVED }],
    ["Pruning", "end Aborted", { spec: { abortReason: "no" }, status: { formerContent: undefined } as never }],
    ["Pruning", "wait", { spec: APPROVED, obstacle: "rights" }],
    ["Pruning", "end Succeeded", { status: { until: at(0) } }],
    ["Pruning", "end Succeeded", { accepted: [] }],
    ["Pruning", "end Succeeded", { spec: { action: "detach" } }],
    ["RollingBack", "restore", { spec: { deniedReason: "no" }, window: { isOpen: false } }],
    ["RollingBack", "wait", { obstacle: "rights" }],
    ["RollingBack", "end Failed", { status: { until: at(0) } }],
    ["RollingBack", "end Failed", { accepted: [] }],
    ["Unknown", "end Failed", { status: { until: at(0) } }],
    ["Succeeded", "rest", { siblings: newer() }],
    ["RolledBack", "rest", {}],
    ["Failed", "rest", { spec: APPROVED }],
    ["Denied", "rest", { spec: APPROVED }],
    ["Superseded", "rest", {}],
    ["Aborted", "rest", {}],
  ])("%s: %s, %#", (state, step, given) => {
    expect(next(state, given)).toBe(step);
  });
});

const decide = (rules: Record<string, "auto" | "deny">) =>
  mergePolicies([
    { spec: { rules: Object.entries(rules).map(([act, decision]) => ({ pattern: `release/${act}`, decision })) } },
  ]);

describe("whether it is an install or an update is judged by what is installed; another name for it needs both words", () => {
  test.each<[string, Given]>([
    ["go Queued", { policy: decide({ update: "auto" }) }],
    ["wait", { policy: decide({ install: "auto" }) }],
    ["wait", { policy: decide({ install: "auto" }), spec: { action: "install" } }],
    ["wait", { policy: decide({ update: "auto" }), spec: { action: "install" } }],
    ["go Queued", { policy: decide({ install: "auto", update: "auto" }), spec: { action: "install" } }],
    ["end Denied", { policy: decide({ install: "auto", update: "deny" }), spec: { action: "install", ...APPROVED } }],
    ["end Denied", { policy: decide({ install: "deny", update: "auto" }), spec: { action: "install", ...APPROVED } }],
    ["go Queued", { policy: decide({ install: "auto" }), spec: { action: "install" }, siblings: [] }],
    ["wait", { policy: decide({ update: "auto" }), siblings: [] }],
    ["wait", { policy: decide({ install: "auto" }), siblings: [] }],
    ["end Denied", { policy: decide({ install: "deny", update: "auto" }), siblings: [] }],
  ])("%s, %#", (step, given) => {
    expect(next("AwaitingApproval", given)).toBe(step);
  });
});

test("one that is being deleted is left where it is", () => {
  const { rollout, ...more } = facts("Applying", { spec: APPROVED });
  const going = { ...rollout, metadata: { ...rollout.metadata, deletionTimestamp: at(0) } };
  expect(nextRolloutStep({ ...more, rollout: going })).toEqual({ do: "rest" });
});

test("a claim runs for two hours from now", () => {
  const step = nextRolloutStep(facts("Queued", { policy: auto }));
  expect(step).toMatchObject({
    fields: { startedAt: "2026-01-01T10:00:00Z", until: "2026-01-01T12:00:00Z", waveOf: "1/2" },
  });
});

test("what held it up is said no longer than it holds: a window that opens is not still to open while a plan is made", () => {
  const waiting = nextRolloutStep(facts("Queued", { policy: auto, window: { isOpen: false, opensAt: NOW } }));
  const held = waiting.do === "wait" ? (waiting.said.find(([type]) => type === "Applied") ?? []) : [];
  const [type = "", status = "", reason = "", message = ""] = held;
  expect(message).toContain("the next opens at 2026-01-01T10:00:00Z");
  const conditions = [{ type, status, reason, message, lastTransitionTime: at(-1) }] as NonNullable<
    RolloutStatus["conditions"]
  >;
  expect(nextRolloutStep(facts("Queued", { policy: auto, status: { plannedAt: at(-6), conditions } }))).toMatchObject({
    to: "Planning",
    said: [
      ["Applied", "Unknown", "PlannedAgain", "it is planned once more before it is applied"],
      ["Planned", "Unknown", "InProgress", "the last plan is too old to be applied"],
    ],
  });
  const neverHeld = nextRolloutStep(facts("Queued", { policy: auto, status: { plannedAt: at(-6) } }));
  expect(neverHeld).toMatchObject({ said: [["Planned", "Unknown", "InProgress", expect.anything()]] });
});
