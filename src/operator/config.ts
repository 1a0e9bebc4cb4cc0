import { type NamedDeployments, parseNamedDeployments } from "../crds/accepted-namespaces.ts";
import { DEFAULT_NAMES, LENDING_MODES, type LendingMode, NAMESPACE_NAME } from "../crds/group.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../crds/manifests/admission/admission.ts";
import { ADMISSION_MODES, type AdmissionMode } from "./admission/enforcement.ts";

/** Read once, validated, frozen, passed down. Nothing else of this room reads the environment. */
export interface OperatorConfig {
  /** Empty: in a pod, with the pod's own credentials. */
  readonly kubeconfig: string;
  readonly systemNamespace: string;
  readonly grantsNamespace: string;
  readonly deployments: NamedDeployments;
  /** Unique to this process; the holder of the lease. */
  readonly identity: string;
  readonly healthHost: string;
  readonly healthPort: number;
  readonly workers: number;
  readonly sweepIntervalMs: number;
  readonly admissionMode: AdmissionMode;
  readonly admissionCheckIntervalMs: number;
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
}

export interface Setting<T> {
  readonly env: string;
  /** As a person would write it, and parsed like theirs. */
  readonly default: string;
  /** Meaning, and what changes when it is raised or lowered. */
  readonly doc: string;
  /** Throws an Error whose message completes "ENV must be …". */
  readonly parse: (text: string) => T;
}

/** The one table: `--help`, the chart's values and the documentation are printed from it. */
export const OPERATOR_SETTINGS: { readonly [Name in keyof OperatorConfig]: Setting<OperatorConfig[Name]> } = {
  kubeconfig: {
    env: "SALLYPORT_KUBECONFIG",
    default: "",
    doc: "File to reach the API server with. Empty: the pod's own service account.",
    parse: (text) => text,
  },
  systemNamespace: {
    env: "SALLYPORT_SYSTEM_NAMESPACE",
    default: DEFAULT_NAMES.systemNamespace,
    doc: "Namespace of agent and operator; the lease lives here.",
    parse: namespace,
  },
  grantsNamespace: {
    env: "SALLYPORT_GRANTS_NAMESPACE",
    default: DEFAULT_NAMES.grantsNamespace,
    doc: "Namespace of grants, invocations, policies and per-grant accounts. Never the system namespace.",
    parse: namespace,
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
    parse: (text) => text,
  },
  healthHost: {
    env: "SALLYPORT_HEALTH_HOST",
    default: "0.0.0.0",
    doc: "Address of /livez, /readyz and /metrics.",
    parse: (text) => text,
  },
  healthPort: {
    env: "SALLYPORT_HEALTH_PORT",
    default: "8080",
    doc: "Port of /livez, /readyz and /metrics; 0 takes a free one.",
    parse: integer(0, 65_535),
  },
  workers: {
    env: "SALLYPORT_WORKERS",
    default: "16",
    doc: "Operations run at once, and grants looked at at once. A running operation keeps a worker for up to a minute.",
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
    parse: admissionMode,
  },
  admissionCheckIntervalMs: {
    env: "SALLYPORT_ADMISSION_CHECK_INTERVAL",
    default: "30s",
    doc: `Between two looks at the admission policies; how late a missing one is shown. ${2 * (VALIDATING_POLICIES.length + MUTATING_POLICIES.length)} small requests each.`,
    parse: duration(1_000, 600_000),
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
  leaseDurationMs: {
    env: "SALLYPORT_LEASE_DURATION",
    default: "15s",
    doc: "Silence after which another replica may lead: the longest fail-over. Source: client-go.",
    parse: duration(3_000, 120_000),
  },
  renewDeadlineMs: {
    env: "SALLYPORT_RENEW_DEADLINE",
    default: "10s",
    doc: "The leader steps down when it could not renew for this long. Source: client-go.",
    parse: duration(1_000, 110_000),
  },
  retryPeriodMs: {
    env: "SALLYPORT_RETRY_PERIOD",
    default: "2s",
    doc: "Between two tries to get or renew the lease. Source: client-go.",
    parse: duration(100, 60_000),
  },
  leaseName: {
    env: "SALLYPORT_LEASE_NAME",
    default: DEFAULT_NAMES.operatorAccount,
    doc: "Lease that the replicas elect a leader with. The operator's Role lets it write the one of its account's name.",
    parse: objectName,
  },
  roleKind: {
    env: "SALLYPORT_ROLE_KIND",
    default: "ClusterRole",
    doc: "What the roles of the operations are: ClusterRole, or Role where each opened namespace has its own.",
    parse: roleKind,
  },
  lendingMode: {
    env: "SALLYPORT_LENDING_MODE",
    default: "operator",
    doc: "Who lends an operation's role to a grant's account: operator, or approver, where people bind it and the operator waits for the binding. It must be the mode that its roles were made for.",
    parse: lendingMode,
  },
};

/** Call it with `process.env`. Throws one Error that lists every bad setting, not the first. */
export function loadOperatorConfig(env: Readonly<Record<string, string | undefined>>): OperatorConfig {
  const problems: string[] = [];
  const read = <T>(setting: Setting<T>): T | undefined => {
    const text = env[setting.env]?.trim() || setting.default; // Helm renders an unset value as "".
    try {
      return setting.parse(text);
    } catch (error) {
      problems.push(`${setting.env} must be ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  const values = Object.fromEntries(
    Object.entries(OPERATOR_SETTINGS).map(([name, each]) => [name, read<unknown>(each)]),
  );
  // One key a setting, each parsed to its own type; what could not be is in `problems`.
  const config = values as unknown as OperatorConfig;
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new Error(`bad configuration:\n  ${problems.join("\n  ")}`);
  return Object.freeze(config);
}

function contradictions({ systemNamespace, grantsNamespace, ...config }: OperatorConfig): string[] {
  const problems: string[] = [];
  if (systemNamespace === grantsNamespace) {
    problems.push(
      "SALLYPORT_GRANTS_NAMESPACE must not be the system namespace, or the operator could mint its own token",
    );
  }
  // The lease is fenced 2 s before it ends, and the elector refuses less.
  if (config.leaseDurationMs - 2_000 < config.renewDeadlineMs) {
    problems.push("SALLYPORT_RENEW_DEADLINE must be at least 2s shorter than SALLYPORT_LEASE_DURATION");
  }
  return problems;
}

function namespace(text: string): string {
  if (NAMESPACE_NAME.test(text)) return text;
  throw new Error("the name of a namespace");
}

function objectName(text: string): string {
  if (/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(text)) return text;
  throw new Error("the name of an object");
}

function admissionMode(text: string): AdmissionMode {
  const mode = ADMISSION_MODES.find((each) => each === text);
  if (mode === undefined) throw new Error(ADMISSION_MODES.join(", "));
  return mode;
}

function lendingMode(text: string): LendingMode {
  const mode = LENDING_MODES.find((each) => each === text);
  if (mode === undefined) throw new Error(LENDING_MODES.join(" or "));
  return mode;
}

function roleKind(text: string): "ClusterRole" | "Role" {
  if (text === "ClusterRole" || text === "Role") return text;
  throw new Error("ClusterRole or Role");
}

/** `250ms`, `30s`, `5m`. A bare number is refused: its unit would be a guess. */
function duration(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const [, amount, unit] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
    const ms = Number(amount) * (unit === "m" ? 60_000 : unit === "s" ? 1_000 : 1);
    if (ms >= minMs && ms <= maxMs) return ms;
    throw new Error(`a duration such as 30s, from ${minMs} to ${maxMs} ms`);
  };
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new Error(`a whole number from ${min} to ${max}`);
  };
}
