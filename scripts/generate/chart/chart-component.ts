import {
  type Branch,
  branch,
  count,
  flag,
  leaf,
  list,
  MEMORY,
  map,
  NAME_OR_DEFAULT,
  optional,
  PORT,
  strings,
  TEXTS,
  text,
} from "./chart-value.ts";

interface ComponentDefaults {
  readonly title: string;
  readonly replicas: number;
  readonly replicasDoc: string;
  readonly memory: readonly [request: string, limit: string];
  /** What an orderly stop needs time for, and how long at least. */
  readonly stop?: { readonly leastSeconds: number; readonly doc: string };
}

/** The values of one Deployment. */
export function component({ title, replicas, replicasDoc, memory: [request, limit], stop }: ComponentDefaults): Branch {
  return branch(`The ${title}'s Deployment.`, {
    replicas: count(replicas, 1, replicasDoc),
    serviceAccount: branch(`The ${title}'s identity; never shared with another one.`, {
      create: flag(true, "Make the account. Off: it must be there, under `name`."),
      name: text("", "Its name; empty: made from the release's.", NAME_OR_DEFAULT),
      annotations: strings("For its metadata."),
      labels: strings("For its metadata."),
    }),
    resources: optional("No CPU limit by default: throttling a renewal of the lease costs more than it saves.", {
      requests: map("What the scheduler sets aside.", { cpu: "20m", memory: request }),
      limits: leaf(
        { memory: limit },
        { type: "object", properties: { memory: MEMORY } },
        "Memory in Mi or Gi; Node's heap is set to three quarters of it. Without a limit Node sets its heap by the node's memory.",
      ),
    }),
    healthPort: leaf(8080, PORT, "Port of /livez, /readyz and, without `metrics.tls`, /metrics. Nothing else listens."),
    metricsPort: leaf(8443, PORT, "Port of /metrics with `metrics.tls`."),
    startupProbe: map("Fields over the defaults; `null`: no such probe.", { periodSeconds: 2, failureThreshold: 60 }),
    livenessProbe: map(
      "Fields over the defaults; `null`: no such probe. Asks the process about itself, never the platform or the API server.",
      {
        periodSeconds: 10,
        timeoutSeconds: 5,
        failureThreshold: 6,
      },
    ),
    readinessProbe: map("Fields over the defaults; `null`: no such probe.", { periodSeconds: 5, timeoutSeconds: 3 }),
    terminationGracePeriodSeconds: count(
      30,
      stop?.leastSeconds ?? 15,
      stop?.doc ?? "Time for an orderly stop: results are stored, the lease is given back.",
    ),
    podDisruptionBudget: branch(
      "Rendered only with more than one replica: on a single one it would block every drain.",
      {
        enabled: flag(true, "Allow one pod at a time to be evicted."),
      },
    ),
    labels: strings("Of the Deployment."),
    annotations: strings("Of the Deployment."),
    podLabels: strings("Of the pods."),
    podAnnotations: strings("Of the pods."),
    serviceAnnotations: strings("Of the headless Service in front of /metrics."),
    strategy: map("How an upgrade replaces pods: the new one is ready before the old one stops.", {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    }),
    nodeSelector: leaf({ "kubernetes.io/os": "linux" }, TEXTS, "Nodes to run on."),
    tolerations: list("Taints to stand."),
    affinity: map("Scheduling affinity."),
    topologySpreadConstraints: list("Empty, with more than one replica: spread over nodes where possible."),
    priorityClassName: text("", "Priority class of the pods.", NAME_OR_DEFAULT),
    runtimeClassName: text("", "Runtime class of the pods.", NAME_OR_DEFAULT),
    schedulerName: text("", "Scheduler of the pods.", NAME_OR_DEFAULT),
    hostAliases: list("Lines for /etc/hosts, for names that DNS does not know."),
    dnsPolicy: text("", "Where the pods ask for names."),
    dnsConfig: map("Servers, search domains and options for names."),
    extraEnv: list(
      "More environment, for instance SALLYPORT_* settings of docs/configuration.md. An entry takes the place of the chart's own of that name, for instance NODE_OPTIONS. Templates in it, and in the next ones, are filled in.",
    ),
    extraEnvFrom: list("More environment, from ConfigMaps or Secrets."),
    extraVolumes: list("More volumes; one takes the place of the chart's own of that name."),
    extraVolumeMounts: list("More mounts in the main container; one takes the place of the chart's own at that path."),
    extraContainers: list("Containers beside the main one."),
    extraInitContainers: list("Containers before the main one."),
  });
}
