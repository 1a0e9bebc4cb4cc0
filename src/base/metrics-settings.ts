import { anyText, type Contradiction, integer, oneOf, type Setting } from "./settings.ts";

const METRICS_AUTH = ["off", "token"] as const;

/** How the metrics are served. */
export interface MetricsServing {
  readonly metricsTlsFolder: string;
  readonly metricsPort: number;
  readonly metricsAuth: (typeof METRICS_AUTH)[number];
}

/** Who reads the metrics of a process, and how: the same three settings for agent and operator. */
export const METRICS_SETTINGS = {
  metricsTlsFolder: {
    env: "SALLYPORT_METRICS_TLS_FOLDER",
    default: "",
    doc: "Folder with `tls.crt` and `tls.key`. When set, /metrics is served with TLS on its own port and no longer on the health port. Re-read when it changes.",
    parse: anyText,
  },
  metricsPort: {
    env: "SALLYPORT_METRICS_PORT",
    default: "8443",
    doc: "Port of /metrics with TLS; 0 takes a free one.",
    parse: integer(0, 65_535),
  },
  metricsAuth: {
    env: "SALLYPORT_METRICS_AUTH",
    default: "off",
    doc: "token: a reader sends a bearer token of the cluster, whose user may `get` the path /metrics; the API server is asked about both. It needs TLS, or the token would be readable on the way.",
    parse: oneOf(METRICS_AUTH),
  },
} satisfies { readonly [Name in keyof MetricsServing]: Setting<MetricsServing[Name]> };

export function metricsServingProblems(config: MetricsServing): Contradiction<MetricsServing>[] {
  if (config.metricsAuth === "off" || config.metricsTlsFolder !== "") return [];
  return [
    { setting: "metricsAuth", must: "be off without SALLYPORT_METRICS_TLS_FOLDER: tokens would travel in the clear" },
  ];
}
