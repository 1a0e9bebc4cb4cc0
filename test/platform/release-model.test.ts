import fc from "fast-check";
import { expect, test } from "vitest";
import { afterAnswer, type ReleaseRecord, readWantedRelease } from "../../src/agent/releases/release-record.ts";
import { nextReleaseStep } from "../../src/agent/releases/release-step.ts";
import { runs } from "../../src/base/testing/runs.ts";
import {
  DEPLOYMENT_STATUSES,
  type DeploymentState,
  type DeploymentStatus,
  type UpdateState,
} from "../../src/contract/deployments/deployment-state.ts";
import type { StoredError } from "../../src/contract/wire/stored-error.ts";
import { objectName } from "../../src/crds/group.ts";
import type { Rollout, RolloutState } from "../../src/crds/kinds/rollout.ts";
import { nextStatus } from "../../src/platform/areas/deployments/lifecycle/status.ts";
import { advance, retarget, type Targeted } from "../../src/platform/areas/deployments/lifecycle/target.ts";
import { judge } from "../../src/platform/areas/sync/report.ts";

// The agent's decision against the platform's own: vendor, operator, customer and agent act in random order, lists are old,
// agents are started anew. What the platform says of a release must be what its rollouts have come to.

const ID = `dep_${"d".repeat(28)}`;
const AT = "2026-01-01T12:00:00.000Z";
const NOW = new Date(AT);
const releaseOf = (n: number): string => `rel_${String(n).padStart(28, "0")}`;

/** Where an operator may lead a rollout; the first is the way to its success. */
const NEXT: Readonly<Record<string, readonly RolloutState[]>> = {
  none: ["Planning"],
  Planning: ["AwaitingApproval", "Queued", "Failed", "Denied"],
  AwaitingApproval: ["Queued", "Denied", "Aborted"],
  Queued: ["Applying", "Failed"],
  Applying: ["Gating", "RollingBack", "Unknown", "Failed"],
  // Again: its pods fit on no node now, or do again.
  Gating: ["Pruning", "Applying", "RollingBack", "Gating"],
  Pruning: ["Succeeded"],
  RollingBack: ["RolledBack", "Failed"],
  Unknown: ["Planning", "Failed"],
};
const SETTLED = [
  "running",
  "preflights-failed",
  "initial-setup-failed",
  "provisioning-failed",
  "update-failed",
  "delete-failed",
];
const ENDED = ["deleted", "teardown-required"];
/** Statuses that an agent reports of what it only observes, and that lead further. */
const OBSERVED: Readonly<Partial<Record<DeploymentStatus, DeploymentStatus>>> = {
  "delete-pending": "deleting",
  "refresh-failed": "running",
};
const AWAITING_NODES = {
  ...{ type: "Healthy", status: "Unknown" as const, reason: "AwaitingNodes", message: "0/1 nodes are available" },
  lastTransitionTime: AT,
};
const DRIFT: StoredError = { code: "RESOURCE_DRIFT", message: "others have changed it", internal: false };

class Model {
  row: Targeted & { deployment_model: "push" | "pull"; retry_requested: boolean };
  deleteAction: "cleanup" | "detach" | undefined;
  metadata: Record<string, unknown> | null = null;
  error: StoredError | null = null;
  readonly rollouts: { rollout: Rollout; releaseId: string | null }[] = [];
  /** Releases that never come up. */
  readonly broken = new Set<string | null>();
  /** Others have changed what is installed. */
  isDrifted = false;
  readonly offersMachines: boolean;
  /** Statuses that the platform has had. */
  readonly reached: Set<DeploymentStatus>;
  /** As the agent last read it. */
  record: ReleaseRecord | undefined;
  releases = 0;
  operations = 0;
  retries = 0;

  constructor(model: "push" | "pull", hasRelease: boolean, offersMachines: boolean, reached: Set<DeploymentStatus>) {
    this.offersMachines = offersMachines;
    this.reached = reached;
    const desired = hasRelease ? releaseOf(0) : null;
    const nothing = { current_release_id: null, update_state: null, retry_requested: false };
    // Without a release it is observed, and runs.
    const status = hasRelease ? ("pending" as const) : ("running" as const);
    this.row = { status, desired_release_id: desired, deployment_model: model, ...nothing };
  }

  list(): void {
    const { status, desired_release_id: desiredReleaseId, current_release_id: currentReleaseId } = this.row;
    const item = {
      updateState: this.row.update_state ?? undefined,
      retryRequested: this.row.retry_requested,
      deleteAction: this.deleteAction,
      runtimeMetadata: this.metadata,
      error: this.error,
    };
    this.record = { id: ID, status, desiredReleaseId, currentReleaseId, wanted: readWantedRelease(item) };
  }

  target(releaseId?: string): void {
    const operationId = `duop_${String(++this.operations).padStart(28, "0")}`;
    const wish = { operationId, reason: releaseId ? ("release" as const) : ("redeploy" as const), at: NOW };
    const next = retarget(this.row, releaseId ? { ...wish, releaseId } : wish);
    if (next === undefined) return;
    const { operation: _, ...row } = next;
    Object.assign(this.row, row);
  }

  delete(action: "cleanup" | "detach"): void {
    const status = nextStatus(this.row.status, { by: "delete", action });
    if (status === undefined) return;
    // A deletion that failed is asked for again.
    if (this.row.status === "delete-failed") this.retries += 1;
    this.deleteAction = action;
    this.row = { ...this.row, status, retry_requested: false };
  }

  retry(isAcquired: boolean): void {
    const status = nextStatus(this.row.status, { by: "retry" });
    if (status === undefined) return;
    this.retries += 1;
    // What has drifted is applied anew.
    if (this.row.status === "refresh-failed" && this.row.current_release_id !== null) this.target();
    else if (isAcquired) {
      this.row = { ...this.row, ...advance(this.row, status, NOW), retry_requested: false };
      this.error = null;
    } else this.row.retry_requested = true;
  }

  /** The operator's next step with the rollout that was made last. */
  operate(pick: number): void {
    const last = this.rollouts.at(-1);
    if (last === undefined) return;
    const { state, startedAt, conditions } = last.rollout.status ?? {};
    const ways = NEXT[state ?? "none"] ?? [];
    const isBroken = state === "Applying" && last.releaseId !== null && this.broken.has(last.releaseId);
    const next = isBroken ? "Failed" : ways[pick % Math.max(1, ways.length)];
    if (next === undefined) return;
    const started = startedAt ?? (next === "Applying" ? AT : undefined);
    const isAwaiting = state === "Gating" && next === "Gating" && conditions === undefined;
    const status = {
      ...{ state: next, ...(started !== undefined && { startedAt: started }) },
      ...(isAwaiting && { waveStartedAt: AT, conditions: [AWAITING_NODES] }),
    };
    last.rollout = { ...last.rollout, status };
  }

  /** Each person and program goes on, and nothing new is asked for. */
  settle(isWell: boolean): void {
    this.isDrifted = false;
    for (let round = 0; round < 60 && !this.isSettled; round += 1) {
      this.list();
      this.operate(isWell ? 0 : round);
      this.report();
    }
    expect(this.isSettled, JSON.stringify([this.row, this.rollouts])).toBe(true);
    if (this.row.status === "running") expect(this.row.desired_release_id, JSON.stringify(this.row)).toBeNull();
    this.list();
  }

  /** A failure is tried again as another rollout, also when it was told before. */
  retrySettled(isAcquired: boolean): void {
    this.settle(false);
    const { status, desired_release_id, current_release_id } = this.row;
    const hasRelease = desired_release_id !== null || current_release_id !== null;
    if (!status.endsWith("-failed") || !hasRelease) return;
    const before = this.rollouts.length;
    this.retry(isAcquired);
    this.settle(true);
    expect(this.rollouts.length, JSON.stringify([status, this.row, this.rollouts])).toBeGreaterThan(before);
  }

  /** A release that never comes up is mended by another one, wherever it has failed. */
  mend(goesBack: boolean): void {
    this.settle(false);
    const { status, desired_release_id, current_release_id } = this.row;
    const failed = desired_release_id ?? current_release_id;
    this.broken.add(failed);
    if (!status.endsWith("-failed") || status === "delete-failed") return;
    // Also by one that was tried before it: what kept that one from coming up is gone.
    const others = this.rollouts.flatMap(({ releaseId }) => (releaseId === failed ? [] : (releaseId ?? [])));
    const release = (goesBack ? others.at(-1) : undefined) ?? releaseOf(++this.releases);
    this.broken.delete(release);
    this.target(release);
    this.retry(true);
    this.settle(true);
    expect([this.row.status, this.row.current_release_id], JSON.stringify(this.row)).toEqual(["running", release]);
  }

  /** A wave's pods fit on no node for a while, and that is told each time. */
  starve(): void {
    for (let round = 0; round < 12; round += 1) {
      this.list();
      const isGating = this.rollouts.at(-1)?.rollout.status?.state === "Gating";
      this.operate(isGating ? (NEXT.Gating?.indexOf("Gating") ?? 0) : 0);
      this.report();
    }
  }

  /** What is installed is changed by others, and has no field of theirs any more the next time. */
  drift(): void {
    this.isDrifted = !this.isDrifted && this.rollouts.some(({ rollout }) => rollout.status?.state === "Succeeded");
  }

  /** One report, and what the agent makes of the answer. */
  report(isAnswered = true): void {
    const { record, row } = this;
    if (record === undefined || row.status === "deleted") return;
    const step = this.#next(record, undefined);
    const observed = { status: OBSERVED[record.status] ?? record.status };
    const ended = record.status === "deleting" ? ({ status: "deleted" } as const) : observed;
    const said = step.do === "report" ? step.report : { state: ended, operationId: null };
    const state: DeploymentState = { ...said.state, platform: "kubernetes", protocolVersion: 1 };
    const before = structuredClone(row.update_state);
    const verdict = judge(row, state, NOW, said.operationId);
    if (verdict.kind === "illegal") return;
    if (verdict.kind === "applied") {
      Object.assign(this.row, verdict.next, { retry_requested: verdict.retryRequested });
      if (state.runtimeMetadata !== undefined) this.metadata = state.runtimeMetadata;
      this.error = state.error ?? null;
      this.#judged(state, before);
      this.reached.add(this.row.status);
    }
    // The list that the answer has it ask for comes later: another act.
    if (isAnswered) this.#answered(record);
  }

  #answered(record: ReleaseRecord): void {
    const { status, current_release_id, desired_release_id, retry_requested: retryRequested } = this.row;
    const idOf = (releaseId: string | null) => (releaseId === null ? null : { releaseId });
    const current: DeploymentState = {
      ...{ status, platform: "kubernetes", protocolVersion: 1, retryRequested },
      ...{ currentRelease: idOf(current_release_id), targetRelease: idOf(desired_release_id) },
      ...{ runtimeMetadata: this.metadata, error: this.error },
    };
    this.record = afterAnswer(record, current);
    const step = this.#next(this.record, { releaseId: desired_release_id ?? current_release_id });
    if (step.do !== "create") return;
    const { rolloutId, action, releaseId } = step.wish;
    if (this.deleteAction === "detach") expect(action).not.toBe("delete");
    expect(this.rollouts.map(({ rollout }) => rollout.spec.rolloutId)).not.toContain(rolloutId);
    // The operator lets a newer one win, unless the other one has begun: that one ends first.
    const last = this.rollouts.at(-1);
    if (last && ["none", "Planning", "AwaitingApproval", "Queued"].includes(last.rollout.status?.state ?? "none")) {
      last.rollout = { ...last.rollout, status: { ...last.rollout.status, state: "Superseded" } };
    }
    const creationTimestamp = new Date(NOW.getTime() + 1_000 * this.rollouts.length).toISOString();
    const metadata = { name: objectName(rolloutId), uid: "u", resourceVersion: "1", creationTimestamp };
    const spec = { rolloutId, deploymentId: ID, action, requestedAt: AT, deadline: AT };
    // Only what a person asked for again is made again.
    const ids = [rolloutId, ...this.rollouts.map(({ rollout }) => rollout.spec.rolloutId)];
    expect(ids.filter((each) => /-[0-9]{1,3}$/.test(each)).length).toBeLessThanOrEqual(this.retries);
    this.rollouts.push({ rollout: { apiVersion: "v1", kind: "Rollout", metadata, spec }, releaseId });
  }

  #next(record: ReleaseRecord, target: { readonly releaseId: string | null } | undefined) {
    return nextReleaseStep({
      ...{ record, target, isLeased: true, note: undefined, stack: undefined, tellsWords: true, members: [] },
      ...{ trouble: this.isDrifted ? DRIFT : undefined, offersMachines: this.offersMachines },
      rollouts: this.rollouts.map(({ rollout }) => rollout),
      releaseOf: ({ spec }) =>
        this.rollouts.find((each) => each.rollout.spec.rolloutId === spec.rolloutId)?.releaseId ?? undefined,
    });
  }

  /** Nothing is told to have been brought about that was not. */
  #judged(state: DeploymentState, before: UpdateState | null): void {
    const succeeded = this.rollouts.filter(({ rollout }) => rollout.status?.state === "Succeeded");
    if (state.currentRelease)
      expect(succeeded.map(({ releaseId }) => releaseId)).toContain(state.currentRelease.releaseId);
    const ended = this.row.update_state?.latest;
    if (ended?.status !== "succeeded" || before?.latest?.id === ended.id) return;
    expect(succeeded.some(({ rollout }) => rollout.spec.rolloutId.startsWith(ended.id))).toBe(true);
  }

  get isSettled(): boolean {
    const { status, retry_requested, desired_release_id, current_release_id } = this.row;
    if (ENDED.includes(status)) return true;
    // Changed settings wait for a release that they could be applied with.
    const waitsForRelease = status === "update-pending" && desired_release_id === null && current_release_id === null;
    return waitsForRelease || (SETTLED.includes(status) && !retry_requested);
  }
}

type Act = (model: Model) => void;
const some = (weight: number, arbitrary: fc.Arbitrary<Act>) => ({ weight, arbitrary });
const act = fc.oneof(
  some(
    8,
    fc.constant((model) => model.report()),
  ),
  some(
    1,
    fc.constant((model) => model.report(false)),
  ),
  some(
    8,
    fc.nat(11).map((pick) => (model) => model.operate(pick)),
  ),
  some(
    4,
    fc.constant((model) => model.list()),
  ),
  some(
    3,
    fc.boolean().map((isWell) => (model) => model.settle(isWell)),
  ),
  some(
    2,
    fc.constant((model) => model.target(releaseOf(++model.releases))),
  ),
  some(
    1,
    fc.constant((model) => model.target()),
  ),
  some(
    2,
    fc.boolean().map((isAcquired) => (model) => model.retry(isAcquired)),
  ),
  some(
    2,
    fc.boolean().map((isAcquired) => (model) => model.retrySettled(isAcquired)),
  ),
  some(
    1,
    fc.boolean().map((goesBack) => (model) => model.mend(goesBack)),
  ),
  some(
    2,
    fc.constant((model) => model.drift()),
  ),
  some(
    1,
    fc.constant((model) => model.starve()),
  ),
  some(
    1,
    fc.constantFrom("cleanup" as const, "detach" as const).map((action) => (model) => model.delete(action)),
  ),
);

/** Each step is seen by the agent, and told. */
const steps = (...picks: readonly number[]): Act[] =>
  picks.flatMap((pick): Act[] => [(model) => model.list(), (model) => model.operate(pick), (model) => model.report()]);
const settled: Act = (model) => model.settle(true);
const cleanedUp: Act = (model) => model.delete("cleanup");

/** One to each status in which something has failed or waits: chance alone does not come to all of them in every run. */
const WAYS: Readonly<Partial<Record<DeploymentStatus, readonly Act[]>>> = {
  "preflights-failed": [(model) => model.report(), ...steps(0, 2)],
  "initial-setup-failed": [(model) => model.report(), ...steps(0, 1, 1)],
  "provisioning-failed": [(model) => model.report(), ...steps(0, 1, 0, 3)],
  "waiting-for-machines": [(model) => model.report(), ...steps(0, 1, 0, 0, 3, 3)],
  "refresh-failed": [settled, (model) => model.drift(), (model) => model.report()],
  "update-failed": [settled, (model) => model.target(releaseOf(1)), ...steps(0, 0, 2)],
  "delete-failed": [settled, cleanedUp, ...steps(0, 0, 2, 0)],
  "teardown-required": [settled, cleanedUp, settled],
  deleted: [settled, (model) => model.delete("detach"), settled],
};

test.each(Object.entries(WAYS))("comes to %s", (status, acts) => {
  const reached = new Set<DeploymentStatus>();
  const model = new Model("push", true, true, reached);
  model.list();
  for (const each of acts) each(model);
  expect([...reached]).toContain(status);
});

test("the platform never says more of a release than its rollouts have come to, and both come to rest", () => {
  const reached = new Set<DeploymentStatus>(["pending"]);
  fc.assert(
    fc.property(
      fc.constantFrom("push" as const, "pull" as const),
      fc.boolean(),
      fc.boolean(),
      fc.array(act, { maxLength: 40, size: "max" }),
      (kind, hasRelease, offersMachines, acts) => {
        const model = new Model(kind, hasRelease, offersMachines, reached);
        model.list();
        for (const each of acts) each(model);
        model.settle(true);
      },
    ),
    { numRuns: runs(500), examples: Object.values(WAYS).map((acts) => ["push", true, true, [...acts]]) },
  );
  // No agent says that a deployment is beyond help, or that what a person has to take away could not be taken away.
  const others: readonly DeploymentStatus[] = ["error", "teardown-failed"];
  expect([...reached].sort()).toEqual(DEPLOYMENT_STATUSES.filter((each) => !others.includes(each)).toSorted());
});
