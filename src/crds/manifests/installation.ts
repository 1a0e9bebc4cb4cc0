import { DEFAULT_NAMES, type InstallationNames } from "../group.ts";
import { ACCESS_GRANT } from "../kinds/access-grant.ts";
import { DEBUG_SESSION } from "../kinds/debug-session.ts";
import { customResourceDefinition, type Kind } from "../kinds/kind.ts";
import { MACHINE_DRAIN } from "../kinds/machine-drain.ts";
import { MACHINE_JOIN } from "../kinds/machine-join.ts";
import { MACHINE_POOL } from "../kinds/machine-pool.ts";
import { MANAGED_DEPLOYMENT } from "../kinds/managed-deployment.ts";
import { OPERATION_INVOCATION } from "../kinds/operation-invocation.ts";
import { OPERATION_POLICY } from "../kinds/operation-policy.ts";
import { RELEASE_CONTENT } from "../kinds/release-content.ts";
import { ROLLOUT } from "../kinds/rollout.ts";
import type { Manifest } from "../manifest.ts";
import { admissionPolicies, STAMPING_POLICIES } from "./admission/admission.ts";
import { debugPolicies } from "./admission/debug-admission.ts";
import { machinePolicies } from "./admission/machine-admission.ts";
import type { ReleaseOptions } from "./admission/release-account-admission.ts";
import { releasePolicies } from "./admission/release-admission.ts";
import { debugRbac, debugTargetBinding } from "./roles/debug-roles.ts";
import { type MachineOptions, machineRbac } from "./roles/machine-roles.ts";
import {
  clusterObservation,
  clusterOperations,
  metricsAuth,
  nameSalt,
  nodesAccess,
  rbac,
  targetBinding,
} from "./roles/rbac.ts";
import { releaseRbac, releaseTargetBindings } from "./roles/release-roles.ts";
import { releaseSecretRbac } from "./roles/release-secret-roles.ts";

export const KINDS: readonly Kind[] = [
  ACCESS_GRANT,
  OPERATION_INVOCATION,
  OPERATION_POLICY,
  MANAGED_DEPLOYMENT,
  DEBUG_SESSION,
  MACHINE_POOL,
  MACHINE_JOIN,
  MACHINE_DRAIN,
  RELEASE_CONTENT,
  ROLLOUT,
];

export interface Installation {
  readonly crds: readonly Manifest[];
  /** Namespaces, accounts and roles. */
  readonly rbac: readonly Manifest[];
  /** Apply them once the CRDs are established; until they are loaded (0.5 to 3 s) decisions answer 503. */
  readonly policies: readonly Manifest[];
}

/**
 * Everything that a cluster needs before agent and operator start, in the order in which to apply it.
 *
 * @param stamps false for an API server that cannot stamp names (before 1.36): it knows no mutating policies
 */
export function installation(names: InstallationNames = DEFAULT_NAMES, { stamps = true } = {}): Installation {
  const policies = admissionPolicies(names);
  return {
    crds: KINDS.map((kind) => customResourceDefinition(kind) as Manifest),
    rbac: rbac(names),
    policies: stamps ? policies : policies.filter(({ metadata }) => !STAMPING_POLICIES.includes(metadata.name)),
  };
}

/** What the customer adds to open operations on objects without a namespace; beside it, a policy names deployments. */
export function openCluster(names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return clusterOperations(names);
}

/** What the customer adds to allow debug sessions; beside it, the operator's setting and the tunnel. */
export function openDebugSessions(
  names: InstallationNames = DEFAULT_NAMES,
  { stamps = true } = {},
): readonly Manifest[] {
  const policies = debugPolicies(names).filter(({ kind }) => stamps || !kind.startsWith("Mutating"));
  return [...debugRbac(names), ...policies];
}

/** What the customer adds to allow debug sessions in an opened namespace. */
export function openNamespaceToDebug(namespace: string, names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return [debugTargetBinding(namespace, names)];
}

/** What the customer adds to have releases installed; beside it, a setting of agent and operator. */
export function openReleases(
  names: InstallationNames = DEFAULT_NAMES,
  { stamps = true, ...options }: ReleaseOptions & { readonly stamps?: boolean } = {},
): readonly Manifest[] {
  const policies = releasePolicies(names, options).filter(({ kind }) => stamps || !kind.startsWith("Mutating"));
  const { kinds, secrets = false } = options;
  const ofSecrets = secrets ? releaseSecretRbac(names) : [];
  return [...releaseRbac(names, kinds, Boolean(secrets)), ...ofSecrets, ...policies];
}

/** What the customer adds to have releases installed in an opened namespace. */
export function openNamespaceToReleases(
  namespace: string,
  names: InstallationNames = DEFAULT_NAMES,
): readonly Manifest[] {
  return releaseTargetBindings(namespace, names);
}

/** What the customer adds to let machines join and be drained; beside it, the two processes. */
export function openMachines(
  names: InstallationNames = DEFAULT_NAMES,
  { stamps = true, ...options }: MachineOptions & { readonly stamps?: boolean } = {},
): readonly Manifest[] {
  const policies = machinePolicies(names, options).filter(({ kind }) => stamps || !kind.startsWith("Mutating"));
  return [...machineRbac(names, options), ...policies];
}

/** What the customer adds for the agent to read all namespaces through one stream a kind; beside it, a setting of the agent. */
export function openAllToObservation(names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return [clusterObservation(names)];
}

/** What the customer adds for the agent to hide names of pods, claims, nodes and images; beside it, a setting of the agent. */
export function redactNames(names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return nameSalt(names);
}

/** What the customer adds for the agent to read nodes and tell how they are; beside it, a setting of the agent. */
export function openNodes(names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return nodesAccess(names);
}

/** What the customer adds for agent and operator to check who reads their metrics. */
export function checkMetricsReaders(names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return metricsAuth(names);
}

/**
 * What the customer adds to open `namespace`: the operator may bind shipped roles there, the agent may report its
 * workloads. Deleting the two RoleBindings closes it again.
 */
export function openNamespace(namespace: string, names: InstallationNames = DEFAULT_NAMES): readonly Manifest[] {
  return [
    targetBinding("sallyport-operator-target", names.operatorAccount, namespace, names),
    targetBinding("sallyport-agent-observe", names.agentAccount, namespace, names),
  ];
}
