import { METRICS_SETTINGS, type MetricsServing } from "./metrics-settings.ts";
import { anyText, integer, nonEmpty, type SettingsOf } from "./settings.ts";

/** How a process in the customer's cluster reaches the API server, and where it answers about itself. */
export interface ProcessSettings extends MetricsServing {
  /** Empty: in a pod, with the pod's own credentials. */
  readonly kubeconfig: string;
  readonly healthHost: string;
  readonly healthPort: number;
}

/** The same settings for each of our processes there. */
export const PROCESS_SETTINGS: SettingsOf<ProcessSettings> = {
  kubeconfig: {
    env: "SALLYPORT_KUBECONFIG",
    default: "",
    doc: "File to reach the API server with. Empty: the pod's own service account.",
    parse: anyText,
  },
  healthHost: {
    env: "SALLYPORT_HEALTH_HOST",
    default: "0.0.0.0",
    doc: "Address that /livez, /readyz and /metrics listen on.",
    parse: nonEmpty,
  },
  healthPort: {
    env: "SALLYPORT_HEALTH_PORT",
    default: "8080",
    doc: "Port of /livez, /readyz and, without TLS, /metrics; 0 takes a free one.",
    parse: integer(0, 65_535),
  },
  ...METRICS_SETTINGS,
};
