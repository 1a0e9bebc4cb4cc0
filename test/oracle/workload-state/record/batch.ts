import { hasCondition, job, pod, status } from "./objects.ts";
import type { Scene, Stage } from "./stage.ts";

const hold = { finalizers: ["example.test/hold"] };
const cron = (word: string) => ({
  spec: {
    schedule: "* * * * *",
    failedJobsHistoryLimit: 3,
    jobTemplate: job(word, { backoffLimit: 0 }),
  },
});

const deleted =
  (kind: "Job" | "CronJob" | "Pod" | "PersistentVolumeClaim" | "PodDisruptionBudget") =>
  async (stage: Stage, name: string) => {
    await stage.remove(kind, name);
    await stage.until(kind, name, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await stage.mark("deleting");
  };

export const batch: readonly Scene[] = [
  {
    name: "job-life",
    async play(stage) {
      await stage.make("Job", "once", job("complete", { completions: 2, parallelism: 2 }));
      await stage.until("Job", "once", hasCondition("Complete", "True"));
      await stage.mark("complete");
    },
  },
  {
    name: "job-fails",
    async play(stage) {
      await stage.make("Job", "once", job("fail", { backoffLimit: 0 }));
      await stage.until("Job", "once", hasCondition("Failed", "True"));
      await stage.mark("failed");
    },
  },
  {
    name: "job-deadline",
    async play(stage) {
      await stage.make("Job", "once", job("unready", { activeDeadlineSeconds: 3 }));
      await stage.until("Job", "once", hasCondition("Failed", "True", "DeadlineExceeded"));
      await stage.mark("failed");
    },
  },
  {
    name: "job-suspended",
    async play(stage) {
      await stage.make("Job", "once", job("ready", { suspend: true }), hold);
      await stage.until("Job", "once", hasCondition("Suspended", "True"));
      await stage.mark("suspended");
      await stage.change("Job", "once", { spec: { suspend: false } });
      await stage.until("Job", "once", status("ready", 1));
      await stage.mark("active");
      await deleted("Job")(stage, "once");
    },
  },
  {
    name: "job-retries",
    async play(stage) {
      await stage.make("Job", "once", job("fail", { backoffLimit: 6 }));
      await stage.until("Job", "once", status("failed", 1));
      await stage.mark("one-failed");
    },
  },
  {
    name: "job-pulls",
    async play(stage) {
      await stage.make("Job", "once", job("pull-back-off"));
      await stage.untilPods(1, hasCondition("Ready", "False"));
      await stage.mark("stuck");
    },
  },
  {
    name: "job-indexed",
    async play(stage) {
      const spec = { completionMode: "Indexed", completions: 2, parallelism: 2, backoffLimitPerIndex: 0 };
      await stage.make("Job", "once", job("fail", spec));
      await stage.until("Job", "once", hasCondition("Failed", "True"));
      await stage.mark("failed");
    },
  },
  {
    name: "cron-life",
    async play(stage) {
      await stage.make("CronJob", "each", cron("complete"), hold);
      await stage.mark("new");
      await stage.until("CronJob", "each", ({ status: it }) => it?.lastSuccessfulTime !== undefined);
      await stage.mark("ran");
      await stage.change("CronJob", "each", { spec: { suspend: true } });
      await stage.mark("suspended");
      await deleted("CronJob")(stage, "each");
    },
  },
  {
    name: "cron-fails",
    async play(stage) {
      await stage.make("CronJob", "each", cron("fail"));
      const failed = (count: number) =>
        stage.until("CronJob", "each", () => stage.list("Job").filter(hasCondition("Failed", "True")).length === count);
      await failed(1);
      await stage.mark("once");
      await failed(2);
      await stage.mark("twice");
    },
  },
  {
    name: "cron-runs",
    async play(stage) {
      await stage.make("CronJob", "each", cron("ready"));
      await stage.until("CronJob", "each", ({ status: it }) => Array.isArray(it?.active) && it.active.length === 1);
      await stage.mark("active");
    },
  },
];

const barePods: readonly Scene[] = [
  "ready",
  "unready",
  "crash",
  "oom-once",
  "pull-back-off",
  "starting",
  "complete",
  "fail",
  "evicted",
  "silent",
].map((word) => ({
  name: `pod-${word}`,
  async play(stage) {
    await stage.make("Pod", "one", pod(word));
    await stage.untilPods(1, ({ spec, status: it }) =>
      word === "silent" ? spec?.nodeName !== undefined : it?.startTime !== undefined,
    );
    await stage.mark(word);
  },
}));

const claim = (stage: Stage, more: object = {}) => ({
  spec: {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "",
    volumeName: `${stage.namespace}-volume`,
    resources: { requests: { storage: "1Gi" } },
    ...more,
  },
});
const volumes = {
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  namespaced: false,
} as const;

export const others: readonly Scene[] = [
  ...barePods,
  {
    name: "pod-unschedulable",
    async play(stage) {
      await stage.make("Pod", "one", pod("ready", { nodeSelector: { never: "yes" } }));
      await stage.untilPods(1, hasCondition("PodScheduled", "False", "Unschedulable"));
      await stage.mark("pending");
    },
  },
  {
    name: "pod-gated",
    async play(stage) {
      await stage.make("Pod", "one", pod("unready", { readinessGates: [{ conditionType: "example.test/traffic" }] }));
      await stage.untilPods(1, hasCondition("Ready", "False"));
      await stage.mark("gated");
    },
  },
  {
    name: "pod-deleting",
    async play(stage) {
      await stage.make("Pod", "one", pod("ready"), hold);
      await stage.untilPods(1, hasCondition("Ready", "True"));
      await deleted("Pod")(stage, "one");
    },
  },
  {
    name: "claim-life",
    async play(stage) {
      await stage.make("PersistentVolumeClaim", "data", claim(stage), hold);
      await stage.mark("pending");
      const name = `${stage.namespace}-volume`;
      await stage.extra(volumes, {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          hostPath: { path: "/none" },
          persistentVolumeReclaimPolicy: "Retain",
        },
      });
      await stage.until("PersistentVolumeClaim", "data", ({ status: it }) => it?.phase === "Bound");
      await stage.mark("bound");
      await stage.drop(volumes, name);
      await stage.free(volumes, name);
      await stage.until("PersistentVolumeClaim", "data", ({ status: it }) => it?.phase === "Lost");
      await stage.mark("lost");
      await deleted("PersistentVolumeClaim")(stage, "data");
    },
  },
  {
    name: "budget-life",
    async play(stage) {
      const selector = { matchLabels: { app: "web" } };
      await stage.make("PodDisruptionBudget", "web", { spec: { minAvailable: 2, selector } }, hold);
      await stage.until("PodDisruptionBudget", "web", status("observedGeneration", 1));
      await stage.mark("no-pods");
      await stage.make("Deployment", "web", {
        spec: { replicas: 3, selector, template: pod("ready") },
      });
      await stage.until("PodDisruptionBudget", "web", status("disruptionsAllowed", 1));
      await stage.mark("one-allowed");
      await stage.report(stage.standing, "crash");
      await stage.until("PodDisruptionBudget", "web", status("currentHealthy", 2));
      await stage.mark("none-allowed");
      await stage.report(stage.pods.at(-1), "crash");
      await stage.until("PodDisruptionBudget", "web", status("currentHealthy", 1));
      await stage.mark("broken");
      await deleted("PodDisruptionBudget")(stage, "web");
    },
  },
];
