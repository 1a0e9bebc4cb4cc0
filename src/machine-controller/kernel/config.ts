import { ELECTION_SETTINGS } from "../../base/election-settings.ts";
import { metricsServingProblems } from "../../base/metrics-settings.ts";
import { PROCESS_SETTINGS, type ProcessSettings } from "../../base/process-settings.ts";
import {
  anyText,
  duration,
  type Environment,
  integer,
  loadSettings,
  matching,
  type SettingsOf,
  truth,
} from "../../base/settings.ts";
import { DEFAULT_NAMES, MACHINES_ACCOUNT, NAMESPACE_NAME, OBJECT_NAME } from "../../crds/group.ts";
import { electionTimesProblems } from "../../kube/election/election-times.ts";

/** Read once by the command line, validated, frozen, passed down. Nothing else of this room reads the environment. */
export interface MachinesConfig extends ProcessSettings {
  readonly systemNamespace: string;
  readonly grantsNamespace: string;
  /** Unique to this process: the holder of the lease, and the pod that a drain evicts last. */
  readonly identity: string;
  readonly drainEnabled: boolean;
  readonly joinEnabled: boolean;
  readonly workers: number;
  readonly sweepIntervalMs: number;
  readonly policyCheckIntervalMs: number;
  readonly leaseName: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** The one table: `--help`, the chart's values and the documentation are printed from it. */
export const MACHINES_SETTINGS: SettingsOf<MachinesConfig> = {
  systemNamespace: {
    env: "SALLYPORT_SYSTEM_NAMESPACE",
    default: DEFAULT_NAMES.systemNamespace,
    doc: "Namespace of this process; the lease lives here. A drain evicts its pods last, and force deletes none of them.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  grantsNamespace: {
    env: "SALLYPORT_GRANTS_NAMESPACE",
    default: DEFAULT_NAMES.grantsNamespace,
    doc: "Namespace of machine pools, joins and drains.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  identity: {
    env: "SALLYPORT_IDENTITY",
    default: "",
    doc: "This replica's name in the lease, and its pod's: of a node that it drains, it evicts itself last. Empty: the host's name, which in a pod is the pod's.",
    parse: anyText,
  },
  drainEnabled: {
    env: "SALLYPORT_MACHINES_DRAIN_ENABLED",
    default: "true",
    doc: "Whether drains are carried out. If false, none is begun and none goes on; cordons of deleted drains are still undone.",
    parse: truth,
  },
  joinEnabled: {
    env: "SALLYPORT_MACHINES_JOIN_ENABLED",
    default: "true",
    doc: "Whether machines that were let in are signed. If false, joins wait, and nodes renew their certificates without this process.",
    parse: truth,
  },
  workers: {
    env: "SALLYPORT_MACHINES_WORKERS",
    default: "16",
    doc: "Drains looked at at once. One asks for ten pods at a time, and for five more a second.",
    parse: integer(1, 256),
  },
  sweepIntervalMs: {
    env: "SALLYPORT_MACHINES_SWEEP_INTERVAL",
    default: "5m",
    doc: "Between two searches for nodes whose drain is gone; how long a cordon may outlive it when nothing told of it.",
    parse: duration(1_000, 3_600_000),
  },
  policyCheckIntervalMs: {
    env: "SALLYPORT_MACHINES_POLICY_CHECK_INTERVAL",
    default: "30s",
    doc: "Between two looks at the admission policies that narrow this process; how late a missing one stops it. 16 small requests each.",
    parse: duration(1_000, 600_000),
  },
  ...PROCESS_SETTINGS,
  ...ELECTION_SETTINGS,
  leaseName: {
    env: "SALLYPORT_LEASE_NAME",
    default: MACHINES_ACCOUNT,
    doc: "Lease that the replicas elect a leader with. The Role of the process lets it write the one of its account's name.",
    parse: matching(OBJECT_NAME, "the name of an object"),
  },
};

/** Call it with the environment. @throws ConfigError */
export function loadMachinesConfig(env: Environment): MachinesConfig {
  return loadSettings(MACHINES_SETTINGS, env, (config) => [
    ...electionTimesProblems(config),
    ...metricsServingProblems(config),
  ]);
}
