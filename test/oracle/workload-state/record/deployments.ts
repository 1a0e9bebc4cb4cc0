import { LINGERS } from "./kubelet.ts";
import { hasCondition, image, status, workload } from "./objects.ts";
import type { Scene } from "./stage.ts";

const scaled = (replicas: number) => ({ spec: { replicas } });
const never = { nodeSelector: { never: "yes" } };

const stuckPods: readonly Scene[] = [
  "crash",
  "oom",
  "pull-back-off",
  "pull-error",
  "bad-name",
  "config-error",
  "create-error",
  "run-error",
].map((word) => ({
  name: `deploy-${word}`,
  async play(stage) {
    await stage.make("Deployment", "web", workload(1, word));
    await stage.untilPods(1, (pod) => hasCondition("Ready", "False")(pod));
    await stage.mark("stuck");
  },
}));

export const deployments: readonly Scene[] = [
  ...stuckPods,
  {
    name: "deploy-life",
    async play(stage) {
      await stage.make("Deployment", "web", workload(3, "ready"));
      await stage.until("Deployment", "web", status("readyReplicas", 3));
      await stage.mark("ready");
      await stage.change("Deployment", "web", image("ready:2"));
      await stage.until("Deployment", "web", (it) => status("updatedReplicas", 3)(it) && status("replicas", 3)(it));
      await stage.mark("updated");
      await stage.change("Deployment", "web", scaled(5));
      await stage.until("Deployment", "web", status("readyReplicas", 5));
      await stage.change("Deployment", "web", scaled(2));
      await stage.until("Deployment", "web", status("replicas", 2));
      await stage.mark("scaled");
      await stage.report(stage.standing, "crash");
      await stage.until("Deployment", "web", status("readyReplicas", 1));
      await stage.mark("one-crashes");
      await stage.change("Deployment", "web", { metadata: { finalizers: ["example.test/hold"] } });
      await stage.remove("Deployment", "web");
      await stage.until("Deployment", "web", ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await stage.mark("deleting");
    },
  },
  {
    name: "deploy-stuck",
    async play(stage) {
      const surge = { strategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } }, progressDeadlineSeconds: 6 };
      await stage.make("Deployment", "web", workload(4, "ready", surge));
      await stage.until("Deployment", "web", hasCondition("Progressing", "True", "NewReplicaSetAvailable"));
      await stage.change("Deployment", "web", image("crash"));
      await stage.until("Deployment", "web", status("updatedReplicas", 2));
      await stage.mark("before-deadline");
      await stage.until("Deployment", "web", hasCondition("Progressing", "False", "ProgressDeadlineExceeded"));
      await stage.mark("past-deadline");
      await stage.change("Deployment", "web", scaled(0));
      await stage.until("Deployment", "web", status("replicas", 0));
      await stage.mark("to-nothing");
    },
  },
  {
    name: "deploy-quota",
    async play(stage) {
      await stage.quota(2);
      await stage.make("Deployment", "web", workload(3, "ready"));
      await stage.until("Deployment", "web", hasCondition("ReplicaFailure", "True"));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.mark("two-of-three");
      await stage.change("Deployment", "web", scaled(0));
      await stage.until("Deployment", "web", status("replicas", 0));
      await stage.mark("to-nothing");
    },
  },
  {
    name: "deploy-no-quota",
    async play(stage) {
      await stage.quota(0);
      await stage.make("Deployment", "web", workload(3, "ready"));
      await stage.until("Deployment", "web", hasCondition("ReplicaFailure", "True"));
      await stage.mark("none");
    },
  },
  {
    name: "deploy-paused",
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "ready"));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.change("Deployment", "web", { spec: { paused: true } });
      await stage.until("Deployment", "web", hasCondition("Progressing", "Unknown", "DeploymentPaused"));
      await stage.mark("complete");
      await stage.change("Deployment", "web", image("ready:2"));
      await stage.until("Deployment", "web", status("updatedReplicas", 0));
      await stage.mark("half");
    },
  },
  {
    name: "deploy-zero",
    async play(stage) {
      await stage.make("Deployment", "web", workload(0, "ready"));
      await stage.until("Deployment", "web", status("observedGeneration", 1));
      await stage.mark("stopped");
      await stage.change("Deployment", "web", scaled(2));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
    },
  },
  {
    name: "deploy-recreate",
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "ready", { strategy: { type: "Recreate" } }));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.change("Deployment", "web", image("starting"));
      await stage.until("Deployment", "web", (it) => status("updatedReplicas", 2)(it) && status("replicas", 2)(it));
      await stage.mark("starting");
    },
  },
  {
    name: "deploy-unschedulable",
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "ready", {}, never));
      await stage.untilPods(2, hasCondition("PodScheduled", "False", "Unschedulable"));
      await stage.mark("pending");
    },
  },
  {
    name: "deploy-evicted",
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "ready"));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.report(stage.standing, "evicted");
      await stage.untilPods(3);
      await stage.untilPods(2, hasCondition("Ready", "True"));
      await stage.until("Deployment", "web", (it) => status("readyReplicas", 2)(it) && status("replicas", 2)(it));
      await stage.mark("replaced");
    },
  },
  {
    name: "deploy-oom-once",
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "oom-once"));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.mark("ready");
    },
  },
  {
    name: "deploy-no-deadline",
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "unready", { progressDeadlineSeconds: 2147483647 }));
      await stage.until("Deployment", "web", status("updatedReplicas", 2));
      await stage.mark("waits");
    },
  },
  {
    name: "deploy-lingers",
    async play(stage) {
      const template = workload(2, "ready") as { readonly spec: { readonly template: object } };
      const labels = { app: "web", [LINGERS]: "yes" };
      await stage.make("Deployment", "web", {
        spec: { ...template.spec, template: { ...template.spec.template, metadata: { labels } } },
      });
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.change("Deployment", "web", scaled(1));
      await stage.until("Deployment", "web", status("replicas", 1));
      await stage.mark("one-terminates");
      await stage.change("Deployment", "web", image("crash"));
      await stage.until("Deployment", "web", status("updatedReplicas", 1));
      await stage.mark("old-and-new");
    },
  },
  {
    name: "deploy-back",
    // A rollout that breaks and is taken back: the Pods that crash belong to a ReplicaSet that is going away.
    async play(stage) {
      await stage.make("Deployment", "web", workload(2, "ready"));
      await stage.until("Deployment", "web", status("readyReplicas", 2));
      await stage.change("Deployment", "web", image("crash"));
      await stage.untilPods(1, (pod) => hasCondition("Ready", "False")(pod));
      await stage.change("Deployment", "web", image("ready"));
      await stage.until("Deployment", "web", (it) => status("updatedReplicas", 2)(it) && status("replicas", 2)(it));
      await stage.mark("back");
    },
  },
];

export const replicaSets: readonly Scene[] = [
  {
    name: "rs-life",
    async play(stage) {
      await stage.make("ReplicaSet", "web", workload(2, "ready"));
      await stage.until("ReplicaSet", "web", status("readyReplicas", 2));
      await stage.mark("ready");
      await stage.change("ReplicaSet", "web", scaled(4));
      await stage.until("ReplicaSet", "web", status("readyReplicas", 4));
      await stage.report(stage.standing, "crash");
      await stage.until("ReplicaSet", "web", status("readyReplicas", 3));
      await stage.mark("one-crashes");
      await stage.change("ReplicaSet", "web", scaled(0));
      await stage.until("ReplicaSet", "web", status("replicas", 0));
      await stage.mark("stopped");
      await stage.change("ReplicaSet", "web", { metadata: { finalizers: ["example.test/hold"] } });
      await stage.remove("ReplicaSet", "web");
      await stage.until("ReplicaSet", "web", ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await stage.mark("deleting");
    },
  },
  {
    name: "rs-quota",
    async play(stage) {
      await stage.quota(1);
      await stage.make("ReplicaSet", "web", workload(2, "ready"));
      await stage.until("ReplicaSet", "web", hasCondition("ReplicaFailure", "True"));
      await stage.until("ReplicaSet", "web", status("readyReplicas", 1));
      await stage.mark("one-of-two");
    },
  },
  {
    name: "rs-unready",
    async play(stage) {
      await stage.make("ReplicaSet", "web", workload(2, "unready"));
      await stage.until("ReplicaSet", "web", status("replicas", 2));
      await stage.mark("waits");
    },
  },
];
