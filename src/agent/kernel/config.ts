import { httpsUrl, PLATFORM_SETTINGS, type PlatformSettings } from "../../api-client/platform-settings.ts";
import { ELECTION_SETTINGS } from "../../base/election-settings.ts";
import { isLabelSelector } from "../../base/label-selector.ts";
import { metricsServingProblems } from "../../base/metrics-settings.ts";
import { PROCESS_SETTINGS, type ProcessSettings } from "../../base/process-settings.ts";
import {
  anyText,
  duration,
  type Environment,
  integer,
  loadSettings,
  matching,
  nonEmpty,
  oneOf,
  type SettingsOf,
  truth,
} from "../../base/settings.ts";
import { DEBUG_MODES, type DebugMode } from "../../contract/debug-sessions/debug-sessions.ts";
import { NAMESPACE_NAME, RELEASES_NAMESPACE } from "../../crds/group.ts";
import { type NamedDeployments, parseNamedDeployments } from "../../crds/kinds/accepted-namespaces.ts";
import { electionTimesProblems } from "../../kube/election/election-times.ts";
import {
  OBSERVED,
  OBSERVED_KINDS,
  OBSERVED_SCOPES,
  type ObservedKind,
  type ObservedScope,
  ON_DEMAND,
  type OnDemand,
} from "./observed-kinds.ts";
import { MOST_PODS } from "./pod-limit.ts";

/** Read once by the command line, validated, frozen, passed down. Nothing else reads the environment. */
export interface AgentConfig extends ProcessSettings, PlatformSettings {
  readonly managerUrl: string;
  readonly namespaces: readonly string[];
  readonly observedKinds: readonly ObservedKind[];
  readonly observedOnDemand: readonly OnDemand[];
  readonly observedLabelSelector: string;
  readonly observedScope: ObservedScope;
  readonly observedMaxPods: number;
  readonly observedNodes: (typeof SWITCH)[number];
  readonly redactNames: (typeof SWITCH)[number];
  readonly debugModes: readonly DebugMode[];
  readonly machines: boolean;
  readonly machinesReportForeign: boolean;
  readonly releases: boolean;
  readonly releasesSecrets: boolean;
  readonly releasesNamespace: string;
  readonly deployments: NamedDeployments;
  readonly maxWaitingDeployments: number;
  readonly systemNamespace: string;
  readonly grantsNamespace: string;
  readonly heartbeatIntervalMs: number;
  readonly resyncIntervalMs: number;
  readonly pollIntervalMs: number;
  readonly reconnectSpreadMs: number;
  readonly reportIntervalMs: number;
  readonly statusIntervalMs: number;
  readonly accessCheckIntervalMs: number;
  readonly leaseName: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly identity: string;
}

const SWITCH = ["off", "on"] as const;

/** The one table: `--help`, the chart's values reference and the docs page are printed from it. */
export const AGENT_SETTINGS: SettingsOf<AgentConfig> = {
  ...PLATFORM_SETTINGS,
  managerUrl: {
    env: "SALLYPORT_MANAGER_URL",
    default: "https://sallyport-agent.sallyport-system.svc",
    doc: "Address reported in heartbeats. The platform never calls it; people see it.",
    parse: httpsUrl,
  },
  namespaces: {
    env: "SALLYPORT_NAMESPACES",
    default: "",
    doc: "Namespaces that are opened to Sallyport's accounts, comma-separated. Nothing outside them is read or operated on; for which deployment is said by the next setting, or on the deployment's object.",
    parse: namespaceList,
  },
  observedKinds: {
    env: "SALLYPORT_OBSERVED_KINDS",
    default: OBSERVED_KINDS.map(pluralOf).join(),
    doc: "Kinds that are watched in opened namespaces and reported, comma-separated, or `none`. One that is left out needs no right and is in no report.",
    parse: kindList,
  },
  observedOnDemand: {
    env: "SALLYPORT_OBSERVED_ON_DEMAND",
    default: ON_DEMAND.join(),
    doc: "What is asked for when needed and not watched, comma-separated, or `none`: events of workloads that are sick, and cpu and memory of pods. What is left out needs no right and is in no report.",
    parse: onDemandList,
  },
  observedLabelSelector: {
    env: "SALLYPORT_OBSERVED_LABEL_SELECTOR",
    default: "",
    doc: "Label selector of `kubectl -l`, sent to the API server with each list and watch of opened namespaces: what it does not select never reaches the agent. Pods and ReplicaSets of a workload need the label too, from its template. Empty: all.",
    parse: labelSelector,
  },
  observedScope: {
    env: "SALLYPORT_OBSERVED_SCOPE",
    default: "namespaces",
    doc: "namespaces: a stream a kind and opened namespace. cluster: a stream a kind, of which the agent drops at once what is of no opened namespace; for dozens of namespaces. It needs the right to read all namespaces.",
    parse: oneOf(OBSERVED_SCOPES),
  },
  observedMaxPods: {
    env: "SALLYPORT_OBSERVED_MAX_PODS",
    default: "0",
    doc: "Pods that are held in memory, of all opened namespaces together. Beyond it the pods of the namespace with the most are not watched, which the deployment's object says; the rest goes on. 0: 170 for each MiB of Node's heap, 200000 at most.",
    parse: integer(0, MOST_PODS),
  },
  observedNodes: {
    env: "SALLYPORT_OBSERVED_NODES",
    default: "off",
    doc: "on: nodes are watched, and each deployment that the customer accepts is told how many are ready, which have trouble, and the room on them. It needs a right in the whole cluster.",
    parse: oneOf(SWITCH),
  },
  redactNames: {
    env: "SALLYPORT_REDACT_NAMES",
    default: "off",
    doc: "on: reports have another name for each pod, claim, node and image, made with a salt that stays in the cluster, and no words of controllers. Results of operations have the true names.",
    parse: oneOf(SWITCH),
  },
  debugModes: {
    env: "SALLYPORT_AGENT_DEBUG_MODES",
    default: "none",
    doc: "Modes in which this cluster lets debug sessions be opened, comma-separated, or `none`: debug sessions are off, and each that the platform lists is refused. The operator has a setting of its own, and its word counts.",
    parse: modeList,
  },
  machines: {
    env: "SALLYPORT_AGENT_MACHINES",
    default: "false",
    doc: "Whether the agent passes on what the platform wants of machines, and reports them. It needs a right to nodes in the whole cluster. The operator has a setting of its own.",
    parse: truth,
  },
  machinesReportForeign: {
    env: "SALLYPORT_AGENT_MACHINES_REPORT_FOREIGN",
    default: "true",
    doc: "Whether the platform is told the names of pods and workloads that hold a drain up in namespaces that are not opened. If false, it is told only their namespace and how many there are.",
    parse: truth,
  },
  releases: {
    env: "SALLYPORT_RELEASES_ENABLED",
    default: "false",
    doc: "Whether the agent asks in the cluster for what the platform wants installed, updated or deleted, and reports how it goes. The operator has a setting of the same name.",
    parse: truth,
  },
  releasesSecrets: {
    env: "SALLYPORT_RELEASES_SECRETS",
    default: "false",
    doc: "Whether releases bring the secret values of their configuration, in a Secret that the agent makes and cannot read. The operator has the same setting. Without it such a release is refused.",
    parse: truth,
  },
  releasesNamespace: {
    env: "SALLYPORT_RELEASES_NAMESPACE",
    default: RELEASES_NAMESPACE,
    doc: "Namespace of the Secrets of releases, which holds nothing else. The operator has the same setting.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  deployments: {
    env: "SALLYPORT_DEPLOYMENTS",
    default: "",
    doc: "Deployments that the customer accepts from the start, each with its namespaces: `dep_x=shop+jobs,dep_y=shop`. Any other waits until the customer accepts its object. The operator has the same setting.",
    parse: parseNamedDeployments,
  },
  maxWaitingDeployments: {
    env: "SALLYPORT_MAX_WAITING_DEPLOYMENTS",
    default: "20",
    doc: "Most deployments shown as waiting at once, however many the platform lists. The rest are counted in a metric until there is room.",
    parse: integer(1, 200),
  },
  systemNamespace: {
    env: "SALLYPORT_SYSTEM_NAMESPACE",
    default: "sallyport-system",
    doc: "Where the agent runs and its leader lease lies.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  grantsNamespace: {
    env: "SALLYPORT_GRANTS_NAMESPACE",
    default: "sallyport-grants",
    doc: "Where grants, invocations and managed deployments lie.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  heartbeatIntervalMs: {
    env: "SALLYPORT_HEARTBEAT_INTERVAL",
    default: "60s",
    doc: "Pause between heartbeats, ±10 %. The platform shows the manager as unknown after 180 s without one.",
    parse: duration(1_000, 90_000),
  },
  resyncIntervalMs: {
    env: "SALLYPORT_RESYNC_INTERVAL",
    default: "5m",
    doc: "Everything is read again this often, ±10 %: the longest that a lost message can cost.",
    parse: duration(1_000, 3_600_000),
  },
  pollIntervalMs: {
    env: "SALLYPORT_POLL_INTERVAL",
    default: "15s",
    doc: "Pause between reads, ±10 %, when the platform has no work feed.",
    parse: duration(500, 600_000),
  },
  reconnectSpreadMs: {
    env: "SALLYPORT_RECONNECT_SPREAD",
    default: "30s",
    doc: "After the platform closed a connection, agents come back spread over this long. Shorter only for tests.",
    parse: duration(0, 600_000),
  },
  reportIntervalMs: {
    env: "SALLYPORT_REPORT_INTERVAL",
    default: "5s",
    doc: "Between two reports of one deployment while its workloads change: a rollout is many changes. What gets worse is reported sooner, up to 10 times a minute. Shorter only for tests.",
    parse: duration(100, 60_000),
  },
  statusIntervalMs: {
    env: "SALLYPORT_STATUS_INTERVAL",
    default: "15s",
    doc: "Between two writes of the status of a deployment's object while it changes. Shorter only for tests: each write is one in the API server's history.",
    parse: duration(100, 60_000),
  },
  accessCheckIntervalMs: {
    env: "SALLYPORT_ACCESS_CHECK_INTERVAL",
    default: "60s",
    doc: "Between two looks at the agent's own rights; how late a rule that is missing is noticed. A loss counts once it has lasted 10 s, and where a rule is missing the next look is within 10 s. One small request a namespace each.",
    parse: duration(1_000, 600_000),
  },
  leaseName: {
    env: "SALLYPORT_LEASE_NAME",
    default: "sallyport-agent",
    doc: "Lease that the replicas elect a leader with; of all that share it, one acts. The shipped role names this one.",
    parse: nonEmpty,
  },
  ...PROCESS_SETTINGS,
  ...ELECTION_SETTINGS,
  identity: {
    env: "SALLYPORT_IDENTITY",
    default: "",
    doc: "This replica's name in the lease, normally the pod's. Empty: host name and a random part.",
    parse: anyText,
  },
};

/** Call it with the environment. @throws ConfigError */
export function loadAgentConfig(env: Environment): AgentConfig {
  return loadSettings(AGENT_SETTINGS, env, (config) => [
    ...electionTimesProblems(config),
    ...metricsServingProblems(config),
  ]);
}

/** At most 64: as many as a ManagedDeployment can name. */
function namespaceList(text: string): readonly string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length > 64 || !names.every((name) => NAMESPACE_NAME.test(name))) {
    throw new Error("up to 64 names of namespaces, comma-separated");
  }
  return Object.freeze(names.sort());
}

function pluralOf(kind: ObservedKind): string {
  return OBSERVED[kind].resource.plural;
}

/** By the names that RBAC has for them. */
function kindList(text: string): readonly ObservedKind[] {
  const names = namesOf(text, OBSERVED_KINDS.map(pluralOf));
  return Object.freeze(OBSERVED_KINDS.filter((kind) => names.includes(pluralOf(kind))));
}

function onDemandList(text: string): readonly OnDemand[] {
  const names = namesOf(text, ON_DEMAND);
  return Object.freeze(ON_DEMAND.filter((name) => names.includes(name)));
}

function modeList(text: string): readonly DebugMode[] {
  const names = namesOf(text, DEBUG_MODES);
  return Object.freeze(DEBUG_MODES.filter((mode) => names.includes(mode)));
}

/** A wrong one would be refused with each list, and nothing would be observed. */
function labelSelector(text: string): string {
  if (text !== "" && !isLabelSelector(text)) throw new Error("a label selector, as of kubectl -l");
  return text;
}

function namesOf(text: string, known: readonly string[]): readonly string[] {
  // An empty setting is the default, so none at all has a word.
  const names = text === "none" ? [] : text.split(",").map((name) => name.trim());
  if (!names.every((name) => known.includes(name))) throw new Error(`none, or of ${known.join(", ")}`);
  return names;
}
