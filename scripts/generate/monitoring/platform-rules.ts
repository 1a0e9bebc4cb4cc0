import { ROUTES } from "../../../src/contract/table.ts";
import { gone, type RuleGroup, WHERE_KNOWN } from "./rule.ts";

const BY = "by (cluster, namespace)";
/** Calls that the platform holds on purpose, and paths that are not the API's. */
const UNTIMED = [
  ...Object.values(ROUTES)
    .flatMap((area) => Object.values(area))
    .filter((route) => "longPoll" in route)
    .map(({ path }) => path),
  "none",
];
/**
 * A label's value may hold `{id}`. In a regular expression its braces are escaped, twice because PromQL unescapes once.
 */
const UNTIMED_PATTERN = UNTIMED.map((path) => path.replaceAll(/[{}]/g, "\\\\$&")).join("|");

/** What the vendor's Prometheus watches: the Management API. */
export const PLATFORM_RULES: readonly RuleGroup[] = [
  {
    name: "sallyport-platform.rules",
    recordings: [
      {
        record: "cluster_namespace:sallyport_http_request_errors:ratio_rate5m",
        expr: `sum ${BY} (rate(sallyport_http_requests_total{code_class="5xx"}[5m]))
          / (sum ${BY} (rate(sallyport_http_requests_total[5m])) > 0)`,
      },
      {
        record: "cluster_namespace:sallyport_http_request_duration_seconds:p99_5m",
        expr: `histogram_quantile(0.99, sum by (cluster, namespace, le)
          (rate(sallyport_http_request_duration_seconds_bucket{route!~"${UNTIMED_PATTERN}"}[5m])))`,
      },
    ],
  },
  {
    name: "sallyport-platform",
    alerts: [
      {
        name: "SallyportPlatformDown",
        severity: "critical",
        expr: gone("sallyport_platform_build_info"),
        for: "5m",
        summary: `No Sallyport platform is seen${WHERE_KNOWN}.`,
        description: "Prometheus scrapes none. Agents go on with what they know; engineers and agents get no answers.",
      },
      {
        name: "SallyportPlatformErrors",
        severity: "critical",
        expr: "cluster_namespace:sallyport_http_request_errors:ratio_rate5m > 0.05",
        for: "5m",
        summary: "The platform in {{ $labels.namespace }} answers with errors of its own.",
        description: "{{ $value | humanizePercentage }} of its answers are 5xx.",
      },
      {
        name: "SallyportPlatformSlow",
        severity: "warning",
        expr: "cluster_namespace:sallyport_http_request_duration_seconds:p99_5m > 1",
        for: "10m",
        summary: "The platform in {{ $labels.namespace }} is slow.",
        description: "One request in a hundred takes {{ $value | humanizeDuration }} or longer, long-polls left out.",
      },
      {
        name: "SallyportPlatformDatabaseBusy",
        severity: "warning",
        expr: `max by (cluster, namespace, pod) (sallyport_database_connections_waiting) > 0
          and on (cluster, namespace, pod) sallyport_database_connections_busy >= sallyport_database_connections_max`,
        for: "5m",
        summary: "{{ $labels.pod }} has no free connection to the database.",
        description: "{{ $value }} requests are in line for one.",
      },
      {
        name: "SallyportPlatformSweepFailing",
        severity: "warning",
        expr: `sum by (cluster, namespace, sweep) (increase(sallyport_sweeps_total{result="failed"}[15m])) > 0
          unless sum by (cluster, namespace, sweep) (increase(sallyport_sweeps_total{result="ok"}[15m])) > 0`,
        for: "5m",
        summary: "The sweep {{ $labels.sweep }} of the platform in {{ $labels.namespace }} fails.",
        description: "What should expire or be cleaned up is not.",
      },
    ],
  },
];
