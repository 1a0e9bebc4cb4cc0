import { LINGERS } from "./kubelet.ts";
import { daemon, hasCondition, image, status, workload } from "./objects.ts";
import type { Scene } from "./stage.ts";

const scaled = (replicas: number) => ({ spec: { replicas } });
const strategy = (partition: number) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } });
const onDelete = { updateStrategy: { type: "OnDelete" } };

export const statefulSets: readonly Scene[] = [
  {
    name: "sts-life",
    async play(stage) {
      await stage.make("StatefulSet", "db", workload(3, "ready", { serviceName: "db" }));
      await stage.until("StatefulSet", "db", status("readyReplicas", 3));
      await stage.mark("ready");
      await stage.change("StatefulSet", "db", image("ready:2"));
      await stage.until("StatefulSet", "db", ({ status: it }) => it?.currentRevision === it?.updateRevision);
      await stage.until("StatefulSet", "db", status("readyReplicas", 3));
      await stage.mark("updated");
      await stage.change("StatefulSet", "db", scaled(5));
      await stage.until("StatefulSet", "db", status("readyReplicas", 5));
      await stage.change("StatefulSet", "db", scaled(2));
      await stage.until("StatefulSet", "db", status("replicas", 2));
      await stage.mark("scaled");
      await stage.report(stage.standing, "crash");
      await stage.until("StatefulSet", "db", status("readyReplicas", 1));
      await stage.mark("one-crashes");
      await stage.change("StatefulSet", "db", scaled(0));
      await stage.until("StatefulSet", "db", status("replicas", 0));
      await stage.mark("stopped");
      await stage.change("StatefulSet", "db", { metadata: { finalizers: ["example.test/hold"] } });
      await stage.remove("StatefulSet", "db");
      await stage.until("StatefulSet", "db", ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await stage.mark("deleting");
    },
  },
  {
    name: "sts-partition",
    async play(stage) {
      await stage.make("StatefulSet", "db", workload(3, "ready", { serviceName: "db", ...strategy(2) }));
      await stage.until("StatefulSet", "db", status("readyReplicas", 3));
      await stage.change("StatefulSet", "db", image("ready:2"));
      await stage.until(
        "StatefulSet",
        "db",
        (it) => status("updatedReplicas", 1)(it) && status("readyReplicas", 3)(it),
      );
      await stage.mark("complete");
      await stage.change("StatefulSet", "db", { spec: strategy(0) });
      await stage.until("StatefulSet", "db", status("updatedReplicas", 3));
    },
  },
  {
    name: "sts-ordinals",
    async play(stage) {
      const spec = { serviceName: "db", ...strategy(2), ordinals: { start: 5 }, podManagementPolicy: "Parallel" };
      await stage.make("StatefulSet", "db", workload(3, "ready", spec));
      await stage.until("StatefulSet", "db", status("readyReplicas", 3));
      await stage.change("StatefulSet", "db", image("ready:2"));
      await stage.until(
        "StatefulSet",
        "db",
        (it) => status("updatedReplicas", 1)(it) && status("readyReplicas", 3)(it),
      );
      await stage.mark("partitioned");
    },
  },
  {
    name: "sts-on-delete",
    async play(stage) {
      await stage.make("StatefulSet", "db", workload(2, "ready", { serviceName: "db", ...onDelete }));
      await stage.until("StatefulSet", "db", status("readyReplicas", 2));
      await stage.change("StatefulSet", "db", image("ready:2"));
      await stage.until("StatefulSet", "db", ({ status: it }) => it?.currentRevision !== it?.updateRevision);
      await stage.mark("waits-for-deletion");
      await stage.remove("Pod", "db-0");
      await stage.until(
        "StatefulSet",
        "db",
        (it) => status("updatedReplicas", 1)(it) && status("readyReplicas", 2)(it),
      );
      await stage.mark("half");
    },
  },
  {
    name: "sts-stuck",
    async play(stage) {
      await stage.make("StatefulSet", "db", workload(3, "ready", { serviceName: "db" }));
      await stage.until("StatefulSet", "db", status("readyReplicas", 3));
      await stage.change("StatefulSet", "db", image("crash"));
      await stage.until(
        "StatefulSet",
        "db",
        (it) => status("updatedReplicas", 1)(it) && status("readyReplicas", 2)(it),
      );
      await stage.untilPods(1, hasCondition("Ready", "False"));
      await stage.mark("update-crashes");
    },
  },
  {
    name: "sts-none-ready",
    async play(stage) {
      await stage.make("StatefulSet", "db", workload(3, "pull-back-off", { serviceName: "db" }));
      await stage.untilPods(1, hasCondition("Ready", "False"));
      await stage.mark("first-pulls");
    },
  },
  {
    name: "sts-starting",
    async play(stage) {
      const spec = { serviceName: "db", podManagementPolicy: "Parallel" };
      await stage.make("StatefulSet", "db", workload(2, "starting", spec));
      await stage.until("StatefulSet", "db", status("replicas", 2));
      await stage.mark("starting");
    },
  },
];

export const daemonSets: readonly Scene[] = [
  {
    name: "ds-life",
    async play(stage) {
      await stage.labelNode("node-1", { life: "yes" });
      await stage.labelNode("node-2", { life: "yes" });
      await stage.make("DaemonSet", "log", daemon("ready", "life"));
      await stage.until("DaemonSet", "log", status("numberReady", 2));
      await stage.mark("ready");
      await stage.addNode("node-life", { life: "yes" });
      await stage.until("DaemonSet", "log", status("numberReady", 3));
      await stage.change("DaemonSet", "log", image("ready:2"));
      await stage.until(
        "DaemonSet",
        "log",
        (it) => status("updatedNumberScheduled", 3)(it) && status("numberReady", 3)(it),
      );
      await stage.mark("updated");
      await stage.report(stage.standing, "crash");
      await stage.until("DaemonSet", "log", status("numberReady", 2));
      await stage.mark("one-crashes");
      for (const node of ["node-1", "node-2", "node-life"]) await stage.labelNode(node, { life: null });
      await stage.until("DaemonSet", "log", status("desiredNumberScheduled", 0));
      await stage.untilPods(0);
      await stage.mark("no-node");
      await stage.change("DaemonSet", "log", { metadata: { finalizers: ["example.test/hold"] } });
      await stage.remove("DaemonSet", "log");
      await stage.until("DaemonSet", "log", ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await stage.mark("deleting");
    },
  },
  {
    name: "ds-on-delete",
    async play(stage) {
      await stage.labelNode("node-1", { ondelete: "yes" });
      await stage.labelNode("node-2", { ondelete: "yes" });
      await stage.make("DaemonSet", "log", daemon("ready", "ondelete", onDelete));
      await stage.until("DaemonSet", "log", status("numberReady", 2));
      await stage.change("DaemonSet", "log", image("ready:2"));
      await stage.until("DaemonSet", "log", status("updatedNumberScheduled", 0));
      await stage.mark("waits-for-deletion");
    },
  },
  {
    name: "ds-stuck",
    async play(stage) {
      for (const node of ["node-1", "node-2", "node-3"]) await stage.labelNode(node, { stuck: "yes" });
      await stage.make("DaemonSet", "log", daemon("ready", "stuck"));
      await stage.until("DaemonSet", "log", status("numberReady", 3));
      await stage.change("DaemonSet", "log", image("crash"));
      await stage.until(
        "DaemonSet",
        "log",
        (it) => status("updatedNumberScheduled", 1)(it) && status("numberReady", 2)(it),
      );
      await stage.untilPods(1, hasCondition("Ready", "False"));
      await stage.mark("update-crashes");
    },
  },
  {
    name: "ds-misscheduled",
    async play(stage) {
      await stage.labelNode("node-1", { mis: "yes" });
      await stage.labelNode("node-2", { mis: "yes" });
      await stage.make("DaemonSet", "log", daemon("ready", "mis", {}, { [LINGERS]: "yes" }));
      await stage.until("DaemonSet", "log", status("numberReady", 2));
      await stage.labelNode("node-2", { mis: null });
      await stage.until("DaemonSet", "log", status("numberMisscheduled", 1));
      await stage.mark("one");
    },
  },
  {
    name: "ds-starting",
    async play(stage) {
      await stage.labelNode("node-1", { start: "yes" });
      await stage.labelNode("node-2", { start: "yes" });
      await stage.make("DaemonSet", "log", daemon("starting", "start"));
      await stage.until("DaemonSet", "log", status("currentNumberScheduled", 2));
      await stage.mark("starting");
    },
  },
  {
    name: "ds-quota",
    async play(stage) {
      await stage.labelNode("node-1", { quota: "yes" });
      await stage.labelNode("node-2", { quota: "yes" });
      await stage.quota(1);
      await stage.make("DaemonSet", "log", daemon("ready", "quota"));
      await stage.until(
        "DaemonSet",
        "log",
        (it) => status("numberReady", 1)(it) && status("currentNumberScheduled", 1)(it),
      );
      await stage.mark("one-of-two");
    },
  },
  {
    name: "ds-completes",
    async play(stage) {
      await stage.labelNode("node-1", { completes: "yes" });
      await stage.make("DaemonSet", "log", daemon("ready", "completes", {}, { [LINGERS]: "yes" }));
      await stage.until("DaemonSet", "log", status("numberReady", 1));
      await stage.labelNode("node-1", { completes: null });
      await stage.untilPods(1, ({ metadata }) => metadata.deletionTimestamp !== undefined);
      await stage.report(stage.pods[0], "complete");
      await stage.until("DaemonSet", "log", status("desiredNumberScheduled", 0));
      await stage.mark("succeeded-stays");
    },
  },
];
