import { PLATFORM_SETTINGS, type PlatformSettings } from "../../api-client/platform-settings.ts";
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
  nonEmpty,
  oneOf,
  type SettingsOf,
  truth,
} from "../../base/settings.ts";
import { NAMESPACE_NAME } from "../../crds/group.ts";
import { quantityOf } from "../../kube/objects/quantity.ts";

const RECORDING = ["required", "off"] as const;

/** Read once by the command line, validated, frozen, passed down. Nothing else of this room reads the environment. */
export interface TunnelConfig extends ProcessSettings, PlatformSettings {
  readonly grantsNamespace: string;
  readonly debugNamespace: string;
  readonly spoolFolder: string;
  readonly spoolBytes: number;
  readonly sessionSpoolBytes: number | undefined;
  readonly idleMs: number;
  readonly maxTtlMs: number;
  readonly maxConcurrent: number;
  readonly recording: (typeof RECORDING)[number];
  readonly upload: boolean;
  readonly uploadHosts: readonly string[];
  readonly strict: boolean;
  readonly identity: string;
}

/** The one table: `--help`, the chart's values and docs/configuration.md are printed from it. */
export const TUNNEL_SETTINGS: SettingsOf<TunnelConfig> = {
  ...PLATFORM_SETTINGS,
  grantsNamespace: {
    env: "SALLYPORT_GRANTS_NAMESPACE",
    default: "sallyport-grants",
    doc: "Where debug sessions lie.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  debugNamespace: {
    env: "SALLYPORT_TUNNEL_DEBUG_NAMESPACE",
    default: "sallyport-debug",
    doc: "Where the accounts of debug sessions lie. The tunnel mints tokens of accounts there and nowhere else.",
    parse: matching(NAMESPACE_NAME, "the name of a namespace"),
  },
  spoolFolder: {
    env: "SALLYPORT_TUNNEL_SPOOL_FOLDER",
    default: "/var/lib/sallyport/spool",
    doc: "Folder for audit files and recordings. They stay until they are uploaded; what a killed process left is finished at the next start.",
    parse: nonEmpty,
  },
  spoolBytes: {
    env: "SALLYPORT_TUNNEL_SPOOL_SIZE",
    default: "256Mi",
    doc: "Most bytes in that folder. Without room for one more session's share, and nothing uploaded that can go, no session is taken: nothing runs without a record.",
    parse: bytes,
  },
  sessionSpoolBytes: {
    env: "SALLYPORT_TUNNEL_SESSION_SPOOL_SIZE",
    default: "",
    doc: "Most bytes of one session's audit and recording in that folder: a session that needs more ends, and takes no room of another. Empty: the folder's size divided by the sessions at once and one, 64Mi by default.",
    parse: (text) => (text === "" ? undefined : bytes(text)),
  },
  idleMs: {
    env: "SALLYPORT_TUNNEL_IDLE",
    default: "15m",
    doc: "A session ends after this long without a byte from the engineer; what kubectl sends by itself is none. At most 15m: the platform ends a session after so long without a byte of any kind.",
    parse: duration(1_000, 900_000),
  },
  maxTtlMs: {
    env: "SALLYPORT_TUNNEL_MAX_TTL",
    default: "1h",
    doc: "A session ends this long after the tunnel took it, whatever it was opened for.",
    parse: duration(1_000, 28_800_000),
  },
  maxConcurrent: {
    env: "SALLYPORT_TUNNEL_MAX_CONCURRENT",
    default: "3",
    doc: "Sessions that this process serves at once. One takes 8 MiB of memory at most, and its streams.",
    parse: integer(1, 16),
  },
  recording: {
    env: "SALLYPORT_TUNNEL_RECORDING",
    default: "required",
    doc: "required: what an exec shows is recorded, and one that cannot be recorded is refused. off: nothing is recorded but the audit.",
    parse: oneOf(RECORDING),
  },
  upload: {
    env: "SALLYPORT_TUNNEL_UPLOAD",
    default: "true",
    doc: "Whether audit files and recordings go to the platform's storage at the end. If false they stay in the spool, oldest removed first; the audit's lines are on standard output in both cases.",
    parse: truth,
  },
  uploadHosts: {
    env: "SALLYPORT_TUNNEL_UPLOAD_HOSTS",
    default: "",
    doc: "Hosts, comma-separated and with a port unless it is 443, to which the platform may let these files be sent beside its own, such as my-bucket.s3.eu-central-1.amazonaws.com. A file whose address has another host is not sent.",
    parse: hosts,
  },
  strict: {
    env: "SALLYPORT_TUNNEL_STRICT",
    default: "true",
    doc: "Whether every session closes when the API server has been silent for 30 s: the customer's end of a session could not be heard.",
    parse: truth,
  },
  identity: {
    env: "SALLYPORT_IDENTITY",
    default: "",
    doc: "This replica's name in the status of the sessions that it serves, normally the pod's. Empty: host name and a random part.",
    parse: anyText,
  },
  ...PROCESS_SETTINGS,
};

/** Call it with the environment. @throws ConfigError */
export function loadTunnelConfig(env: Environment): TunnelConfig {
  return loadSettings(TUNNEL_SETTINGS, env, (config) => [...metricsServingProblems(config), ...spoolProblems(config)]);
}

function spoolProblems({ spoolBytes, sessionSpoolBytes = 0 }: TunnelConfig): readonly Contradiction<TunnelConfig>[] {
  if (sessionSpoolBytes <= spoolBytes) return [];
  return [{ setting: "sessionSpoolBytes", must: `not be more than ${TUNNEL_SETTINGS.spoolBytes.env}` }];
}

/** As `URL.host` has them, which leaves the default port out. */
function hosts(text: string): readonly string[] {
  const names = text.split(",").flatMap((each) => each.trim() || []);
  return names.map((name) => {
    const url = URL.parse(`https://${name}`);
    if (url === null || url.href !== `https://${url.host}/` || /[/*]/.test(name)) {
      throw new Error("hosts such as storage.example.com or storage.example.com:9000, comma-separated");
    }
    return url.host;
  });
}

const LEAST_BYTES = 1_048_576;

function bytes(text: string): number {
  const found = quantityOf(text);
  if (found === undefined || found < LEAST_BYTES) throw new Error("a size such as 256Mi, at least 1Mi");
  return Math.floor(found);
}
