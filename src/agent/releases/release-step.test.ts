import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import type { DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import { objectName } from "../../crds/group.ts";
import type { Rollout, RolloutState, RolloutStatus } from "../../crds/kinds/rollout.ts";
import { NOTHING_WANTED, type ReleaseRecord, type WantedRelease } from "./release-record.ts";
import { newsOf, nextReleaseStep, type ReleaseFacts } from "./release-step.ts";
import { isUnknown, wishOf } from "./wish.ts";

const ID = `dep_${"d".repeat(28)}`;
const OPERATION = `duop_${"1".repeat(28)}`;
const RELEASE = `rel_${"a".repeat(28)}`;
const OTHER = `rel_${"b".repeat(28)}`;
const AT = "2026-01-01T12:00:00Z";
const operation = { id: OPERATION, releaseId: RELEASE, requestedAt: AT };

const wanting = (wanted: Partial<WantedRelease> = {}): WantedRelease => ({ ...NOTHING_WANTED, ...wanted });
const record = (changes: Partial<ReleaseRecord> = {}): ReleaseRecord => ({
  id: ID,
  status: "update-pending",
  desiredReleaseId: RELEASE,
  currentReleaseId: OTHER,
  wanted: wanting({ operation }),
  ...changes,
});
const setup = (status: DeploymentStatus, wanted: Partial<WantedRelease> = {}) =>
  record({ status, currentReleaseId: null, wanted: wanting(wanted) });
const deletion = (status: DeploymentStatus, wanted: Partial<WantedRelease> = {}) =>
  record({ status, wanted: wanting({ deleteAction: "cleanup", ...wanted }) });

function rollout(
  state: RolloutState | undefined,
  more: RolloutStatus = {},
  spec: Partial<Rollout["spec"]> = {},
): Rollout {
  const rolloutId = spec.rolloutId ?? OPERATION;
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "Rollout",
    metadata: { name: objectName(rolloutId), uid: "u", resourceVersion: "1", creationTimestamp: AT },
    spec: { rolloutId, deploymentId: ID, action: "update", requestedAt: AT, deadline: AT, ...spec },
    ...(state !== undefined && { status: { state, ...more } }),
  };
}

const facts = (changes: Partial<ReleaseFacts> = {}): ReleaseFacts => ({
  record: record(),
  isLeased: true,
  rollouts: [],
  target: undefined,
  note: undefined,
  stack: undefined,
  releaseOf: () => undefined,
  trouble: undefined,
  members: [],
  offersMachines: false,
  tellsWords: true,
  ...changes,
});
const step = (changes: Partial<ReleaseFacts> = {}) => nextReleaseStep(facts(changes));
/** As one word: the status, and the code of the error. */
function told(changes: Partial<ReleaseFacts>): string {
  const found = step(changes);
  if (found.do !== "report") return found.do;
  const { status, error } = found.report.state;
  return [status, ...(error ? [error.code] : [])].join(" ");
}
const STARTED = { startedAt: AT };

describe("a wish", () => {
  const idOf = (changes: ReleaseRecord, rollouts: readonly Rollout[] = []) => wishOf(changes, rollouts)?.rolloutId;

  test("of an update has the operation's id, and is an installation while nothing runs", () => {
    expect(wishOf(record(), [])).toMatchObject({ rolloutId: OPERATION, action: "update", releaseId: RELEASE });
    expect(wishOf(record({ currentReleaseId: null }), [])).toMatchObject({ action: "install" });
  });
  test("of a setup is another one for another release", () => {
    const one = idOf(setup("pending"));
    expect(one).toMatch(new RegExp(`^setup-${ID}-[0-9a-f]{8}$`));
    expect(idOf({ ...setup("pending"), desiredReleaseId: OTHER })).not.toBe(one);
    expect(idOf(setup("provisioning"))).toBe(one);
  });
  test.each<DeploymentStatus>(["running", "refresh-failed", "teardown-required", "deleted", "error"])(
    "there is none in %s",
    (status) => expect(idOf(record({ status }))).toBeUndefined(),
  );
  test("there is none without a release, nor before the list has named the operation", () => {
    expect(idOf({ ...setup("pending"), desiredReleaseId: null })).toBeUndefined();
    expect(idOf(record({ wanted: NOTHING_WANTED }))).toBeUndefined();
  });
  test("of a deletion there is only where a rollout has touched the cluster, or still could", () => {
    const gone = deletion("delete-pending");
    expect(idOf(gone)).toBeUndefined();
    expect(idOf(gone, [rollout("Denied")])).toBeUndefined();
    expect(idOf(gone, [rollout("Failed", STARTED)])).toBe(`delete-${ID}`);
    expect(idOf(gone, [rollout(undefined)])).toBe(`delete-${ID}`);
    const detached = deletion("deleting", { deleteAction: "detach" });
    expect(wishOf(detached, [rollout("Succeeded", STARTED)])).toMatchObject({ action: "detach" });
  });
  test("of a deletion waits for the list that says whether anything is to go", () => {
    const unknown = deletion("delete-pending", { deleteAction: undefined });
    expect(idOf(unknown, [rollout("Succeeded", STARTED)])).toBeUndefined();
    expect(told({ record: unknown })).toBe("delete-pending");
  });
  test("is made again only after its end was told and a person asked for it", () => {
    const over = wanting({ operation, told: { rolloutId: OPERATION, isOver: true } });
    expect(idOf(record({ status: "update-failed", wanted: over }), [rollout("Failed")])).toBe(OPERATION);
    expect(idOf(record({ wanted: over }), [rollout("Failed")])).toBe(`${OPERATION}-2`);
    const second = rollout("Planning", {}, { rolloutId: `${OPERATION}-2` });
    expect(idOf(record({ wanted: over }), [rollout("Failed"), second])).toBe(`${OPERATION}-2`);
    const working = wanting({ operation, told: { rolloutId: OPERATION, isOver: false } });
    expect(idOf(record({ wanted: working }), [rollout("Failed")])).toBe(OPERATION);
    const twice = wanting({ operation, told: { rolloutId: `${OPERATION}-2`, isOver: true } });
    expect(idOf(record({ wanted: twice }), [])).toBe(`${OPERATION}-3`);
  });
  test("of a setup that goes back to a release which failed before is made again, once", () => {
    const made = (rolloutId: string, minute: number, state: RolloutState): Rollout => {
      const found = rollout(state, {}, { rolloutId, action: "install" });
      return { ...found, metadata: { ...found.metadata, creationTimestamp: `2026-01-01T12:0${minute}:00Z` } };
    };
    const first = idOf(setup("provisioning")) ?? "";
    const second = idOf({ ...setup("provisioning"), desiredReleaseId: OTHER }) ?? "";
    const [one, two] = [made(first, 1, "Failed"), made(second, 2, "Failed")];
    const over = { told: { rolloutId: second, isOver: true } };
    expect(idOf(setup("provisioning-failed", over), [one, two])).toBe(first);
    expect(idOf(setup("provisioning", over), [one, two])).toBe(`${first}-2`);
    expect(idOf(setup("provisioning", over), [one, two, made(`${first}-2`, 3, "Failed")])).toBe(`${first}-2`);
    // Made by an agent that was killed before it could tell of it.
    expect(idOf(setup("provisioning", { told: { rolloutId: first, isOver: true } }), [one])).toBe(`${first}-2`);
    expect(idOf({ ...setup("provisioning", over), desiredReleaseId: RELEASE }, [two, made(first, 3, "Failed")])).toBe(
      first,
    );
  });
});

test("a deletion that the list makes known after an answer has told of it is not kept waiting for the next report", () => {
  const rollouts = [rollout("Succeeded", STARTED)];
  const news = (at: ReleaseRecord) => newsOf(at, nextReleaseStep(facts({ record: at, rollouts })), rollouts);
  const unknown = deletion("delete-pending", { deleteAction: undefined });
  expect(news(deletion("delete-pending"))).not.toBe(news(unknown));
  expect(news(unknown)).toBe(news({ ...unknown }));
});

describe("a rollout is made", () => {
  const target = { releaseId: RELEASE };
  test("when the answer names the wished release, under the lease", () => {
    expect(step({ target })).toMatchObject({ do: "create", wish: { rolloutId: OPERATION } });
  });
  test.each<[string, Partial<ReleaseFacts>]>([
    ["without an answer", {}],
    ["of an answer with another release", { target: { releaseId: OTHER } }],
    ["without the lease", { target, isLeased: false }],
    ["a second time", { target, rollouts: [rollout(undefined)] }],
    [
      "again after the customer has deleted it",
      { target, record: record({ wanted: wanting({ operation, told: { rolloutId: OPERATION, isOver: false } }) }) },
    ],
    ["in a status of failure", { target, record: record({ status: "update-failed" }) }],
    [
      "when it could not be rendered",
      { target, note: { rolloutId: OPERATION, isFinal: true, error: { code: "X", message: "", internal: false } } },
    ],
  ])("never %s", (_, changes) => expect(step(changes).do).toBe("report"));
  test("again when there was no room for it", () => {
    const note = { rolloutId: OPERATION, isFinal: false, error: { code: "X", message: "", internal: false } };
    expect(step({ target, note }).do).toBe("create");
    expect(told({ note })).toBe("update-pending X");
  });
  test("of a deletion, with any release that the answer names", () => {
    const rollouts = [rollout("Succeeded", STARTED)];
    const made = step({ record: deletion("deleting"), rollouts, target: { releaseId: OTHER } });
    expect(made).toMatchObject({ do: "create", wish: { action: "delete", releaseId: null } });
  });
});

type Condition = NonNullable<RolloutStatus["conditions"]>[number];
const saying = (type: string, status: Condition["status"], reason = "Said", message = ""): RolloutStatus => ({
  conditions: [{ type, status, reason, message, lastTransitionTime: AT }],
});
const all = (...said: readonly RolloutStatus[]): RolloutStatus => ({
  conditions: said.flatMap(({ conditions = [] }) => conditions),
});
const LEFT = saying("Pruned", "False", "SomeLeft", "1 stay: PersistentVolumeClaim/shop/data: it is never deleted");

const OTHER_PLAN = saying("Approved", "False", "OtherPlanApproved", "another plan is approved");
const UNANSWERED = all(saying("Planned", "True"), saying("Approved", "False", "DeadlinePassed", "not by noon"));

test.each<[string, ReleaseRecord, boolean]>([
  ["an update", record({ status: "updating", wanted: wanting({}) }), true],
  ["an update that waits for machines", record({ status: "waiting-for-machines", wanted: wanting({}) }), true],
  ["an update whose operation is known", record({ status: "waiting-for-machines" }), false],
  ["a setup that waits for machines", setup("waiting-for-machines"), false],
])("whether the list has to say first which update is under way: %s", (_, given, is) => {
  expect(isUnknown(given)).toBe(is);
});

describe("what is reported", () => {
  test.each<[string, RolloutState, RolloutStatus, string]>([
    [
      "the condition that does not hold, and none that is not known any more",
      "Failed",
      {
        ...STARTED,
        ...all(saying("Healthy", "Unknown", "InProgress", "stale"), saying("Applied", "False", "X", "shut")),
      },
      "it was begun and did not come to its end; it was not taken back as a whole, and parts of it may be there: shut",
    ],
    [
      "what was not healthy",
      "Failed",
      { ...STARTED, ...all(saying("Applied", "False", "X", "gate"), saying("Healthy", "False", "X", "sick")) },
      "it was applied and did not come up; it was not taken back as a whole, and parts of it may be there: sick",
    ],
    [
      "a plan that has changed since",
      "Failed",
      { ...STARTED, ...all(saying("Applied", "Unknown", "X", "stale"), saying("Planned", "False", "X", "changed")) },
      "it was begun and did not come to its end; it was not taken back as a whole, and parts of it may be there: changed",
    ],
    ["an approval that did not come", "Failed", UNANSWERED, "in time, and nothing was changed: not by noon"],
    [
      "what was not planned",
      "Failed",
      saying("Planned", "False", "X", "too late"),
      "could not be carried out, and nothing was changed: too late",
    ],
  ])("of a failure is %s", (_, state, status, expected) => {
    const failed = rollout(state, status);
    expect(
      step({ rollouts: [failed], record: record({ status: status.startedAt ? "updating" : "update-pending" }) }),
    ).toMatchObject({ report: { state: { error: { message: expect.stringContaining(expected) } } } });
  });

  test.each<[DeploymentStatus, RolloutState | undefined, RolloutStatus, string]>([
    ["update-pending", undefined, {}, "update-pending"],
    ["update-pending", "AwaitingApproval", {}, "update-pending APPROVAL_PENDING"],
    ["update-pending", "Failed", OTHER_PLAN, "update-failed OTHER_PLAN_APPROVED"],
    ["update-pending", "Failed", UNANSWERED, "update-failed APPROVAL_EXPIRED"],
    ["update-pending", "Queued", {}, "update-pending"],
    ["update-pending", "Applying", STARTED, "updating"],
    ["update-pending", "Succeeded", STARTED, "updating"],
    ["update-pending", "Denied", {}, "update-failed ROLLOUT_DENIED"],
    ["update-pending", "Aborted", {}, "update-failed ROLLOUT_DENIED"],
    ["update-pending", "Failed", {}, "update-failed PREFLIGHT_CHECKS_FAILED"],
    ["update-pending", "Superseded", {}, "update-failed UPDATE_FAILED"],
    ["updating", "Unknown", STARTED, "updating"],
    ["updating", "AwaitingApproval", STARTED, "updating APPROVAL_PENDING"],
    ["updating", "RollingBack", STARTED, "updating"],
    ["updating", "Succeeded", STARTED, "running"],
    ["updating", "RolledBack", STARTED, "update-failed ROLLED_BACK"],
    ["updating", "Failed", STARTED, "update-failed UPDATE_FAILED"],
    ["updating", "Aborted", STARTED, "update-failed UPDATE_FAILED"],
    ["update-failed", "RolledBack", STARTED, "update-failed ROLLED_BACK"],
  ])("of an update in %s by %s", (status, state, more, expected) => {
    expect(told({ record: record({ status }), rollouts: [rollout(state, more)] })).toBe(expected);
  });

  test.each<[string, RolloutState, RolloutStatus, object | undefined]>([
    ["the wave that did not come up, from 1", "Failed", { wave: 1, waves: 3 }, { wave: 2, waves: 3 }],
    ["the last one after all of a way back", "Failed", { wave: 3, waves: 3 }, { wave: 3, waves: 3 }],
    // The waves are of the way back: the message has the one that failed.
    ["both contents", "RolledBack", { wave: 3, waves: 3, rolledBackTo: "rel-1" }, { from: "rel-2", to: "rel-1" }],
  ])("of a failure %s", (_, state, more, context) => {
    const failed = rollout(state, { ...STARTED, ...more }, { contentName: "rel-2" });
    const found = step({ rollouts: [failed], record: record({ status: "updating" }) });
    expect(found.do === "report" ? found.report.state.error?.context : found).toEqual(context);
  });

  const setupId = wishOf(setup("pending"), [])?.rolloutId ?? "";
  const install = (state: RolloutState | undefined, more: RolloutStatus) =>
    rollout(state, more, { rolloutId: setupId, action: "install" });
  test.each<[DeploymentStatus, RolloutState | undefined, RolloutStatus, string]>([
    ["pending", "Planning", {}, "pending"],
    ["pending", "AwaitingApproval", {}, "initial-setup APPROVAL_PENDING"],
    ["pending", "Failed", {}, "preflights-failed PREFLIGHT_CHECKS_FAILED"],
    ["pending", "Failed", STARTED, "initial-setup"],
    ["pending", "Succeeded", STARTED, "initial-setup"],
    ["initial-setup", "AwaitingApproval", {}, "initial-setup APPROVAL_PENDING"],
    ["initial-setup", "Denied", {}, "initial-setup-failed ROLLOUT_DENIED"],
    ["initial-setup", "Failed", STARTED, "provisioning"],
    ["initial-setup", "Gating", STARTED, "provisioning"],
    ["provisioning", "Pruning", STARTED, "provisioning"],
    ["provisioning", "Succeeded", STARTED, "running"],
    ["provisioning", "Failed", STARTED, "provisioning-failed PROVISIONING_FAILED"],
    ["provisioning", "RolledBack", STARTED, "provisioning-failed ROLLED_BACK"],
    ["waiting-for-machines", "Succeeded", STARTED, "running"],
  ])("of a setup in %s by %s", (status, state, more, expected) => {
    expect(told({ record: setup(status), rollouts: [install(state, more)] })).toBe(expected);
  });

  describe("of a wave whose pods fit on no node", () => {
    const need = { message: "wave 1 of 1: Deployment/shop/api: 0/1 nodes are available" };
    const AWAITING = {
      ...STARTED,
      waveStartedAt: AT,
      conditions: [
        { type: "Healthy", status: "Unknown" as const, reason: "AwaitingNodes", ...need, lastTransitionTime: AT },
      ],
    };
    const { waveStartedAt: _held, ...HELD } = AWAITING;
    test.each<[DeploymentStatus, RolloutState, RolloutStatus, string]>([
      ["initial-setup", "Gating", AWAITING, "provisioning"],
      ["provisioning", "Gating", AWAITING, "waiting-for-machines MACHINES_NEEDED"],
      ["waiting-for-machines", "Gating", AWAITING, "waiting-for-machines MACHINES_NEEDED"],
      ["waiting-for-machines", "Gating", STARTED, "provisioning"],
      ["waiting-for-machines", "Gating", HELD, "provisioning"],
      // What it said before it went on is not true any more.
      ["waiting-for-machines", "Applying", AWAITING, "provisioning"],
      ["waiting-for-machines", "Failed", AWAITING, "provisioning-failed PROVISIONING_FAILED"],
      ["waiting-for-machines", "Aborted", AWAITING, "provisioning-failed PROVISIONING_FAILED"],
      ["waiting-for-machines", "Succeeded", AWAITING, "running"],
    ])("a setup in %s by %s", (status, state, more, expected) => {
      const at = { record: setup(status), rollouts: [install(state, more)], offersMachines: true };
      expect(told(at)).toBe(expected);
    });
    test.each<[DeploymentStatus, RolloutState, RolloutStatus, string]>([
      ["updating", "Gating", AWAITING, "waiting-for-machines MACHINES_NEEDED"],
      ["waiting-for-machines", "Gating", STARTED, "updating"],
      ["waiting-for-machines", "RollingBack", AWAITING, "updating"],
      ["waiting-for-machines", "RolledBack", AWAITING, "update-failed ROLLED_BACK"],
    ])("an update in %s by %s", (status, state, more, expected) => {
      expect(told({ record: record({ status }), rollouts: [rollout(state, more)], offersMachines: true })).toBe(
        expected,
      );
    });
    test("where no machine can join, nothing waits for one", () => {
      expect(told({ record: setup("provisioning"), rollouts: [install("Gating", AWAITING)] })).toBe("provisioning");
      const waiting = { record: setup("waiting-for-machines"), rollouts: [install("Gating", AWAITING)] };
      expect(told(waiting)).toBe("provisioning");
    });
    test("is told with the scheduler's words, unless names are hidden, and is no new work", () => {
      const at = { record: setup("provisioning"), rollouts: [install("Gating", AWAITING)], offersMachines: true };
      expect(step(at)).toMatchObject({
        report: { state: { error: { message: expect.stringContaining("0/1 nodes"), retryable: false } }, progress: [] },
      });
      expect(JSON.stringify(step({ ...at, tellsWords: false }))).not.toContain("shop/api");
      const back = { ...at, record: setup("waiting-for-machines"), rollouts: [install("Succeeded", AWAITING)] };
      expect(step(back)).toMatchObject({ report: { progress: [{ type: "DeployingStack", state: "success" }] } });
    });
  });

  const removal = (state: RolloutState | undefined, more: RolloutStatus) =>
    rollout(state, more, { rolloutId: `delete-${ID}`, action: "delete" });
  test.each<[DeploymentStatus, RolloutState | undefined, RolloutStatus, string]>([
    ["delete-pending", "AwaitingApproval", {}, "delete-pending APPROVAL_PENDING"],
    ["delete-pending", "Pruning", STARTED, "deleting"],
    ["delete-pending", "Denied", {}, "deleting"],
    ["deleting", "Pruning", STARTED, "deleting"],
    ["deleting", "Succeeded", { ...STARTED, ...saying("Pruned", "True") }, "deleted"],
    ["deleting", "Succeeded", { ...STARTED, ...LEFT }, "teardown-required RESOURCES_LEFT"],
    ["deleting", "Succeeded", STARTED, "teardown-required RESOURCES_LEFT"],
    ["deleting", "Denied", {}, "delete-failed ROLLOUT_DENIED"],
    ["deleting", "Failed", STARTED, "delete-failed DELETE_FAILED"],
  ])("of a deletion in %s by %s", (status, state, more, expected) => {
    expect(told({ record: deletion(status), rollouts: [removal(state, more)] })).toBe(expected);
  });

  test("what a deletion left is named, and told until a person has taken it away", () => {
    const rollouts = [removal("Succeeded", { ...STARTED, ...LEFT })];
    const found = step({ record: deletion("deleting"), rollouts });
    expect(found).toMatchObject({ report: { state: { error: { message: expect.stringContaining("shop/data") } } } });
    const redacted = step({ record: deletion("deleting"), rollouts, tellsWords: false });
    expect(JSON.stringify(redacted)).not.toContain("shop/data");
    const error = { code: "RESOURCES_LEFT", message: "as it was told", internal: false };
    expect(told({ record: deletion("teardown-required", { error }), rollouts })).toBe(
      "teardown-required RESOURCES_LEFT",
    );
  });

  test("a rollout that the customer has deleted has failed", () => {
    const known = wanting({ operation, told: { rolloutId: OPERATION, isOver: false } });
    expect(told({ record: record({ wanted: known }) })).toBe("update-failed ROLLOUT_DENIED");
    expect(told({ record: record({ status: "updating", wanted: known }) })).toBe("update-failed UPDATE_FAILED");
  });
  test("parts of a rollout that failed are not hidden by a later one that was denied, or deleted", () => {
    const told = { rolloutId: `${OPERATION}-2`, isOver: false };
    const denied = rollout("Denied", {}, { rolloutId: told.rolloutId, deniedReason: "not now" });
    const errorAfter = (...rollouts: readonly Rollout[]) => {
      const found = step({ record: record({ wanted: wanting({ operation, told }) }), rollouts });
      return found.do === "report" ? found.report.state.error : undefined;
    };
    const failed = rollout("Failed", STARTED);
    const context = { before: OPERATION };
    expect(errorAfter(failed, denied)).toMatchObject({ code: "UPDATE_FAILED", context });
    expect(errorAfter(failed)).toMatchObject({ code: "UPDATE_FAILED", context });
    expect(errorAfter(rollout("RolledBack", STARTED), denied)?.code).toBe("ROLLOUT_DENIED");
    // What it waits for is told as it is.
    expect(errorAfter(failed, rollout("AwaitingApproval", {}, told))).toMatchObject({
      message: "the customer has not approved the rollout",
    });
  });
  test("a failure keeps its error while it lasts, also when its rollout is gone", () => {
    const error = { code: "ROLLED_BACK", message: "as it was told", internal: false };
    const wanted = wanting({ operation, error, told: { rolloutId: OPERATION, isOver: true } });
    expect(step({ record: record({ status: "update-failed", wanted }) })).toMatchObject({
      report: { state: { error } },
    });
  });
  test.each<[DeploymentStatus, DeploymentStatus]>([
    ["update-failed", "update-pending"],
    ["provisioning-failed", "provisioning"],
    ["delete-failed", "deleting"],
  ])("after %s a retry that was asked for goes on in %s", (status, expected) => {
    const wanted = { operation, retryRequested: true, deleteAction: "cleanup" as const };
    const at = record({ status, currentReleaseId: null, wanted: wanting(wanted) });
    const rollouts = [rollout("Failed", STARTED)];
    expect(told({ record: at, rollouts })).toBe(expected);
    expect(told({ record: at, rollouts, isLeased: false })).toContain(status);
  });
  test("without the lease nothing moves, and nothing is told of it", () => {
    const found = step({ isLeased: false, rollouts: [rollout("Succeeded", STARTED)] });
    expect(found).toMatchObject({ report: { state: { status: "update-pending" }, progress: [] } });
    expect(found).not.toHaveProperty("report.state.runtimeMetadata");
  });
  test("a success of another release than the wished one is none", () => {
    const rollouts = [rollout("Succeeded", STARTED)];
    const at = record({ status: "updating" });
    expect(told({ record: at, rollouts, releaseOf: () => OTHER })).toBe("update-failed UPDATE_FAILED");
    expect(told({ record: at, rollouts, releaseOf: () => RELEASE })).toBe("running");
  });
  test("a configuration without a release is told as what nothing can be done for", () => {
    const bare = record({ desiredReleaseId: null, currentReleaseId: null, wanted: NOTHING_WANTED });
    expect(told({ record: bare })).toBe("update-pending NO_RELEASE");
  });
  test("an end names the release, and what was told last", () => {
    const stack = { releaseId: RELEASE, version: "1.4.0", resources: new Map([["web", { type: "container" }]]) };
    const resources = [{ resourceId: "web", state: "running" as const, health: "healthy" as const, message: "" }];
    const rollouts = [rollout("Succeeded", { ...STARTED, resources })];
    expect(step({ record: record({ status: "updating" }), rollouts, stack })).toMatchObject({
      report: {
        operationId: OPERATION,
        state: {
          status: "running",
          currentRelease: { releaseId: RELEASE, version: "1.4.0" },
          stackState: { resources: { web: { type: "container", status: "running" } } },
          runtimeMetadata: { rollout: { id: OPERATION, over: true } },
        },
        progress: [{ type: "DeployingStack", state: "success" }],
      },
    });
  });
  test("the cluster's own words stay there while names are hidden", () => {
    const resources = [
      { resourceId: "web", state: "failed" as const, health: "unhealthy" as const, message: "pod web-7d9 x" },
    ];
    const conditions = [
      { type: "Healthy", status: "False" as const, reason: "No", message: "pod web-7d9 x", lastTransitionTime: AT },
    ];
    const stack = { releaseId: RELEASE, version: undefined, resources: new Map() };
    const at = {
      record: record({ status: "updating" }),
      rollouts: [rollout("RolledBack", { ...STARTED, resources, conditions })],
    };
    expect(JSON.stringify(step({ ...at, stack }))).toContain("web-7d9");
    expect(JSON.stringify(step({ ...at, stack, tellsWords: false }))).not.toContain("web-7d9");
  });
});

const STATES = [
  ...([undefined, "Planning", "AwaitingApproval", "Queued", "Applying", "Gating", "Pruning", "RollingBack"] as const),
  ...(["Unknown", "Succeeded", "RolledBack", "Failed", "Denied", "Superseded", "Aborted"] as const),
];

test("with any facts, nothing is made twice or without the lease, and a rollout's success alone brings running", () => {
  const known = fc.record({
    status: fc.constantFrom<DeploymentStatus>(
      ...(["pending", "initial-setup", "provisioning", "update-pending", "updating", "update-failed"] as const),
      ...(["delete-pending", "deleting", "delete-failed", "waiting-for-machines"] as const),
    ),
    state: fc.option(fc.constantFrom(...STATES), { nil: "none" as const }),
    hasStarted: fc.boolean(),
    isLeased: fc.boolean(),
    retryRequested: fc.boolean(),
    told: fc.constantFrom(undefined, true, false),
    current: fc.constantFrom(null, OTHER),
    target: fc.constantFrom(undefined, RELEASE, OTHER),
    offersMachines: fc.boolean(),
  });
  fc.assert(
    fc.property(
      known,
      ({ status, state, hasStarted, isLeased, retryRequested, told: over, current, target, ...offered }) => {
        const at = record({
          status,
          currentReleaseId: current,
          wanted: wanting({ operation, retryRequested, deleteAction: "cleanup" }),
        });
        const first = wishOf(at, [rollout("Succeeded", STARTED)])?.rolloutId ?? OPERATION;
        const wanted = { ...at.wanted, told: over === undefined ? undefined : { rolloutId: first, isOver: over } };
        const rollouts = state === "none" ? [] : [rollout(state, hasStarted ? STARTED : {}, { rolloutId: first })];
        const found = step({
          record: { ...at, wanted },
          rollouts,
          isLeased,
          ...offered,
          target: target === undefined ? undefined : { releaseId: target },
        });
        if (found.do === "create") {
          expect(isLeased).toBe(true);
          expect(rollouts.map(({ spec }) => spec.rolloutId)).not.toContain(found.wish.rolloutId);
          expect([null, target]).toContain(found.wish.releaseId);
        } else if (found.do === "report" && found.report.state.status === "running") {
          expect([isLeased, state]).toEqual([true, "Succeeded"]);
          expect(found.report.state.currentRelease?.releaseId).toBe(RELEASE);
        } else if (found.do === "report" && found.report.state.status !== status) {
          expect(isLeased).toBe(true);
        }
      },
    ),
    { numRuns: runs(2_000) },
  );
});

describe("what is installed", () => {
  const trouble = { code: "RESOURCE_DRIFT", message: "others have changed 1 object of the release", internal: false };
  const at = (status: DeploymentStatus) => record({ status, desiredReleaseId: null, wanted: NOTHING_WANTED });

  test.each<[DeploymentStatus, typeof trouble | undefined, string]>([
    ["running", undefined, "observe"],
    ["running", trouble, "refresh-failed RESOURCE_DRIFT"],
    ["refresh-failed", trouble, "refresh-failed RESOURCE_DRIFT"],
    // Without a trouble it runs, as what is only observed does.
    ["refresh-failed", undefined, "observe"],
    ["error", trouble, "observe"],
    ["teardown-required", trouble, "observe"],
  ])("in %s with %j is told as %s", (status, found, word) => {
    expect(told({ record: at(status), trouble: found })).toBe(word);
  });
  test("is no hindrance to an update that is wanted", () => {
    expect(told({ trouble, rollouts: [rollout("Planning")] })).toBe(told({ rollouts: [rollout("Planning")] }));
  });
  test("tells replicas, ready ones and the image of each resource; no image where there are several", () => {
    const resources = ["web", "jobs"].map((resourceId) => ({
      ...{ resourceId, state: "running" as const, health: "healthy" as const, message: "" },
    }));
    const member = (resourceId: string, ready: number, image: string) => ({
      ...{ resourceId, name: "", isUnhealthy: false, replicas: 2, ready, image },
    });
    const stack = { releaseId: RELEASE, version: "1", resources: new Map() };
    const found = step({
      ...{ stack, rollouts: [rollout("Succeeded", { ...STARTED, resources })], record: record({ status: "updating" }) },
      members: [member("web", 2, "web:1"), member("jobs", 1, "a:1"), member("jobs", 2, "b:1")],
    });
    expect(found.do === "report" && found.report.state.stackState?.resources).toMatchObject({
      web: { outputs: { replicas: 2, ready: 2, image: "web:1" } },
      jobs: { outputs: { replicas: 4, ready: 3 } },
    });
  });
});
