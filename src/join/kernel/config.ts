import { httpsUrl, PLATFORM_SETTINGS, type PlatformSettings } from "../../api-client/platform-settings.ts";
import { metricsServingProblems } from "../../base/metrics-settings.ts";
import { PROCESS_SETTINGS, type ProcessSettings } from "../../base/process-settings.ts";
import {
  anyText,
  type Environment,
  integer,
  loadSettings,
  matching,
  nonEmpty,
  type SettingsOf,
  truth,
} from "../../base/settings.ts";
import { DEFAULT_NAMES, NAMESPACE_NAME } from "../../crds/group.ts";

/** Read once by the command line, validated, frozen, passed down. Nothing else of this room reads the environment. */
export interface JoinConfig extends ProcessSettings, PlatformSettings {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly tlsFolder: string;
  readonly apiServer: string;
  readonly caFile: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly mayLeave: boolean;
  readonly systemNamespace: string;
  readonly grantsNamespace: string;
}

/** The one table: `--help`, the chart's values and docs/configuration.md are printed from it. */
export const JOIN_SETTINGS: SettingsOf<JoinConfig> = {
  ...PLATFORM_SETTINGS,
  url: {
    env: "SALLYPORT_JOIN_URL",
    default: undefined,
    doc: "Where machines reach the join server, such as https://join.customer.example:8443. It stands in each join string.",
    parse: origin,
  },
  host: {
    env: "SALLYPORT_JOIN_HOST",
    default: "0.0.0.0",
    doc: "Address that the join server listens on.",
    parse: nonEmpty,
  },
  port: {
    env: "SALLYPORT_JOIN_PORT",
    default: "8443",
    doc: "Port of the join server; 0 takes a free one.",
    parse: integer(0, 65_535),
  },
  tlsFolder: {
    env: "SALLYPORT_JOIN_TLS_FOLDER",
    default: "",
    doc: "Folder with tls.crt and tls.key of the join server, read again when they change. Empty: the first replica makes a key and keeps it in the Secret sallyport-join-tls.",
    parse: anyText,
  },
  apiServer: {
    env: "SALLYPORT_JOIN_API_SERVER",
    default: "",
    doc: "Where the kubelets of machines reach the API server, such as https://10.0.0.10:6443, for pools without apiServer.",
    parse: (text) => (text === "" ? "" : origin(text)),
  },
  caFile: {
    env: "SALLYPORT_JOIN_CA_FILE",
    default: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
    doc: "The authority of the API server's certificate, which each machine gets. Read again each minute.",
    parse: nonEmpty,
  },
  clusterDns: {
    env: "SALLYPORT_JOIN_CLUSTER_DNS",
    default: "10.96.0.10",
    doc: "Address of the cluster's DNS service, for the pods of machines.",
    parse: matching(/^[0-9A-Fa-f.:]{2,45}$/, "an IP address"),
  },
  clusterDomain: {
    env: "SALLYPORT_JOIN_CLUSTER_DOMAIN",
    default: "cluster.local",
    doc: "The cluster's DNS domain, for the pods of machines.",
    parse: matching(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, "a DNS domain"),
  },
  mayLeave: {
    env: "SALLYPORT_JOIN_LEAVE",
    default: "false",
    doc: "Whether a joined machine may ask by itself that its node be emptied. Each client is then asked for a certificate, and to judge a long chain costs up to a third of a second.",
    parse: truth,
  },
  systemNamespace: {
    env: "SALLYPORT_SYSTEM_NAMESPACE",
    default: DEFAULT_NAMES.systemNamespace,
    doc: "Where the join server runs and the Secret with its key lies.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  grantsNamespace: {
    env: "SALLYPORT_GRANTS_NAMESPACE",
    default: DEFAULT_NAMES.grantsNamespace,
    doc: "Where machine pools and joins lie.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  ...PROCESS_SETTINGS,
};

/** Call it with the environment. @throws ConfigError */
export function loadJoinConfig(env: Environment): JoinConfig {
  return loadSettings(JOIN_SETTINGS, env, metricsServingProblems);
}

/** As status.joinServer and the platform take it: an address without a path, which can stand in a line that people paste. */
const ORIGIN = /^https:\/\/([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/;

function origin(text: string): string {
  const plain = text.replace(/\/$/, "");
  if (!ORIGIN.test(plain) || plain.length > 256) throw new Error("an address such as https://10.0.0.10:6443");
  httpsUrl(plain);
  return plain;
}
