import type { Cluster } from "../../lab/cluster/cluster.ts";

/**
 * The list of `metrics.k8s.io` that the agent reads, served by the API server itself from a custom resource: it has the
 * path and the fields of the real one, and the right to read it is the same rule.
 */
export async function installMetricsApi(cluster: Cluster): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const annotations = { "api-approved.kubernetes.io": "unapproved, a stand-in of a test" };
  await cluster.apply([
    {
      ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      metadata: { name: "pods.metrics.k8s.io", annotations },
      spec: {
        ...{ group: "metrics.k8s.io", scope: "Namespaced" },
        names: { plural: "pods", singular: "pod", kind: "PodMetrics", listKind: "PodMetricsList" },
        versions: [{ name: "v1beta1", served: true, storage: true, schema }],
      },
    },
  ]);
  await cluster.kubectl(["wait", "crd/pods.metrics.k8s.io", "--for=condition=Established", "--timeout=60s"]);
}

/** What one container of a pod used, measured in a minute from now: after the pod was made. */
export function podMetrics(namespace: string, name: string, usage: object): Record<string, unknown> {
  const timestamp = new Date(Date.now() + 60_000).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    ...{ apiVersion: "metrics.k8s.io/v1beta1", kind: "PodMetrics", metadata: { name, namespace } },
    ...{ timestamp, window: "30s", containers: [{ name: "app", usage }] },
  };
}
