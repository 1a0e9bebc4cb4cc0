/** A kind of change as Artifact Hub names it. */
type ChangeKind = "added" | "changed" | "fixed" | "security";

interface ChartChange {
  readonly kind: ChangeKind;
  readonly description: string;
}

/** What each version changed for the person who installs, the newest first: CHANGELOG.md and Chart.yaml are made from it. */
export const CHART_CHANGES: readonly { readonly version: string; readonly changes: readonly ChartChange[] }[] = [
  {
    version: "0.1.0",
    changes: [
      { kind: "added", description: "Agent, operator, custom resources, admission policies and roles for one cluster" },
      {
        kind: "added",
        description: "Roles for a person who installs with rbac.scope=namespaces, in deploy/manifests/installer.yaml",
      },
      { kind: "added", description: "CiliumNetworkPolicies that let pods to hosts by name" },
      {
        kind: "added",
        description:
          "namespaceOverride, strategy, schedulerName, hostAliases, dnsPolicy, dnsConfig and scheduling under global",
      },
      { kind: "added", description: "policies and people.bindings: your rules and approvers, with the first install" },
      { kind: "added", description: "A second installation in a cluster is refused, with the name of the first" },
      { kind: "added", description: "A release that names a missing namespace is refused before anything is made" },
      {
        kind: "added",
        description:
          "metrics.tls and metrics.auth: TLS for /metrics, for readers whose token and right the API server confirms",
      },
      { kind: "added", description: "metrics.renderMode, for clusters that may lack the Prometheus operator's kinds" },
      {
        kind: "added",
        description:
          "observe.kinds: the agent reads ReplicaSets, Jobs, CronJobs, claims and disruption budgets too, and each kind can be switched off",
      },
      {
        kind: "added",
        description: "observe.events: the agent asks for the last events of a workload that is sick, and tells them",
      },
      {
        kind: "added",
        description: "observe.metrics: the agent reads the cpu and memory of pods from metrics.k8s.io, and tells them",
      },
      {
        kind: "added",
        description: "observe.labelSelector: only objects that it selects are watched and reported",
      },
      {
        kind: "added",
        description: "observe.nodes, off by default: the agent reads nodes and tells how many are ready and have room",
      },
      {
        kind: "added",
        description:
          "observe.scope=cluster: one stream a kind in place of one a kind and namespace, for dozens of namespaces",
      },
      {
        kind: "added",
        description:
          "observe.maxPods: how many pods the agent holds, by its memory limit; beyond it the largest namespace's are not watched",
      },
      {
        kind: "added",
        description: "observe.redactNames, off by default: reports have no name of a pod, claim, node or image",
      },
      {
        kind: "added",
        description:
          "debugSessions and tunnel, off by default: engineers of the vendor use kubectl in an opened namespace, each time after your approval",
      },
      {
        kind: "added",
        description:
          "machines and join, off by default: a machine with the vendor's token becomes a node after you let it in, and nodes are drained after your approval",
      },
      {
        kind: "added",
        description:
          "releases, off by default: what the vendor promotes is planned, shown, and installed in opened namespaces after your approval",
      },
      {
        kind: "added",
        description:
          "plugins, off by default: operations of the vendor's own, each with a role of the rules that stand in the values",
      },
      {
        kind: "added",
        description:
          "A receipt of each request that is over, in a chain for each deployment; the operator may patch the status of ManagedDeployments for it, and an admission policy narrows that",
      },
      { kind: "changed", description: "Nothing runs by itself until a policy of yours says so: also what only reads" },
      {
        kind: "changed",
        description: "A deployment of the vendor is served only after you accept it, by value or by kubectl",
      },
      { kind: "changed", description: "A rule of a policy that names an operation which does not exist is refused" },
      { kind: "changed", description: "Pods run on nodes with kubernetes.io/os=linux" },
      { kind: "changed", description: "Helm 4 deletes the pod of a helm test that has passed" },
      { kind: "changed", description: "A proxy is written with its scheme, and platform.url without a user" },
      { kind: "fixed", description: "rbac.scope can be changed on a live release, also while a plan runs" },
      {
        kind: "fixed",
        description: "extraEnv, extraVolumes and extraVolumeMounts take the place of the chart's own entries",
      },
      { kind: "fixed", description: "Names, labels and annotations that look like numbers are taken by the server" },
      {
        kind: "security",
        description: "A proxy's password is in a Secret, and no message prints the password of a URL",
      },
    ],
  },
];

/** CHANGELOG.md of the chart. */
export function changelog(): string {
  const sections = CHART_CHANGES.map(
    ({ version, changes }) =>
      `## ${version}\n\n${changes.map(({ kind, description }) => `- ${kind}: ${description}.`).join("\n")}`,
  );
  return `${["<!-- Made by `npm run generate` from scripts/generate/chart/chart-changes.ts. Do not edit. -->", "# Changes of the chart", ...sections].join("\n\n")}\n`;
}
