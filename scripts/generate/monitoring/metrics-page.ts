import { type CatalogueMetric, COMPONENTS, type Component } from "./metric-catalogue.ts";
import { type Alert, line, type Recording, type RuleGroup, runbookFile } from "./rule.ts";

/** A label with more values has its own list: routes, error codes. */
const MOST_VALUES = 14;

const ABOUT: Readonly<Record<Component, string>> = {
  agent:
    "Port `agent.healthPort` (8080), with TLS `agent.metricsPort` (8443); path `/metrics`. Only the leader talks to the platform: put replicas together with `max`.",
  operator:
    "Port `operator.healthPort` (8080), with TLS `operator.metricsPort` (8443); path `/metrics`. Every replica counts the grants: put replicas together with `max`.",
  tunnel:
    "There where debug sessions are enabled. Port 8080, path `/metrics`. Every replica counts what it serves: add replicas up.",
  join: "There where machines may join. Port 8080, path `/metrics`. Every replica counts what it answers: add replicas up.",
  "machine-controller":
    "There where machines are enabled. Port 8080, path `/metrics`. Every replica counts joins and drains, the leader alone what it does: put replicas together with `max`.",
  platform:
    "Port `SALLYPORT_PLATFORM_METRICS_PORT`, path `/metrics`; off unless it is set, and apart from the API's port.",
};

/** docs/metrics.md: the metrics of each process, and the rules and dashboards made of them. */
export function metricsPage(
  metrics: readonly CatalogueMetric[],
  cluster: readonly RuleGroup[],
  platform: readonly RuleGroup[],
): string {
  const shared = metrics.filter(({ components, isDefault }) => components.length > 1 && !isDefault);
  return `${[
    "<!-- Made by `npm run generate` from the code that sets the metrics, and from scripts/generate/*-rules.ts. Do not edit. -->",
    "# Metrics and alerts",
    INTRODUCTION,
    ACCESS,
    ...COMPONENTS.flatMap((component) => [
      `## ${(component[0]?.toUpperCase() + component.slice(1)).replace("-", " ")}`,
      ABOUT[component],
      table(metrics.filter(({ components }) => components.length === 1 && components[0] === component)),
    ]),
    "## More than one process in the cluster",
    "Under the names of client-go and controller-runtime, so that dashboards made for those light up; a few in their\nmanner where they have none. `sallyport_grants` is counted by both, each from its own cache; debug sessions are by\nall three, each by what it sees: put them together with `max`.",
    table(shared),
    "## Every process",
    "`process_*` and `nodejs_*` are prom-client's own: CPU, resident memory, open files, heap by space, garbage collection,\nand `nodejs_eventloop_lag_*`, how late the event loop comes.",
    "## Recording rules",
    recordingTable([...cluster, ...platform].flatMap(({ recordings = [] }) => recordings)),
    "## Alerts",
    "Each links to its runbook. The chart renders those of agent and operator with `metrics.rules.enabled`; the platform's\nare `deploy/monitoring/platform-alerts.yaml`, a rule file for the vendor's own Prometheus.",
    "### Of an installation",
    alertTable(cluster.flatMap(({ alerts = [] }) => alerts)),
    "### Of the platform",
    alertTable(platform.flatMap(({ alerts = [] }) => alerts)),
  ].join("\n\n")}\n`;
}

const ACCESS = `## Who may read them

As installed, \`/metrics\` of agent and operator is plain HTTP on the health port: every pod that a NetworkPolicy does not keep
away can read it. To have TLS, and only readers that you named:

\`\`\`yaml
metrics:
  tls:
    existingSecret: sallyport-metrics-tls
  auth:
    enabled: true
  serviceMonitor:
    enabled: true
\`\`\`

The Secret is in the release's namespace and has \`tls.crt\`, \`tls.key\` and, for Prometheus, \`ca.crt\`. The certificate has the
names of both Services. With cert-manager:

\`\`\`yaml
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: sallyport-metrics, namespace: sallyport-system}
spec:
  secretName: sallyport-metrics-tls
  dnsNames: [sallyport-agent.sallyport-system.svc, sallyport-operator.sallyport-system.svc]
  issuerRef: {name: your-issuer, kind: ClusterIssuer}
\`\`\`

Then let your Prometheus read, by its account:

\`\`\`sh
kubectl create clusterrolebinding sallyport-metrics --clusterrole=sallyport-metrics-reader --serviceaccount=monitoring:prometheus-k8s
\`\`\`

| | |
|---|---|
| the port | \`agent.metricsPort\`, \`operator.metricsPort\` (8443), TLS 1.2 and 1.3. \`/livez\` and \`/readyz\` stay plain on the health port, which then has no \`/metrics\` |
| a renewed certificate | read again within 10 seconds of the kubelet's update, for new connections; nothing restarts. A pair that does not fit is not taken, and the log says so |
| no token, or one that the API server does not take | 401 |
| a token whose user may not \`get\` the path \`/metrics\` | 403 |
| the API server does not answer, or the right to ask it is missing | 503: readers are refused, and the log says why |
| how long an answer counts | 60 seconds for a yes, 10 for a no. Kept under the token's SHA-256, at most 128 of each; the token itself is not kept |
| a flood of bad tokens | costs the API server at most 5 questions at once and 1 a second for an address, 20 and 5 for all of them; the rest get 429. A reader that was let in before has a share of its own |
| a ServiceMonitor | has \`scheme: https\`, the name to check and, in the release's namespace, \`ca.crt\`. It sends Prometheus' own token; \`authorization\` names another. In another namespace put a copy of \`ca.crt\` there, and name it in \`tlsConfig\` |
| a PodMonitor | the same, but needs \`authorization\`: it cannot send Prometheus' own token |`;

const INTRODUCTION = `In your values:

\`\`\`yaml
metrics:
  serviceMonitor:
    enabled: true
    labels: {release: kube-prometheus-stack}
  rules:
    enabled: true
    labels: {release: kube-prometheus-stack}
  dashboards:
    enabled: true
\`\`\`

Then \`helm upgrade\` with all your values, as in [upgrade.md](upgrade.md#upgrade).

The objects of the Prometheus operator are made whether the cluster has their kinds or not; where it has not, the API server
refuses the release. For one set of values over clusters with and without that operator: \`metrics.renderMode: skipIfMissing\` leaves
them out and says so in the notes, \`failIfMissing\` refuses the release with the kind's name. A renderer without the cluster
(\`helm template\`) is told of the kinds with \`--api-versions monitoring.coreos.com/v1/ServiceMonitor\`; Argo CD and Flux know them.

The label is what your Prometheus operator selects by; \`kubectl get prometheus -A -o yaml | grep -A3 Selector\` tells.
Without that operator, scrape the pods on their port \`health\`, path \`/metrics\`; with TLS, on their port \`metrics\` ([below](#who-may-read-them)).

Base units, \`_total\` on what only grows, \`_timestamp_seconds\` for "when last" (0: never). Every counter is there from the
start with every value of its labels, at 0, so that \`rate()\` sees the first event. Labels are closed lists from the code;
names, ids, addresses and error texts are in the logs, never here.

Rules and dashboards group by \`cluster\` and \`namespace\`. \`namespace\` and \`pod\` come from the ServiceMonitor; \`cluster\` is yours
to add, where one Prometheus sees several: \`metrics.serviceMonitor.relabelings\`, or the label that your aggregation adds.

| Dashboard | Shows | Where it is |
|---|---|---|
| Sallyport / Cluster | one installation, to the people who run it | in the chart: \`metrics.dashboards.cluster\`, on by default |
| Sallyport / Fleet | every installation whose metrics reach one Prometheus: a customer with several clusters, or the vendor | in the chart: \`metrics.dashboards.fleet\`, off by default |
| Sallyport / Platform | the vendor's platform | not in the chart, which customers install: import \`deploy/monitoring/platform-dashboard.json\` |

The chart makes no dashboard before \`metrics.dashboards.enabled\` is true. In the chart's folder they are \`files/dashboards/*.json\`.

What it looks like, in Prometheus's own pages: requests that come, are decided and run, then the platform goes away
(\`node scripts/screenshots.ts\` plays it; the alerts' waiting times are cut to 20 s in it).

![Grants by state, and the age of the last heartbeat, which begins to grow](images/graphs.png)

![Four of the alerts fire: three at the agent, one at the platform](images/alerts.png)`;

function table(metrics: readonly CatalogueMetric[]): string {
  const rows = metrics.map(
    ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labelCell(name, labels)} | ${help} |`,
  );
  return ["| Metric | Type | Labels | Tells |", "|---|---|---|---|", ...rows].join("\n");
}

function labelCell(name: string, labels: CatalogueMetric["labels"]): string {
  const isOpen = name.endsWith("_build_info");
  const cells = Object.entries(labels).map(([label, values]) => {
    if (isOpen || values.length === 0 || (values.length === 1 && values[0] === "")) return `\`${label}\``;
    if (values.length > MOST_VALUES) return `\`${label}\` (a list in the code)`;
    return `\`${label}\`: ${values.map((value) => (value === "" ? '""' : value)).join(", ")}`;
  });
  return cells.join("; ") || "–";
}

function recordingTable(recordings: readonly Recording[]): string {
  const rows = recordings.map(({ record, expr }) => `| \`${record}\` | ${code(expr)} |`);
  return ["| Record | Is |", "|---|---|", ...rows].join("\n");
}

function alertTable(alerts: readonly Alert[]): string {
  const rows = alerts.map((alert) => {
    const { name, severity, expr, for: wait } = alert;
    return `| [${name}](runbooks/${runbookFile(alert)}) | ${severity} | ${code(expr)} | ${wait} |`;
  });
  return ["| Alert | Severity | When | For |", "|---|---|---|---|", ...rows].join("\n");
}

/** A `|` inside a table's cell would end the cell, also between back-ticks. */
function code(expr: string): string {
  return `\`${line(expr).replaceAll("|", "\\|")}\``;
}
