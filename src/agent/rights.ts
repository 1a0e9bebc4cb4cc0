import { Gauge, type Registry } from "prom-client";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { DEFAULT_NAMES, type InstallationNames } from "../crds/group.ts";
import { debugSessions } from "../crds/kinds/debug-session.ts";
import { machineDrains } from "../crds/kinds/machine-drain.ts";
import { machineJoins } from "../crds/kinds/machine-join.ts";
import { machinePools } from "../crds/kinds/machine-pool.ts";
import { releaseContents } from "../crds/kinds/release-content.ts";
import { rollouts } from "../crds/kinds/rollout.ts";
import { OBSERVE_ROLE, READ_ON_DEMAND } from "../crds/manifests/roles/observe-role.ts";
import { releaseSecretRights } from "../crds/manifests/roles/release-secret-roles.ts";
import {
  nameSaltRights,
  nodesRights,
  type RequiredRight,
  requiredRights,
  rightsNotes,
} from "../crds/manifests/roles/required-rights.ts";
import { AccessWatch } from "../kube/access/access-watch.ts";
import type { Client } from "../kube/client/client.ts";
import type { EventRecorder } from "../kube/events/event-recorder.ts";
import { type Resource, resources } from "../kube/objects/resource.ts";
import type { AgentConfig } from "./kernel/config.ts";
import { OBSERVED } from "./kernel/observed-kinds.ts";

export interface RightsOptions {
  readonly client: Pick<Client, "selfSubjectRulesReview" | "selfSubjectAccessReview">;
  readonly config: AgentConfig;
  readonly events: Pick<EventRecorder, "record">;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Which of its own rights the agent has lost. The lease, and with it the account's name in the roles, is the config's.
 */
export function watchRights(options: RightsOptions): AccessWatch<RequiredRight> {
  const { client, config, events, registry, clock, log } = options;
  const { systemNamespace, grantsNamespace, leaseName: agentAccount, namespaces } = config;
  const names = { ...DEFAULT_NAMES, systemNamespace, grantsNamespace, agentAccount };
  const observed = [
    ...config.observedKinds.map((kind) => OBSERVED[kind].resource).map(({ group, plural }) => `${plural}.${group}`),
    ...READ_ON_DEMAND.filter(({ value }) => config.observedOnDemand.includes(value)).map(
      ({ group, resource }) => `${resource}.${group}`,
    ),
  ];
  const needed = requiredRights("agent", names, namespaces).filter(
    ({ role, resource, group }) => role !== OBSERVE_ROLE || observed.includes(`${resource}.${group}`),
  );
  const all = [
    ...needed,
    ...(config.observedNodes === "on" ? nodesRights(names) : []),
    ...(config.redactNames === "on" ? nameSaltRights(names) : []),
    ...(config.debugModes.length > 0 ? debugRights(names) : []),
    ...(config.machines ? machineRights(names) : []),
    ...(config.releases ? releaseRights(names) : []),
    ...(config.releases && config.releasesSecrets
      ? releaseSecretRights("agent", { ...names, releasesNamespace: config.releasesNamespace })
      : []),
  ];
  const required = (): readonly RequiredRight[] => all;
  const watch = new AccessWatch({ client, clock, log, required, everyMs: config.accessCheckIntervalMs });
  watch.onChange((change) => {
    for (const note of rightsNotes("the agent", change, names)) events.record(note);
  });
  rightsGauge(registry, () => watch.missing);
  return watch;
}

/** Of the role `<account>-debug`, which an installation has only with debug sessions. */
function debugRights({ agentAccount, grantsNamespace }: InstallationNames): readonly RequiredRight[] {
  const { group, plural: resource } = debugSessions;
  const where = {
    group,
    resource,
    namespace: grantsNamespace,
    role: `${agentAccount}-debug`,
    reach: "grants",
  } as const;
  return ["create", "get", "list", "watch"].map((verb) => ({ verb, ...where }));
}

/** Of the role `<account>-releases`, which an installation has only with releases. */
function releaseRights({ agentAccount, grantsNamespace: namespace }: InstallationNames): readonly RequiredRight[] {
  return [rollouts, releaseContents].flatMap(({ group, plural: resource }) =>
    ["create", "get", "list", "watch"].map((verb) => ({
      ...{ verb, group, resource, namespace, role: `${agentAccount}-releases` },
      reach: "grants" as const,
    })),
  );
}

/** Of the roles `<account>-machines…`, which an installation has only with machines. */
function machineRights({ agentAccount, grantsNamespace }: InstallationNames): readonly RequiredRight[] {
  const looks = ["get", "list", "watch"];
  const of = (
    { group, plural: resource }: Pick<Resource, "group" | "plural">,
    [namespace, reach, role]: readonly [string, RequiredRight["reach"], string],
    verbs = looks,
  ) => verbs.map((verb) => ({ verb, group, resource, namespace, role, reach }));
  const grants = [grantsNamespace, "grants", `${agentAccount}-machines`] as const;
  return [
    ...of(machinePools, grants),
    ...of(machineJoins, grants),
    ...of(machineDrains, grants, [...looks, "create", "patch", "delete"]),
    ...of(resources.configMaps, grants),
    ...of(resources.nodes, [grantsNamespace, "nodes", `${agentAccount}-machines-nodes`]),
    ...of(resources.leases, ["kube-node-lease", "nodes", `${agentAccount}-machines-leases`]),
  ];
}

export function rightsGauge(registry: Registry, missing: () => readonly RequiredRight[]): void {
  new Gauge({
    name: "sallyport_agent_missing_rights",
    help: "Rights that the agent needs and does not have, by where: own namespace, grants, opened namespaces, nodes, the salt of names.",
    labelNames: ["reach"],
    registers: [registry],
    collect() {
      for (const reach of ["system", "grants", "opened", "nodes", "name-salt"] as const) {
        this.set({ reach }, missing().filter((right) => right.reach === reach).length);
      }
    },
  });
}

/** @param missing of the agent's rights. */
export function mayRead(
  missing: readonly RequiredRight[],
  namespace: string,
  { group, plural }: Pick<Resource, "group" | "plural">,
): boolean {
  return !missing.some((right) => right.namespace === namespace && right.group === group && right.resource === plural);
}
