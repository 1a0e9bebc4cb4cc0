import { accessGrants } from "../crds/kinds/access-grant.ts";
import { machineDrains } from "../crds/kinds/machine-drain.ts";
import { writeStatus } from "../kube/client/status-writer.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { notifiedBy, reads, watches } from "../kube/controller/sources.ts";
import { keyOf } from "../kube/objects/resource.ts";
import { type DrainPorts, reconcileDrain } from "./machine-drains/drain-reconciler.ts";
import { controller, type OperatorParts } from "./operator-parts.ts";

/** Undefined where machines are switched off. */
export function drainController(parts: OperatorParts): Controller | undefined {
  const { client, caches, rights, config, serverClock: clock, fence, plugins } = parts;
  const { drains } = caches;
  if (drains === undefined) return undefined;
  const ports: DrainPorts = {
    clock,
    fence,
    named: config.deployments,
    commands: plugins.commands,
    drain: (key) => drains.store.get(key),
    facts: () => ({
      grants: caches.grants.store.list(),
      policies: caches.policies.store.list(),
      deployments: caches.deployments.store.list(),
    }),
    obstacle: () => rights.obstacle,
    writeDrain: (drain, status, signal) => writeStatus(client, machineDrains, drain, status, signal),
    writeGrant: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
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
    notifiedBy(rights.watch, () => wished()),
    reads(caches.grants),
    reads(caches.policies),
    reads(caches.deployments),
  ]);
}
