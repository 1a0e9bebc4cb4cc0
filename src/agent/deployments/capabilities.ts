import type { Capability } from "../../contract/deployments/deployment-state.ts";
import { debugSessions } from "../../crds/kinds/debug-session.ts";
import { releaseContents } from "../../crds/kinds/release-content.ts";
import { rollouts } from "../../crds/kinds/rollout.ts";
import type { RequiredRight } from "../../crds/manifests/roles/required-rights.ts";
import { resources } from "../../kube/objects/resource.ts";

/** Kinds without which workloads are told all the same; what is missing is said with each of them. */
const BESIDE_WORKLOADS: readonly string[] = ["replicasets", "poddisruptionbudgets", "persistentvolumeclaims", "events"];
const KEYS = ["k8s-workloads", "operations", "logs"] as const;

const NO_RELEASES: Capability = { key: "releases", state: "unavailable", detail: "releases are off in this cluster" };

export interface CapabilityFacts {
  /** Namespaces that the customer accepts the deployment for; none: it waits. */
  readonly accepted: readonly string[];
  /** Of the agent's rights. */
  readonly missing: readonly RequiredRight[];
  /** Modes of debug sessions that are on in this cluster; none: debug sessions are off. */
  readonly debugModes: readonly string[];
  /** Whether a MachinePool is there for it; undefined: machines are off in this cluster. */
  readonly machinePool: boolean | undefined;
  /** The runner of releases is on in this cluster. */
  readonly releases: boolean;
}

/**
 * What the vendor can expect of this deployment, from the agent's real rights. Which right is missing, and where, stays in
 * the cluster: the condition `Permitted` names it.
 */
export function capabilitiesOf({
  accepted,
  missing,
  debugModes,
  machinePool,
  releases,
}: CapabilityFacts): Capability[] {
  if (accepted.length === 0) {
    const detail = "waits until the customer accepts this deployment in the cluster";
    return [...KEYS, "debug", "machines", NO_RELEASES.key].map((key) => ({ key, state: "denied", detail }));
  }
  const reads = missing.some(
    ({ reach, namespace, group, resource }) =>
      reach === "opened" &&
      accepted.includes(namespace) &&
      group !== resources.podMetrics.group &&
      !BESIDE_WORKLOADS.includes(resource),
  );
  const debugs = missing.some(isOfDebug);
  const isOfOthers = [isOfDebug, isOfMachines, isOfReleases];
  const writes = missing.some((right) => right.reach === "grants" && !isOfOthers.some((is) => is(right)));
  const answer = (key: (typeof KEYS)[number] | "debug" | "machines" | "releases", lacks: boolean): Capability =>
    lacks ? { key, state: "denied", detail: "the agent lacks rights in the cluster" } : { key, state: "granted" };
  const debug: Capability =
    debugModes.length === 0
      ? { key: "debug", state: "denied", detail: "debug sessions are off in this cluster" }
      : { ...answer("debug", debugs), ...(!debugs && { detail: `modes: ${debugModes.join(", ")}` }) };
  const machines: Capability =
    machinePool === true
      ? answer("machines", !offersMachines({ machinePool, missing }))
      : {
          key: "machines",
          state: "denied",
          detail:
            machinePool === undefined
              ? "machines are off in this cluster"
              : "the customer has no MachinePool for this deployment",
        };
  return [
    answer("k8s-workloads", reads),
    answer("operations", writes),
    answer("logs", writes),
    debug,
    machines,
    releases ? answer("releases", missing.some(isOfReleases)) : NO_RELEASES,
  ];
}

/** Whether the capability `machines` of an accepted deployment is granted. */
export function offersMachines({ machinePool, missing }: Pick<CapabilityFacts, "machinePool" | "missing">): boolean {
  return machinePool === true && !missing.some(isOfMachines);
}

/** Of the agent's roles that an installation has only with machines. */
function isOfMachines({ role }: RequiredRight): boolean {
  return /-machines(-nodes|-leases)?$/.test(role);
}

function isOfDebug({ resource }: RequiredRight): boolean {
  return resource === debugSessions.plural;
}

function isOfReleases({ resource }: RequiredRight): boolean {
  return resource === rollouts.plural || resource === releaseContents.plural;
}
