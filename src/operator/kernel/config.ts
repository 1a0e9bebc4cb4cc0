import { ELECTION_SETTINGS } from "../../base/election-settings.ts";
import { metricsServingProblems } from "../../base/metrics-settings.ts";
import { PROCESS_SETTINGS, type ProcessSettings } from "../../base/process-settings.ts";
import {
  anyText,
  type Contradiction,
  duration,
  type Environment,
  integer,
  loadSettings,
  matching,
  oneOf,
  type SettingsOf,
  truth,
} from "../../base/settings.ts";
import {
  DEBUG_NAMESPACE,
  DEFAULT_NAMES,
  LENDING_MODES,
  type LendingMode,
  NAMESPACE_NAME,
  OBJECT_NAME,
} from "../../crds/group.ts";
import { type NamedDeployments, parseNamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../../crds/manifests/admission/admission.ts";
import { DEBUG_MODES, type DebugMode } from "../../crds/operations/debug.ts";
import { electionTimesProblems } from "../../kube/election/election-times.ts";
import { ADMISSION_MODES, type AdmissionMode } from "../gate/enforcement.ts";
import { PLUGIN_SETTINGS, type PluginSettings } from "./plugin-settings.ts";
import { RELEASE_SETTINGS, type ReleaseSettings } from "./release-settings.ts";

/** Read once, validated, frozen, passed down. Nothing else of this room reads the environment. */
export interface OperatorConfig extends ProcessSettings, ReleaseSettings, PluginSettings {
  readonly systemNamespace: string;
  readonly grantsNamespace: string;
  readonly deployments: NamedDeployments;
  /** Unique to this process; the holder of the lease. */
  readonly identity: string;
  readonly workers: number;
  readonly sweepIntervalMs: number;
  readonly admissionMode: AdmissionMode;
  readonly admissionCheckIntervalMs: number;
  readonly admissionSettleMs: number;
  readonly accessCheckIntervalMs: number;
  readonly shutdownGraceMs: number;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly leaseName: string;
  /** What the shipped operation roles are in this installation. */
  readonly roleKind: "ClusterRole" | "Role";
  /** Who binds these roles to the accounts of grants. */
  readonly lendingMode: LendingMode;
  /** Debug sessions are opened at all. */
  readonly debugEnabled: boolean;
  readonly debugNamespace: string;
  readonly debugModes: readonly DebugMode[];
  readonly debugMaxTtlMs: number;
  readonly debugMaxConcurrent: number;
  /** Drains that the platform asks for are judged. */
  readonly machinesEnabled: boolean;
}

/** The one table: `--help`, the chart's values and the documentation are printed from it. */
export const OPERATOR_SETTINGS: SettingsOf<OperatorConfig> = {
  systemNamespace: {
    env: "SALLYPORT_SYSTEM_NAMESPACE",
    default: DEFAULT_NAMES.systemNamespace,
    doc: "Namespace of agent and operator; the lease lives here.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  grantsNamespace: {
    env: "SALLYPORT_GRANTS_NAMESPACE",
    default: DEFAULT_NAMES.grantsNamespace,
    doc: "Namespace of grants, invocations, policies and per-grant accounts. Never the system namespace.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  deployments: {
    env: "SALLYPORT_DEPLOYMENTS",
    default: "",
    doc: "Deployments that the customer accepts from the start, each with its namespaces: `dep_x=shop+jobs,dep_y=shop`. Nothing runs for any other until the customer accepts its object. The agent has the same setting.",
    parse: parseNamedDeployments,
  },
  identity: {
    env: "SALLYPORT_IDENTITY",
    default: "",
    doc: "This replica's name in the lease, normally the pod's. Empty: host name and a random part.",
    parse: anyText,
  },
  workers: {
    env: "SALLYPORT_WORKERS",
    default: "16",
    doc: "Operations run at once, and grants looked at at once. A running operation keeps a worker for up to a minute, one of a plugin for up to five.",
    parse: integer(1, 256),
  },
  sweepIntervalMs: {
    env: "SALLYPORT_SWEEP_INTERVAL",
    default: "60s",
    doc: "Between two searches for left-over access; how long it may outlive a crash.",
    parse: duration(1_000, 600_000),
  },
  admissionMode: {
    env: "SALLYPORT_ADMISSION_MODE",
    default: "stamping",
    doc: "What vouches for approvers' names: stamping, where the API server can; or validating-only, where typed names are checked and missing stampers are no fault. unseen: the operator has no right to look, and says so on each decision.",
    parse: oneOf(ADMISSION_MODES),
  },
  admissionCheckIntervalMs: {
    env: "SALLYPORT_ADMISSION_CHECK_INTERVAL",
    default: "30s",
    doc: `Between two looks at the admission policies; how late a missing one is shown. ${2 * (VALIDATING_POLICIES.length + MUTATING_POLICIES.length)} small requests each.`,
    parse: duration(1_000, 600_000),
  },
  admissionSettleMs: {
    env: "SALLYPORT_ADMISSION_SETTLE_TIME",
    default: "30s",
    doc: "How long API servers may take to enforce admission policies that are new: 0.5 to 3 s, a busy one 10. No name of a decision that may have been made before is vouched for. 0s is for tests, which wait for the policies themselves.",
    parse: duration(0, 600_000),
  },
  accessCheckIntervalMs: {
    env: "SALLYPORT_ACCESS_CHECK_INTERVAL",
    default: "60s",
    doc: "Between two looks at the operator's own rights; how late a rule that is missing or given back is noticed. One small request a namespace each.",
    parse: duration(1_000, 600_000),
  },
  shutdownGraceMs: {
    env: "SALLYPORT_SHUTDOWN_GRACE",
    default: "5s",
    doc: "How long a running operation may go on after a stop, and then its result may take to be stored. Twice this must fit the pod's termination grace.",
    parse: duration(0, 120_000),
  },
  ...PROCESS_SETTINGS,
  ...ELECTION_SETTINGS,
  leaseName: {
    env: "SALLYPORT_LEASE_NAME",
    default: DEFAULT_NAMES.operatorAccount,
    doc: "Lease that the replicas elect a leader with. The operator's Role lets it write the one of its account's name.",
    parse: matching(OBJECT_NAME, "the name of an object"),
  },
  roleKind: {
    env: "SALLYPORT_ROLE_KIND",
    default: "ClusterRole",
    doc: "What the roles of the operations are: ClusterRole, or Role where each opened namespace has its own.",
    parse: oneOf(["ClusterRole", "Role"]),
  },
  lendingMode: {
    env: "SALLYPORT_LENDING_MODE",
    default: "operator",
    doc: "Who lends an operation's role to a grant's account: operator, or approver, where people bind it and the operator waits for the binding. It must be the mode that its roles were made for.",
    parse: oneOf(LENDING_MODES),
  },
  debugEnabled: {
    env: "SALLYPORT_OPERATOR_DEBUG_ENABLED",
    default: "false",
    doc: "Whether debug sessions are opened. It needs the objects of debug-sessions.yaml, and SALLYPORT_LENDING_MODE=operator.",
    parse: truth,
  },
  debugNamespace: {
    env: "SALLYPORT_OPERATOR_DEBUG_NAMESPACE",
    default: DEBUG_NAMESPACE,
    doc: "Namespace of the accounts of debug sessions. Nothing else may live there.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  debugModes: {
    env: "SALLYPORT_OPERATOR_DEBUG_MODES",
    default: "logs,read",
    doc: `Modes of debug sessions that are switched on, of ${DEBUG_MODES.join(", ")}.`,
    parse: modes,
  },
  debugMaxTtlMs: {
    env: "SALLYPORT_OPERATOR_DEBUG_MAX_TTL",
    default: "1h",
    doc: "How long a debug session is open at most, whatever was asked for and approved.",
    parse: duration(60_000, 8 * 3_600_000),
  },
  debugMaxConcurrent: {
    env: "SALLYPORT_OPERATOR_DEBUG_MAX_CONCURRENT",
    default: "3",
    doc: "Debug sessions that may be open at a time; one more is refused.",
    parse: integer(1, 16),
  },
  machinesEnabled: {
    env: "SALLYPORT_OPERATOR_MACHINES_ENABLED",
    default: "false",
    doc: "Whether drains that the platform asks for are judged by policy and grant. Without it they wait. It needs the roles of machines.",
    parse: truth,
  },
  ...RELEASE_SETTINGS,
  ...PLUGIN_SETTINGS,
};

/** Call it with the environment. @throws ConfigError */
export function loadOperatorConfig(env: Environment): OperatorConfig {
  return loadSettings(OPERATOR_SETTINGS, env, contradictions);
}

function contradictions(config: OperatorConfig): Contradiction<OperatorConfig>[] {
  const found: Contradiction<OperatorConfig>[] = [...electionTimesProblems(config), ...metricsServingProblems(config)];
  if (config.systemNamespace === config.grantsNamespace) {
    const must = "not be the system namespace, or the operator could mint its own token";
    found.push({ setting: "grantsNamespace", must });
  }
  if (config.debugNamespace === config.grantsNamespace || config.debugNamespace === config.systemNamespace) {
    const must = "not be the grants namespace or the system namespace: only accounts of debug sessions live there";
    found.push({ setting: "debugNamespace", must });
  }
  if ([config.grantsNamespace, config.systemNamespace, config.debugNamespace].includes(config.releasesNamespace)) {
    found.push({ setting: "releasesNamespace", must: "be a namespace of its own: Secrets of releases are read there" });
  }
  return found;
}

function modes(text: string): readonly DebugMode[] {
  const words = text.split(",").map((word) => word.trim());
  return DEBUG_MODES.filter((mode) => words.map(oneOf(DEBUG_MODES)).includes(mode));
}
