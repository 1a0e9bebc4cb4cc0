import { OPERATION_POLICY_VALUES, QUOTA_VALUES } from "./chart-bounds.ts";
import { component } from "./chart-component.ts";
import { DEBUG_VALUES } from "./chart-debug.ts";
import { PEOPLE_BINDINGS, POLICIES } from "./chart-decisions.ts";
import { JOIN_VALUES, MACHINES_VALUES } from "./chart-machines.ts";
import { metricsValues } from "./chart-metrics.ts";
import { OBSERVE_VALUES } from "./chart-observe.ts";
import { OPERATION_VALUES } from "./chart-operations.ts";
import { PLUGIN_VALUES } from "./chart-plugins.ts";
import { RELEASES_VALUES } from "./chart-releases.ts";
import {
  type Branch,
  branch,
  CIDRS,
  DURATION,
  flag,
  leaf,
  list,
  map,
  NAME_OR_DEFAULT,
  NAMESPACE,
  needed,
  PORT,
  strings,
  text,
  words,
} from "./chart-value.ts";

/** Every value of the chart, in the order of values.yaml. */
export function chartValues(): Branch {
  return branch("", {
    global: leaf(
      { imageRegistry: "", imagePullSecrets: [] },
      { type: "object" },
      "Shared with a parent chart: `imageRegistry` wins over `image.registry`, `imagePullSecrets` and `nodeSelector` are added; `tolerations`, `affinity`, `priorityClassName`, `runtimeClassName`, `schedulerName`, `hostAliases`, `dnsPolicy` and `dnsConfig` count where a component has none of its own.",
    ),
    nameOverride: text("", "In place of the chart's name.", NAME_OR_DEFAULT),
    fullnameOverride: text("", "In place of release and chart name, in the names of objects.", NAME_OR_DEFAULT),
    namespaceOverride: leaf(
      "",
      { ...NAMESPACE, pattern: `^(|${NAMESPACE.pattern.slice(1, -1)})$` },
      "Namespace of the Deployments in place of the release's, for a parent chart. `helm test --logs` finds pods in the release's only.",
    ),
    commonLabels: strings("On every object."),
    commonAnnotations: strings("On every object."),
    platform: branch("The vendor's side.", {
      url: text("", "Must be set. The vendor's platform, https."),
    }),
    runtimeKey: branch("The agent's credential at the platform.", {
      existingSecret: text(
        "",
        "Secret of the release's namespace that holds it. Its content may change at any time; nothing needs a restart.",
      ),
      existingSecretKey: text("key", "Key in that Secret.", { minLength: 1 }),
      value: text(
        "",
        "The credential itself, for trials: it ends up in Helm's release. Not together with `existingSecret`.",
      ),
      overlap: text(
        "15m",
        "How long the key before the last change is still tried when the new one is refused.",
        DURATION,
      ),
    }),
    namespaces: leaf(
      [],
      { type: "array", items: NAMESPACE, maxItems: 64, uniqueItems: true },
      "Namespaces opened to the two accounts beside those of `deployments`: for which deployment they are used is said later, with kubectl. Nothing outside of them. They must exist.",
    ),
    deployments: leaf(
      {},
      {
        type: "object",
        maxProperties: 64,
        patternProperties: {
          "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$": {
            type: "array",
            items: NAMESPACE,
            minItems: 1,
            maxItems: 64,
            uniqueItems: true,
          },
        },
        additionalProperties: false,
      },
      "Deployments that you accept from the start, by their id at the vendor, each with its namespaces: `dep_…: [shop]`. These namespaces are opened, their workloads' health is reported to this deployment alone, and granted operations run in them. Any other deployment waits until you accept it.",
    ),
    checkNamespaces: flag(
      true,
      "Refuse a release whose namespaces are missing, as far as helm sees the cluster. Off: where the same release makes them, or where you may not read namespaces.",
    ),
    grantsNamespace: leaf(
      "sallyport-grants",
      NAMESPACE,
      "Where requests, runs, policies and the accounts of grants live. Never the release's own namespace.",
    ),
    createGrantsNamespace: flag(true, "Make that namespace; it stays when the chart goes, with the records in it."),
    image: branch("One image for agent, operator, tunnel and the test.", {
      registry: text("", "Host of the registry; empty: the container runtime's default."),
      repository: text("sallyport/sallyport", "Path in the registry.", { minLength: 1 }),
      tag: text("", "Empty: the chart's appVersion. `latest` is refused."),
      digest: text("", "Wins over the tag.", { pattern: "^(sha256:[0-9a-f]{64})?$" }),
      pullPolicy: words("IfNotPresent", ["Always", "IfNotPresent", "Never"], "When to pull."),
    }),
    imagePullSecrets: list("Secrets of the release's namespace to pull with, by name or as `{name: …}`.", [], {
      type: ["string", "object"],
    }),
    crds: branch("The custom resource definitions.", {
      enabled: flag(true, "Install and upgrade them with the chart. Off: apply crds/*.yaml yourself, before."),
      keep: flag(true, "Leave them, and every record, when the chart is uninstalled."),
    }),
    admission: branch("Who may decide, and what the operator may hand out, enforced by the API server.", {
      mode: words(
        "validating-and-mutating",
        ["validating-and-mutating", "validating-only", "external"],
        "`validating-and-mutating` needs Kubernetes 1.36 and stamps the approver's name; `validating-only` checks a name that the approver types; `external`: you apply deploy/manifests/policies.yaml yourself. Never chosen by what the server has.",
      ),
    }),
    lending: branch("Who lends an operation's role to the account of an approved grant.", {
      mode: words(
        "operator",
        ["operator", "approver"],
        "`operator`: the operator, for each run. `approver`: the person who approves, with one more command; the operator then holds no `bind` at all, and a stolen one cannot act without a second door. See docs/approvers.md.",
      ),
    }),
    operationPolicy: OPERATION_POLICY_VALUES,
    policies: POLICIES,
    quota: QUOTA_VALUES,
    rbac: branch("What the accounts may do; each rule with its reason in docs/permissions.md.", {
      create: flag(true, "Render roles and bindings. Off: apply them yourself."),
      scope: words(
        "cluster",
        ["cluster", "namespaces"],
        "`cluster`: roles are ClusterRoles, bound only in the opened namespaces. `namespaces`: a Role each in these namespaces instead; one ClusterRole remains, to look whether the admission policies are there.",
      ),
      selfCheck: flag(
        true,
        "That ClusterRole. Off: the operator does not look at the admission policies, calls no decision's name verified, and no alert tells that one is missing.",
      ),
    }),
    people: branch(
      "Roles for you to bind in the grants namespace: viewer, approver, approver for read-only, on-call, policy admin.",
      {
        create: flag(true, "Render them."),
        aggregateToView: flag(true, "Add the viewer's rights to the built-in roles view, edit and admin."),
        bindings: PEOPLE_BINDINGS,
      },
    ),
    operations: OPERATION_VALUES,
    plugins: PLUGIN_VALUES,
    debugSessions: DEBUG_VALUES,
    releases: RELEASES_VALUES,
    observe: OBSERVE_VALUES,
    proxy: branch("Between agent or tunnel and platform.", {
      http: text("", "HTTP_PROXY."),
      https: text(
        "",
        "HTTPS_PROXY; the one that counts, as the platform is https. With its scheme: `http://proxy.example.com:3128`. With a password it goes into a Secret, and into Helm's release.",
      ),
      noProxy: text("", "Added to what is always direct: loopback, the API server, .svc and the cluster's domain."),
      clusterDomain: text("cluster.local", "The cluster's DNS domain."),
      existingSecret: text("", "Secret with keys `http` and `https`, for proxies with a password. Read at start only."),
    }),
    trustedCA: branch(
      "Certificate authorities added to the well-known ones, for the platform and the proxy. A change is taken within two minutes, without a restart.",
      {
        configMap: text("", "ConfigMap of the release's namespace with PEM certificates."),
        secret: text("", "Or a Secret."),
        key: text("ca.crt", "Key in it.", { minLength: 1 }),
      },
    ),
    networkPolicy: branch("Off by default; on, it is real.", {
      enabled: flag(false, "Limit the pods' traffic to what they need."),
      ingressFrom: list("Peers that may reach the ports of health and metrics; empty: any. The kubelet always may."),
      dns: branch("Where agent and tunnel ask for names. The operator needs none.", {
        to: list("Peers. Empty: any address.", [
          {
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
            podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
          },
        ]),
        port: leaf(53, PORT, "UDP and TCP."),
      }),
      apiServer: branch("A policy cannot name the API server; give its addresses where you know them.", {
        cidrs: list("Empty: any address, on these ports.", [], CIDRS),
        ports: needed(
          leaf(
            [443, 6443],
            { type: "array", items: PORT, minItems: 1 },
            "Of the Service and of the server behind it. At least one: a rule without ports allows all of them.",
          ),
        ),
      }),
      platform: branch("With a proxy, only when addresses are given.", {
        cidrs: list("Empty: any address, on the port of platform.url.", [], CIDRS),
      }),
      proxy: branch("Used when a proxy is set.", {
        cidrs: list("Empty: any address, on these ports.", [], CIDRS),
        ports: list("Empty: the port of proxy.https or proxy.http.", [], PORT),
      }),
      extraEgress: list("More rules, for both."),
      cilium: branch("For clusters with Cilium, which lets pods to hosts by name.", {
        enabled: flag(false, "With `networkPolicy.enabled`: CiliumNetworkPolicies in place of the NetworkPolicies."),
        names: list("Hosts that the agent may reach beside that of the platform, or of the proxy.", [], {
          type: "string",
        }),
        dns: list("Endpoints that answer for names.", [
          { matchLabels: { "k8s:io.kubernetes.pod.namespace": "kube-system", "k8s:k8s-app": "kube-dns" } },
        ]),
        ingressFrom: list("Endpoints that may reach the ports of health and metrics; empty: any."),
        extraEgress: list("More rules, for both, as Cilium writes them."),
      }),
    }),
    metrics: metricsValues(),
    log: branch("Of each process.", {
      level: words("info", ["debug", "info", "warn", "error"], "Least severe line to print."),
      format: words("json", ["json", "pretty"], "For collectors, or for people."),
    }),
    podSecurityContext: map(
      "Restricted, and without a UID: the image's own is numeric and not root, and OpenShift gives one itself.",
      { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    ),
    securityContext: map("Of every container.", {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    }),
    agent: component({
      title: "agent",
      replicas: 1,
      replicasDoc: "One leads, others wait.",
      memory: ["128Mi", "384Mi"],
    }),
    operator: component({
      title: "operator",
      replicas: 2,
      replicasDoc: "One leads, others wait; two survive a node's drain.",
      memory: ["96Mi", "256Mi"],
    }),
    tunnel: component({
      title: "tunnel",
      replicas: 1,
      replicasDoc:
        "With `debugSessions.enabled`. Each serves the sessions that it took; another takes over those of one that is lost. `kubectl scale --replicas=0` ends all sessions.",
      memory: ["128Mi", "512Mi"],
      stop: {
        leastSeconds: 25,
        doc: "Time for an orderly stop, which takes up to 22 s: open streams, the last record and word of each session, its files.",
      },
    }),
    machines: MACHINES_VALUES,
    join: JOIN_VALUES,
    test: branch(
      "`helm test`: is everything ready, is the platform there and does it accept the key, is the API server there.",
      {
        enabled: flag(true, "Render its pod; it runs only when asked."),
      },
    ),
    extraObjects: list("More objects, each as an object or as text; templates in them are filled in.", [], {
      type: ["object", "string"],
    }),
  });
}
