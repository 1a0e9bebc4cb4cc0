import { describe, expect, test } from "vitest";
import { MAX_MESSAGE } from "../../../src/kube/workload-state/message.ts";
import type { Health, Lifecycle } from "../../../src/kube/workload-state/words.ts";
import type { RecordedKind } from "./record/world.ts";
import { allAlone, stateAt } from "./states.ts";

// The rules by kind, each on what the API server and its controllers said of a real object.

const MINUTE = 60_000;
/** A row: what is seen, at which step, how long after it was recorded. */
type Row = readonly [what: string, step: string, lifecycle: Lifecycle, health: Health, later?: number];

function table(kind: RecordedKind, rows: readonly Row[]): void {
  const cases = rows.map(([what, step, lifecycle, health, later = 0]) => ({ what, step, lifecycle, health, later }));
  test.each(cases)("$what", ({ step, lifecycle, health, later }) => {
    expect(stateAt(step, kind, later)).toMatchObject({ lifecycle, health });
  });
}

describe("a Deployment is", () => {
  table("Deployment", [
    ["being deleted, and its health is told all the same", "deploy-life/deleting", "deleting", "degraded"],
    ["failed past its deadline, though it is not updated", "deploy-stuck/past-deadline", "failed", "unhealthy"],
    ["failed by a quota with some Pods", "deploy-quota/two-of-three", "failed", "unhealthy"],
    ["failed by a quota with no Pod", "deploy-no-quota/none", "failed", "unhealthy"],
    ["stopped at nothing", "deploy-zero/stopped", "stopped", "healthy"],
    ["stopped at nothing after a rollout that failed", "deploy-stuck/to-nothing", "stopped", "healthy"],
    ["stopped at nothing after a quota refused", "deploy-quota/to-nothing", "stopped", "healthy"],
    ["updating before its deadline", "deploy-stuck/before-deadline", "updating", "degraded"],
    ["updating while it is paused half way", "deploy-paused/half", "updating", "healthy"],
    ["paused and complete", "deploy-paused/complete", "running", "healthy"],
    ["created, and its Pods start", "deploy-no-deadline/waits", "creating", "unknown"],
    ["without a ready Pod after a minute", "deploy-no-deadline/waits", "running", "unhealthy", MINUTE],
    ["ready", "deploy-life/ready", "running", "healthy"],
    ["rolled out", "deploy-life/updated", "running", "healthy"],
    ["scaled", "deploy-life/scaled", "running", "healthy"],
    ["one Pod short", "deploy-life/one-crashes", "running", "degraded"],
    ["taken back: Pods of the ReplicaSet that goes do not count", "deploy-back/back", "running", "healthy"],
    ["out of memory a moment ago, ready again", "deploy-oom-once/ready", "running", "degraded"],
    ["out of memory eleven minutes ago", "deploy-oom-once/ready", "running", "healthy", 11 * MINUTE],
    ["evicted and replaced a moment ago", "deploy-evicted/replaced", "running", "degraded"],
    ["evicted and replaced eleven minutes ago", "deploy-evicted/replaced", "running", "healthy", 11 * MINUTE],
    ["one Pod less, which ends in time", "deploy-lingers/one-terminates", "running", "healthy"],
    ["one Pod less, which does not end", "deploy-lingers/one-terminates", "running", "degraded", 2 * MINUTE],
    ["not scheduled", "deploy-unschedulable/pending", "creating", "degraded"],
    ["not scheduled after a minute", "deploy-unschedulable/pending", "running", "unhealthy", MINUTE],
    ["crashing", "deploy-crash/stuck", "creating", "degraded"],
    ["without its image", "deploy-pull-back-off/stuck", "creating", "degraded"],
    ["without its image for the first time", "deploy-pull-error/stuck", "creating", "degraded"],
    ["of an image with a bad name", "deploy-bad-name/stuck", "creating", "degraded"],
    ["without its configuration", "deploy-config-error/stuck", "creating", "degraded"],
    ["of a container that cannot be made", "deploy-create-error/stuck", "creating", "degraded"],
    ["of a container that cannot be run", "deploy-run-error/stuck", "creating", "degraded"],
  ]);
});

describe("a ReplicaSet is", () => {
  table("ReplicaSet", [
    ["being deleted", "rs-life/deleting", "deleting", "healthy"],
    ["failed by a quota", "rs-quota/one-of-two", "failed", "unhealthy"],
    ["stopped at nothing", "rs-life/stopped", "stopped", "healthy"],
    ["created, and its Pods start", "rs-unready/waits", "creating", "unknown"],
    ["without a ready Pod after a minute", "rs-unready/waits", "running", "unhealthy", MINUTE],
    ["ready", "rs-life/ready", "running", "healthy"],
    ["one Pod short", "rs-life/one-crashes", "running", "degraded"],
  ]);
});

describe("a StatefulSet is", () => {
  table("StatefulSet", [
    ["being deleted", "sts-life/deleting", "deleting", "healthy"],
    ["updating while its new Pod crashes", "sts-stuck/update-crashes", "updating", "degraded"],
    ["failed when it has crashed for ten minutes", "sts-stuck/update-crashes", "failed", "unhealthy", 11 * MINUTE],
    ["stopped at nothing", "sts-life/stopped", "stopped", "healthy"],
    ["complete with a partition", "sts-partition/complete", "running", "healthy"],
    ["complete with a partition and other ordinals", "sts-ordinals/partitioned", "running", "healthy"],
    ["complete when its Pods wait for their deletion", "sts-on-delete/waits-for-deletion", "running", "healthy"],
    ["complete when half of them were deleted", "sts-on-delete/half", "running", "healthy"],
    ["making its first Pod, which has no image", "sts-none-ready/first-pulls", "scaling", "degraded"],
    ["without a ready Pod after a minute", "sts-none-ready/first-pulls", "scaling", "unhealthy", MINUTE],
    ["created, and its Pods start", "sts-starting/starting", "creating", "unknown"],
    ["ready", "sts-life/ready", "running", "healthy"],
    ["rolled out", "sts-life/updated", "running", "healthy"],
    ["scaled", "sts-life/scaled", "running", "healthy"],
    ["one Pod short", "sts-life/one-crashes", "running", "degraded"],
  ]);
});

describe("a DaemonSet is", () => {
  table("DaemonSet", [
    ["being deleted", "ds-life/deleting", "deleting", "healthy"],
    ["updating while its new Pod crashes", "ds-stuck/update-crashes", "updating", "degraded"],
    ["failed when it has crashed for ten minutes", "ds-stuck/update-crashes", "failed", "unhealthy", 11 * MINUTE],
    ["stopped without a node", "ds-life/no-node", "stopped", "healthy"],
    ["stopped when its Pod has ended on a node that is gone", "ds-completes/succeeded-stays", "stopped", "healthy"],
    ["complete when its Pods wait for their deletion", "ds-on-delete/waits-for-deletion", "running", "healthy"],
    ["created, and its Pods start", "ds-starting/starting", "creating", "unknown"],
    ["without a ready Pod after a minute", "ds-starting/starting", "running", "unhealthy", MINUTE],
    ["ready", "ds-life/ready", "running", "healthy"],
    ["rolled out", "ds-life/updated", "running", "healthy"],
    ["one Pod short", "ds-life/one-crashes", "running", "degraded"],
    ["scaling when a node has no Pod yet, which is no fault", "ds-quota/one-of-two", "scaling", "healthy"],
    ["on a node that it is not for", "ds-misscheduled/one", "running", "degraded"],
  ]);
});

describe("a Job is", () => {
  table("Job", [
    ["being deleted", "job-suspended/deleting", "deleting", "healthy"],
    ["failed", "job-fails/failed", "failed", "unhealthy"],
    ["failed at its deadline", "job-deadline/failed", "failed", "unhealthy"],
    ["failed in its indexes", "job-indexed/failed", "failed", "unhealthy"],
    ["suspended", "job-suspended/suspended", "stopped", "healthy"],
    ["complete, though its Pods are not ready", "job-life/complete", "stopped", "healthy"],
    ["active", "job-suspended/active", "creating", "healthy"],
    ["active after a minute", "job-suspended/active", "running", "healthy", MINUTE],
    ["tried again", "job-retries/one-failed", "creating", "healthy"],
    ["without its image", "job-pulls/stuck", "creating", "degraded"],
  ]);
});

describe("a CronJob is", () => {
  table("CronJob", [
    ["being deleted", "cron-life/deleting", "deleting", "healthy"],
    ["failed after two runs that failed", "cron-fails/twice", "failed", "unhealthy"],
    ["healthy after one", "cron-fails/once", "running", "healthy"],
    ["suspended", "cron-life/suspended", "stopped", "healthy"],
    ["waiting for its time", "cron-life/new", "running", "healthy"],
    ["done for now", "cron-life/ran", "running", "healthy"],
    ["in a run that lasts", "cron-runs/active", "running", "healthy", MINUTE],
  ]);
});

describe("a Pod of no controller is", () => {
  table("Pod", [
    ["being deleted", "pod-deleting/deleting", "deleting", "healthy"],
    ["being deleted for too long", "pod-deleting/deleting", "deleting", "degraded", 2 * MINUTE],
    ["failed", "pod-fail/fail", "failed", "unhealthy"],
    ["evicted", "pod-evicted/evicted", "failed", "unhealthy"],
    ["done", "pod-complete/complete", "stopped", "healthy"],
    ["starting", "pod-starting/starting", "creating", "unknown"],
    ["starting for a minute", "pod-starting/starting", "running", "unhealthy", MINUTE],
    ["seen by no kubelet", "pod-silent/silent", "creating", "unknown"],
    ["ready", "pod-ready/ready", "running", "healthy"],
    ["running and not ready", "pod-unready/unready", "running", "unhealthy", MINUTE],
    ["held by a readiness gate", "pod-gated/gated", "running", "unhealthy", MINUTE],
    ["crashing", "pod-crash/crash", "running", "unhealthy", MINUTE],
    ["out of memory a moment ago, ready again", "pod-oom-once/oom-once", "running", "degraded"],
    ["without its image", "pod-pull-back-off/pull-back-off", "creating", "degraded"],
    ["not scheduled", "pod-unschedulable/pending", "creating", "degraded"],
  ]);
});

describe("a PersistentVolumeClaim is", () => {
  table("PersistentVolumeClaim", [
    ["being deleted", "claim-life/deleting", "deleting", "unhealthy"],
    ["lost", "claim-life/lost", "failed", "unhealthy"],
    ["not bound", "claim-life/pending", "creating", "healthy", 24 * 60 * MINUTE],
    ["bound", "claim-life/bound", "running", "healthy"],
  ]);
});

describe("a PodDisruptionBudget is", () => {
  table("PodDisruptionBudget", [
    ["being deleted", "budget-life/deleting", "deleting", "degraded"],
    ["without Pods", "budget-life/no-pods", "running", "healthy"],
    ["kept", "budget-life/one-allowed", "running", "healthy"],
    ["kept, and lets no Pod go", "budget-life/none-allowed", "running", "healthy"],
    ["broken", "budget-life/broken", "running", "degraded"],
  ]);
});

/** States that last for a moment: they were seen between two steps. */
describe("on the way", () => {
  const seen = (kind: string, lifecycle: Lifecycle, health: Health) =>
    allAlone().filter(
      ({ line, state }) => line.object.kind === kind && state.lifecycle === lifecycle && state.health === health,
    );

  test.each<[string, Lifecycle, Health, string]>([
    ["Deployment", "updating", "unknown", "not observed yet"],
    ["ReplicaSet", "updating", "unknown", "not observed yet"],
    ["StatefulSet", "updating", "unknown", "not observed yet"],
    ["DaemonSet", "updating", "unknown", "not observed yet"],
    ["Job", "creating", "unknown", "not observed yet"],
    ["Deployment", "updating", "healthy", "changed when all was ready"],
    ["StatefulSet", "updating", "healthy", "changed when all was ready"],
    ["DaemonSet", "updating", "healthy", "changed when all was ready"],
    ["Deployment", "scaling", "healthy", "of another size than it shall be"],
    ["StatefulSet", "scaling", "healthy", "of another size than it shall be"],
    ["ReplicaSet", "scaling", "unknown", "of another size than it shall be"],
    ["CronJob", "creating", "healthy", "in its first run"],
  ])("a %s is %s and %s when it is %s", (kind, lifecycle, health) => {
    expect(seen(kind, lifecycle, health).length).toBeGreaterThan(0);
  });
});

describe("a message says", () => {
  const message = (step: string, kind: RecordedKind, later = 0) =>
    stateAt(step, kind, later).message?.replaceAll(/\b(web|once|log)-[a-z0-9-]+/g, "$1-…");

  test.each<[string, string, RecordedKind, number, string | undefined]>([
    ["nothing of what is well", "deploy-life/ready", "Deployment", 0, undefined],
    [
      "why a rollout failed before how many are ready",
      "deploy-stuck/past-deadline",
      "Deployment",
      0,
      "rollout 2/4 updated, deadline of 6 s exceeded; 3 of 4 ready; web-…: CrashLoopBackOff (Error, exit 1, 4 restarts); web-…: CrashLoopBackOff (Error, exit 1, 4 restarts)",
    ],
    ["who refuses the Pods", "deploy-no-quota/none", "Deployment", 0, "ReplicaFailure (FailedCreate); 0 of 3 ready"],
    ["that it is paused", "deploy-paused/half", "Deployment", 0, "paused"],
    [
      "how a container ended",
      "deploy-oom/stuck",
      "Deployment",
      2 * MINUTE,
      "0 of 1 ready; web-…: CrashLoopBackOff (OOMKilled, exit 137, 14 restarts); rollout 1/1 updated, SECONDS of 600 s",
    ],
    ["how far a partition lets it go", "sts-partition/complete", "StatefulSet", 0, "rollout 1/1 updated, partition 2"],
    ["that its Pods wait for their deletion", "sts-on-delete/half", "StatefulSet", 0, "rollout 1/2 updated, OnDelete"],
    ["where it has no business", "ds-misscheduled/one", "DaemonSet", 0, "1 misscheduled"],
    ["why a Job failed", "job-deadline/failed", "Job", 0, "Job failed (DeadlineExceeded)"],
    ["how many tries are left", "job-retries/one-failed", "Job", 0, "1 failure of at most 6"],
    ["how many runs failed", "cron-fails/twice", "CronJob", 0, "last 2 runs failed"],
    ["that a volume is gone", "claim-life/lost", "PersistentVolumeClaim", 0, "volume lost"],
    ["that a drain has to wait", "budget-life/none-allowed", "PodDisruptionBudget", 0, "no disruption allowed"],
    ["which gates are open", "pod-gated/gated", "Pod", 0, "0 of 1 ready; 1 readiness gate not passed"],
  ])("%s", (_, step, kind, later, expected) => {
    expect(message(step, kind, later)?.replace(/\d+ s of 600 s/, "SECONDS of 600 s")).toBe(expected);
  });

  test("since when an update stands still", () => {
    const { message: text } = stateAt("sts-stuck/update-crashes", "StatefulSet", 11 * MINUTE);
    expect(text).toMatch(/^update stopped by db-2, CrashLoopBackOff for 6\d\d s; 2 of 3 ready; db-2: CrashLoopBackOff/);
  });

  test("that a rollout uses up its deadline, from four fifths of it on", () => {
    const at = (ms: number) => stateAt("deploy-lingers/old-and-new", "Deployment", ms);
    expect(at(470_000)).toMatchObject({ lifecycle: "updating" });
    expect(at(470_000).message).toMatch(/rollout \d\/1 updated, 4[67]\d s of 600 s$/);
    expect(at(490_000)).toMatchObject({ lifecycle: "updating", health: "degraded" });
  });

  const PART = [
    "(rollout \\d+/\\d+ updated(, (\\d+ s of \\d+ s|deadline of \\d+ s exceeded|no ReplicaSet made|OnDelete|partition \\d+))?)",
    "(\\d+ of \\d+ (ready|healthy))",
    "([a-z0-9.-]+: [A-Za-z]+( \\(([A-Za-z]+, )?(exit \\d+)?(, )?(\\d+ restarts?)?(\\d+ s late)?\\))?)",
    "(ReplicaFailure \\(Failed(Create|Delete)\\))",
    "(and \\d+ more( Pods?)?)",
    "(Job failed \\([A-Za-z]+\\)|Pod failed|volume lost|not bound|no disruption allowed|no status yet|not started yet)",
    "(paused|suspended|\\d+ misscheduled|last run failed|last \\d+ runs failed|\\d+ failures? of at most \\d+)",
    "(\\d+ readiness gates? not passed)",
  ].join("|");
  const GRAMMAR = new RegExp(`^(${PART})(; (${PART}))*$`);

  test("only words of its grammar, of all recorded objects", () => {
    const all = allAlone().flatMap(({ state }) => (state.message === undefined ? [] : [state.message]));
    expect(all.filter((text) => !GRAMMAR.test(text))).toEqual([]);
    expect(Math.max(...all.map((text) => text.length))).toBeLessThanOrEqual(MAX_MESSAGE);
  });
});
