import { expect, test } from "vitest";
import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import { sizeLine, sizesOf } from "./sizes.ts";

const object = (apiVersion: string, kind: string, name: string, spec: object): { manifest: ReleaseManifest } => ({
  manifest: { apiVersion, kind, metadata: { name, namespace: "shop" }, spec },
});
const asking = (cpu: string, memory: string) => ({ name: "c", resources: { requests: { cpu, memory } } });
const template = (...containers: readonly object[]) => ({ spec: { containers } });
const line = (...objects: readonly { readonly manifest: ReleaseManifest }[]) => sizeLine(sizesOf(objects));

test("copies, runs and what an autoscaler may make of them are counted, with what they ask for", () => {
  const one = template(asking("250m", "512Mi"));
  expect(
    line(
      object("apps/v1", "Deployment", "web", { replicas: 2, template: one }),
      object("apps/v1", "Deployment", "idle", { replicas: 0, template: one }),
      object("apps/v1", "StatefulSet", "db", {
        template: one,
        volumeClaimTemplates: [{ spec: { resources: { requests: { storage: "10Gi" } } } }],
      }),
      object("autoscaling/v2", "HorizontalPodAutoscaler", "db", {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name: "db" },
        maxReplicas: 5,
      }),
      object("batch/v1", "Job", "few", { parallelism: 10, completions: 3, template: one }),
      object("batch/v1", "CronJob", "nightly", { jobTemplate: { spec: { parallelism: 4, template: one } } }),
      object("apps/v1", "DaemonSet", "logs", { template: template(asking("0.1", "1Gi")) }),
      object("v1", "PersistentVolumeClaim", "kept", { resources: { requests: { storage: "1.5Gi" } } }),
    ),
  ).toBe(
    "comes to 14 pods at most, which ask for cpu 3.5, memory 7Gi, storage 51.5Gi; and 1 pod on each node, which asks for cpu 0.1, memory 1Gi",
  );
});

test("of containers that run one after the other the largest counts; limits stand for requests, and a pod's own for all", () => {
  const pod = {
    containers: [asking("1", "1Gi"), { name: "d", resources: { limits: { cpu: "1" } } }],
    initContainers: [asking("4", "1Mi"), { ...asking("1", "1Mi"), restartPolicy: "Always" }],
  };
  const deployment = (spec: object) => object("apps/v1", "Deployment", "web", { template: { spec } });
  expect(line(deployment(pod))).toBe("comes to 1 pod at most, which asks for cpu 4, memory 1.1Gi");
  const turned = { ...pod, initContainers: pod.initContainers.toReversed() };
  expect(line(deployment(turned))).toBe("comes to 1 pod at most, which asks for cpu 5, memory 1.1Gi");
  const own = { ...pod, resources: { requests: { cpu: "2" } } };
  expect(line(deployment(own))).toBe("comes to 1 pod at most, which asks for cpu 2, memory 1.1Gi");
});

test("less than none makes no room for others, and of two autoscalers the larger counts", () => {
  const scaler = (name: string, maxReplicas: number) =>
    object("autoscaling/v2", "HorizontalPodAutoscaler", name, {
      ...{ scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas },
    });
  expect(
    line(
      object("apps/v1", "Deployment", "web", { replicas: 1, template: {} }),
      ...[scaler("a", 100), scaler("b", 1)],
      object("batch/v1", "Job", "none", { completions: -100_000, template: {} }),
      object("apps/v1", "StatefulSet", "db", { replicas: -50, template: {} }),
    ),
  ).toBe("comes to 100 pods at most");
});

test("without pods there is no line, and what is no number counts as the API server's default", () => {
  expect(line(object("v1", "Service", "web", {}))).toBeUndefined();
  expect(line(object("apps/v1", "Deployment", "web", { replicas: "3", template: {} }))).toBe("comes to 1 pod at most");
});
