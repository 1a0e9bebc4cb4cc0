import type { PluginRole } from "./plugin-role.ts";

/** The API group of every kind here. */
export const GROUP = "sallyport.dev";
export const VERSION = "v1alpha1";

/**
 * What an installation may name differently. Everything in `manifests/` is made from these, so that the chart, the
 * tests and `npm start` stay equal.
 */
export interface InstallationNames {
  /** Where agent and operator run. Not where grants live: the operator must not be able to mint its own token. */
  readonly systemNamespace: string;
  /** Where grants, invocations, policies and per-grant accounts live. */
  readonly grantsNamespace: string;
  readonly agentAccount: string;
  readonly operatorAccount: string;
  /** What the operation roles are: ClusterRoles (default), or a Role each in every opened namespace. */
  readonly roleKind?: string;
  /** Who binds an operation's role to a grant's account; one of {@link LENDING_MODES}, by default the operator. */
  readonly lendingMode?: string;
  /** Where the accounts of debug sessions live, and nothing else. Default {@link DEBUG_NAMESPACE}. */
  readonly debugNamespace?: string;
  /** Where the Secrets of releases live, and nothing else. Default {@link RELEASES_NAMESPACE}. */
  readonly releasesNamespace?: string;
  /** The ClusterRole that the accounts of a rollout are lent. Default {@link RELEASE_ROLE}, which is shipped. */
  readonly releaseRole?: string;
  /** Of the process that carries debug sessions, in the system namespace. Default {@link TUNNEL_ACCOUNT}. */
  readonly tunnelAccount?: string;
  /** Of the process that lets machines ask, in the system namespace. Default {@link JOIN_ACCOUNT}. */
  readonly joinAccount?: string;
  /** Operations of plugins that the customer enabled. Default none. */
  readonly plugins?: readonly PluginRole[];
  /** Of the process that signs and drains machines, in the system namespace. Default {@link MACHINES_ACCOUNT}. */
  readonly machinesAccount?: string;
}

export const DEBUG_NAMESPACE = "sallyport-debug";
export const RELEASES_NAMESPACE = "sallyport-releases";
export const RELEASE_ROLE = "sallyport-op-release-apply";
export const TUNNEL_ACCOUNT = "sallyport-tunnel";
export const JOIN_ACCOUNT = "sallyport-join";
export const MACHINES_ACCOUNT = "sallyport-machines";

/** `operator`: for each run, as it begins. `approver`: a person, with their own credentials; the operator may not. */
export const LENDING_MODES = ["operator", "approver"] as const;
export type LendingMode = (typeof LENDING_MODES)[number];

export const DEFAULT_NAMES: InstallationNames = {
  systemNamespace: "sallyport-system",
  grantsNamespace: "sallyport-grants",
  agentAccount: "sallyport-agent",
  operatorAccount: "sallyport-operator",
};

/** In the agent's own namespace, with `observe.redactNames`: what names of pods, claims, nodes and images are hashed with. */
export const NAME_SALT_SECRET = "sallyport-name-salt";
export const NAME_SALT_KEY = "salt";

/** The reporting controller of an event. An admission policy refuses an event that names the other process. */
export const REPORTING_CONTROLLERS = {
  agent: `${GROUP}/agent`,
  operator: `${GROUP}/operator`,
  machines: `${GROUP}/machines`,
} as const;

/**
 * Label on everything made for one grant (or one automatic invocation), with its uid; the sweep finds these objects by
 * it.
 */
export const GRANT_UID_LABEL = "sallyport.dev/grant-uid";
/** Label on the account and the bindings of one debug session, with its uid. */
export const DEBUG_SESSION_LABEL = "sallyport.dev/debug-session";
/** Label on the MachineJoin of a machine that was removed: its node is refused from then on. */
export const REMOVED_LABEL = "sallyport.dev/removed";
/** On a node: the uid of the drain that cordoned it. Only that drain's end undoes the cordon. */
export const CORDONED_BY_ANNOTATION = "sallyport.dev/cordoned-by";
/**
 * Label with which the kubelet of a machine registers its node. The machine controller deletes no node without it, and may
 * label none: nodes that did not join through Sallyport are not its to delete.
 */
export const MACHINE_LABEL = "sallyport.dev/machine";
/**
 * On a RoleBinding of the operator: when it must be deleted. RFC 3339 UTC in whole seconds; an admission policy
 * requires it.
 */
export const EXPIRES_AT_ANNOTATION = "sallyport.dev/expires-at";
/** On a shipped ClusterRole: the tier of the operation that it is for. */
export const TIER_LABEL = "sallyport.dev/tier";
/** Shipped ClusterRoles, one an operation: `sallyport-op-<plugin>-<operation>`. Deleting one disables the operation. */
export const OPERATION_ROLE_PREFIX = "sallyport-op-";

export function operationRole(plugin: string, operation: string): string {
  return `${OPERATION_ROLE_PREFIX}${plugin}-${operation}`;
}

/** The name of a namespace, as Kubernetes allows it. */
export const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The name of an object, as most kinds of Kubernetes allow it. */
export const OBJECT_NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** The names that {@link grantAccount} makes. Policies use the pattern in CEL, which reads it the same way. */
export const GRANT_ACCOUNT = /^grant-[0-9a-f]{12}$/;

/** Name of the ServiceAccount that runs what one grant (or automatic invocation) allows. */
export function grantAccount(uid: string): string {
  return `grant-${uid.replaceAll("-", "").slice(0, 12)}`;
}

/** The names that {@link debugAccount} makes. Policies use the pattern in CEL. */
export const DEBUG_ACCOUNT = /^debug-[0-9a-f]{12}$/;

/** Name of the ServiceAccount with which one debug session reads and connects. */
export function debugAccount(uid: string): string {
  return `debug-${uid.replaceAll("-", "").slice(0, 12)}`;
}

/**
 * Where approvers lend: the account of everything that runs by itself. Policy admins bind roles to it; no sweep deletes
 * it.
 */
export const AUTO_ACCOUNT = "sallyport-auto";

/** A platform id as an object name: lower case, `_` and `.` become `-`. The CRDs refuse any other name. */
export function objectName(id: string): string {
  return id.toLowerCase().replaceAll(/[_.]/g, "-");
}
