import type { Manifest } from "../../../lab/cluster/cluster.ts";

export const NAMESPACE = "shop";
export const WORKLOADS = [
  { kind: "Deployment", plural: "deployments" },
  { kind: "StatefulSet", plural: "statefulsets" },
  { kind: "DaemonSet", plural: "daemonsets" },
] as const;
export type WorkloadPlural = (typeof WORKLOADS)[number]["plural"];

const SPECIAL = {
  deployments: { replicas: 2, strategy: { type: "RollingUpdate" } },
  statefulsets: {
    replicas: 2,
    serviceName: "web",
    volumeClaimTemplates: [
      {
        metadata: { name: "claimed" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  },
  daemonsets: { updateStrategy: { type: "RollingUpdate" } },
} as const;

/** Sets a value in most places that can have one, so that each can also be changed and removed. */
export function workload(plural: WorkloadPlural): Manifest {
  const kind = WORKLOADS.find((each) => each.plural === plural)?.kind;
  const labels = { app: "web" };
  const notes = { "example.com/note": "text" };
  const container = {
    image: "web:1",
    env: [{ name: "LEVEL", value: "info" }],
    resources: { limits: { memory: "64Mi" } },
    volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web", namespace: NAMESPACE, labels, annotations: notes },
    spec: {
      selector: { matchLabels: labels },
      ...SPECIAL[plural],
      template: {
        metadata: {
          labels: { ...labels, tier: "front" },
          annotations: { ...notes, "kubectl.kubernetes.io/restartedAt": "2025-01-01T00:00:00Z" },
        },
        spec: {
          containers: [{ name: "web", ...container }],
          initContainers: [{ name: "before", ...container }],
          volumes: [{ name: "scratch", emptyDir: {} }],
          nodeSelector: { disk: "ssd" },
          tolerations: [{ key: "spot", operator: "Exists" }],
        },
      },
    },
  };
}
