import { type Branch, branch, DURATION, flag, leaf, list, map, strings, text, words } from "./chart-value.ts";

const monitor = (kind: string, withoutToken: string): Branch =>
  branch(`A ${kind} for the Prometheus operator.`, {
    enabled: flag(false, "Render it, as `renderMode` says."),
    namespace: text("", "Where to put it; empty: the release's namespace."),
    labels: strings("What your Prometheus selects by, often `release: …`."),
    annotations: strings("For its metadata."),
    interval: text("30s", "Pause between scrapes.", DURATION),
    scrapeTimeout: text("10s", "Longest a scrape may take.", DURATION),
    tlsConfig: map("With `metrics.tls`: fields over the chart's own, which are `ca` and `serverName`."),
    authorization: map(
      `With \`metrics.auth\`: the token to send, as \`{credentials: {name: SECRET, key: token}}\`. Empty: ${withoutToken}.`,
    ),
    relabelings: list("Before the scrape."),
    metricRelabelings: list("After the scrape."),
  });

/** The values of metrics, alerts and dashboards. */
export function metricsValues(): Branch {
  return branch("Each object explicitly on, never because the cluster happens to know its kind.", {
    renderMode: words(
      "alwaysRender",
      ["alwaysRender", "failIfMissing", "skipIfMissing"],
      "What becomes of the Prometheus operator's objects below (ServiceMonitor, PodMonitor, PrometheusRule) where the cluster does not have their kind. `alwaysRender`: they are rendered, and the API server refuses them. `failIfMissing`: the release is refused, before anything is made. `skipIfMissing`: they are left out and named in the notes; the next upgrade after the kinds came makes them.",
    ),
    tls: branch("TLS for /metrics of agent and operator, on a port of its own.", {
      existingSecret: text(
        "",
        "Secret of the release's namespace with certificate and key; a change is taken without a restart. Empty: no TLS, and /metrics is on the health port. The certificate's names: `RELEASE-agent.NAMESPACE.svc` and the same with operator, as the Services are called.",
      ),
      certKey: text("tls.crt", "Key of the certificate in that Secret, with what its issuer adds to the chain."),
      keyKey: text("tls.key", "Key of the private key."),
      caKey: text(
        "ca.crt",
        "Key of the authority by which the monitors below have Prometheus check the certificate, where they are in the release's namespace. Empty: Prometheus' own authorities.",
      ),
    }),
    auth: branch(
      "Who may read /metrics: a bearer token that the API server knows, of a user who may `get` that path.",
      {
        enabled: flag(
          false,
          "Check it. Needs `metrics.tls`. Gives both accounts the right to ask the API server, and makes the ClusterRole `sallyport-metrics-reader` for you to bind to your Prometheus.",
        ),
      },
    ),
    serviceMonitor: monitor("ServiceMonitor", "Prometheus' own token is sent"),
    podMonitor: monitor("PodMonitor", "must be set"),
    rules: branch("A PrometheusRule with recording rules and alerts.", {
      enabled: flag(false, "Render it, as `renderMode` says."),
      namespace: text("", "Where to put it; empty: the release's namespace."),
      labels: strings("What your Prometheus selects by."),
      annotations: strings("For its metadata."),
      disabled: list(
        "Names of alerts to leave out. Here and in the next two, a name that no alert has is refused.",
        [],
        { type: "string" },
      ),
      severity: strings("Severity by alert's name, in place of the shipped one."),
      for: strings("Waiting time by alert's name, in place of the shipped one."),
      extraLabels: strings("On every alert."),
      runbookBaseUrl: text("", "In place of the shipped runbooks' address; the alert's file name follows."),
    }),
    dashboards: branch("A ConfigMap a Grafana dashboard.", {
      enabled: flag(false, "Render those that are on below."),
      cluster: flag(true, "This installation, for the people who run it."),
      fleet: flag(false, "Every installation whose metrics reach one Prometheus, for a team with several clusters."),
      namespace: text("", "Where to put them; empty: the release's namespace."),
      labels: leaf(
        { grafana_dashboard: "1" },
        { type: "object", additionalProperties: { type: "string" } },
        "What Grafana's sidecar selects by.",
      ),
      annotations: strings("For their metadata, for instance a folder."),
    }),
  });
}
