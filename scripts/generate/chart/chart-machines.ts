import { component } from "./chart-component.ts";
import {
  type Branch,
  branch,
  flag,
  leaf,
  list,
  map,
  NAME_OR_DEFAULT,
  PORT,
  strings,
  text,
  words,
} from "./chart-value.ts";

/** Whether machines of the vendor's token may become nodes, and who empties them. */
export const MACHINES_VALUES: Branch = branch(
  "Machines: a Linux box with the vendor's join token becomes a node after you let it in, is emptied without breaking a budget, and leaves for good. The machine controller signs, cordons, evicts and removes; it talks to the API server alone.",
  {
    enabled: flag(
      false,
      "Render the machine controller, the join server, their rights and policies. Off: no machine can join or be drained, and the vendor is told so. Needs `rbac.scope: cluster`. A MachinePool of yours says for which deployment.",
    ),
    drain: branch("Emptying nodes by evictions.", {
      enabled: flag(true, "Off: no drain is begun and none goes on; machines join and are reported all the same."),
    }),
    allowForce: flag(
      false,
      "Give the right to delete pods, so that a drain with `force` may at its deadline, where its MachinePool allows it too. Off: a drain evicts only.",
    ),
    signServing: flag(
      false,
      "Give the right to approve certificates with which kubelets of machines serve, for a MachinePool with `serving: approve`.",
    ),
    reportForeign: flag(
      true,
      "Tell the vendor the names of pods and workloads that hold a drain up in namespaces that are not opened. Off: their namespace alone.",
    ),
    ...component({
      title: "machine controller",
      replicas: 2,
      replicasDoc: "With `machines.enabled`. One leads; the other takes over when a drain evicts it.",
      memory: ["128Mi", "384Mi"],
    }).fields,
  },
);

/** Where machines ask to join. */
export const JOIN_VALUES: Branch = branch(
  "The join server, with `machines.enabled`: machines ask it over HTTPS, and it asks the vendor's platform whether their token is good. It has no right on nodes.",
  {
    url: text(
      "",
      "Must be set with `machines.enabled`. Where machines reach it, such as https://join.customer.example:8443.",
      {
        pattern: "^(|https://[A-Za-z0-9.\\[\\]:-]+)$",
      },
    ),
    apiServer: text(
      "",
      "Where the kubelets of machines reach the API server, such as https://10.0.0.10:6443, for pools without `apiServer`.",
      { pattern: "^(|https://[A-Za-z0-9.\\[\\]:-]+)$" },
    ),
    clusterDNS: text("10.96.0.10", "Address of the cluster's DNS service, for the pods of machines.", { minLength: 1 }),
    leave: flag(
      false,
      "Let a joined machine ask by itself, with its node's certificate, that its node be emptied, where your policy or a grant allows the drain. Each client is then asked for a certificate: name who reaches the port, for a stranger could keep the server busy with long chains.",
    ),
    port: leaf(8443, PORT, "Port of the join server in its pods and of its Service."),
    tls: branch("Its certificate. Machines know it by its key, whose hash stands in each join string.", {
      existingSecret: text(
        "",
        "Secret of type kubernetes.io/tls in the release's namespace. Empty: the first replica makes a key and keeps it in the Secret sallyport-join-tls.",
        NAME_OR_DEFAULT,
      ),
    }),
    service: branch("The Service that machines reach, `<release>-join-machines`.", {
      type: words("ClusterIP", ["ClusterIP", "NodePort", "LoadBalancer"], "How it is reached from outside."),
      nodePort: leaf(
        0,
        { type: "integer", minimum: 0, maximum: 65_535 },
        "With `NodePort`: its port on each node, which `join.url` has to name. 0: Kubernetes chooses one.",
      ),
      annotations: strings("Of the Service, for instance for a load balancer."),
      loadBalancerSourceRanges: list("Addresses that may reach it; empty: any.", [], { type: "string" }),
      extra: map("More fields of its spec, such as `externalTrafficPolicy`."),
    }),
    ...component({
      title: "join server",
      replicas: 2,
      replicasDoc: "Each serves; they share the key.",
      memory: ["96Mi", "256Mi"],
    }).fields,
    metricsPort: leaf(8444, PORT, "Port of /metrics with `metrics.tls`."),
  },
);
