import { machineDrains } from "../crds/kinds/machine-drain.ts";
import { writeStatus } from "../kube/client/status-writer.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { reads, watches } from "../kube/controller/sources.ts";
import { keyOf } from "../kube/objects/resource.ts";
import { type DrainPorts, reconcileDrain } from "./machine-drains/drain-reconciler.ts";
import { controller, type OperatorParts } from "./operator-parts.ts";

/** Undefined where machines are switched off. */
export function drainController(parts: OperatorParts): Controller | undefined {
  const { client, caches, config, serverClock: clock, fence } = parts;
  const { drains } = caches;
  if (drains === undefined) return undefined;
  const ports: DrainPorts = {
    clock,
    fence,
    drain: (key) => drains.store.get(key),
    grants: () => caches.grants.store.list(),
    facts: () => ({
      policy: caches.policy,
      deployments: caches.deployments.store.list(),
      named: config.deployments,
    }),
    writeStatus: (drain, status, signal) => writeStatus(client, machineDrains, drain, status, signal),
  };
  const wished = (deploymentId?: string): readonly string[] =>
    drains.store
      .list()
      .filter(
        ({ spec: { requested } }) =>
          requested !== undefined && (deploymentId ?? requested.deploymentId) === requested.deploymentId,
      )
      .map(keyOf);
  return controller("machinedrain", parts, (key, context) => reconcileDrain(key, ports, context), [
    watches(drains),
    watches(caches.grants, ({ spec }) => wished(spec.deploymentId)),
    watches(caches.policies, () => wished()),
    watches(caches.deployments, ({ spec }) => wished(spec.deploymentId)),
    reads(caches.grants),
    reads(caches.policies),
    reads(caches.deployments),
  ]);
}
