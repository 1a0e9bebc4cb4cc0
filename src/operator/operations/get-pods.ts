import { GET_PODS } from "../../crds/operations/get-pods.ts";
import { resources } from "../../kube/objects/resource.ts";
import type { Pod } from "./objects.ts";
import { operation } from "./operation.ts";

export const getPods = operation(GET_PODS, {
  timeLimitMs: 30_000,
  async run({ client, params }, signal) {
    const { namespace, limit, labelSelector } = params;
    const pods: unknown[] = [];
    // One more than asked for, to know whether there are more.
    const options = { namespace, limit: limit + 1, ...(labelSelector !== undefined && { labelSelector }) };
    for await (const pod of client.list<Pod>(resources.pods, options, signal)) pods.push(podLine(pod));
    return { namespace, pods: pods.slice(0, limit), more: pods.length > limit };
  },
});

function podLine({ metadata, spec, status }: Pod): object {
  const containers = status?.containerStatuses ?? [];
  return {
    name: metadata.name,
    phase: metadata.deletionTimestamp === undefined ? (status?.phase ?? "Unknown") : "Terminating",
    ready: `${containers.filter(({ ready }) => ready).length}/${spec.containers.length}`,
    restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    createdAt: metadata.creationTimestamp,
    ...(spec.nodeName !== undefined && { node: spec.nodeName }),
    ...(status?.reason !== undefined && { reason: status.reason }),
  };
}
