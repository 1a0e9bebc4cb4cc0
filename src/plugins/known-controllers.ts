/**
 * What controllers that are often installed make of the objects of their groups. It is no whole list: a custom resource is as
 * strong as the controller behind it, and a group that is not here is bound by the rules alone.
 */
interface Makers {
  readonly why: string;
  /** With these verbs a right on an object of such a group is one on what its controller makes. */
  readonly verbs: readonly string[];
  /** Groups; with `*.` also those below it. With a resource: that kind alone. */
  readonly groups: readonly string[];
}

const WRITES = ["create", "patch"];
/** Where the controller also takes away what it has made. */
const CHANGES = ["create", "patch", "delete"];

export const KNOWN_CONTROLLERS: readonly Makers[] = [
  {
    verbs: CHANGES,
    why: "its controller applies or deletes what it says, of any kind: a plugin would reach more than its rules",
    groups: [
      ...[
        "*.argoproj.io",
        "*.fluxcd.io",
        "*.crossplane.io",
        "*.upbound.io",
        "*.cattle.io",
        "*.carvel.dev",
        "*.k14s.io",
      ],
      ...["*.open-cluster-management.io", "*.karmada.io", "*.oam.dev", "*.kro.run", "*.kratix.io", "*.kyverno.io"],
      ...["operators.coreos.com", "*.open-policy-agent.org", "*.gatekeeper.sh", "*.metacontroller.io", "*.pulumi.com"],
      ...["app.terraform.io", "*.services.k8s.aws", "*.cnrm.cloud.google.com", "*.azure.com", "hnc.x-k8s.io"],
      ...["capsule.clastix.io", "*.loft.sh", "*.openshift.io", "*.kubefed.io", "*.jenkins.io"],
      ...["*.velero.io", "*.stash.appscode.com", "*.kubestash.com", "*.k8up.io", "*.kanister.io", "*.trilio.io"],
    ],
  },
  {
    verbs: WRITES,
    why: "its controller makes Secrets or certificates, or reads them for whom it names",
    groups: [
      ...[
        "*.external-secrets.io",
        "kubernetes-client.io",
        "*.cert-manager.io",
        "*.secrets.hashicorp.com",
        "*.spiffe.io",
      ],
      ...["secrets.hashicorp.com", "bitnami.com", "onepassword.com", "*.infisical.com", "*.doppler.com", "spv.no"],
      ...[
        "secrets-store.csi.x-k8s.io",
        "isindir.github.com",
        "*.banzaicloud.com",
        "*.banzaicloud.io",
        "*.mittwald.de",
        "*.mittwald.systems",
      ],
      ...["ricoberger.de", "*.akeyless.io", "*.cyberark.com", "*.bitwarden.com", "*.stakater.com", "*.emberstack.com"],
      ...["monitoring.coreos.com/servicemonitors", "monitoring.coreos.com/podmonitors", "monitoring.coreos.com/probes"],
      ...["monitoring.coreos.com/scrapeconfigs", "monitoring.coreos.com/alertmanagerconfigs", "*.servicebinding.io"],
    ],
  },
  {
    verbs: WRITES,
    why: "its controller starts pods, which may use every Secret and account of their namespace",
    groups: [
      // Pipelines, functions, jobs.
      ...["*.tekton.dev", "*.knative.dev", "*.keda.sh", "*.kubeflow.org", "*.volcano.sh", "jobset.x-k8s.io"],
      ...[
        "leaderworkerset.x-k8s.io",
        "kueue.x-k8s.io",
        "*.armadaproject.io",
        "*.run.ai",
        "*.codeflare.dev",
        "*.ray.io",
      ],
      ...["*.openfaas.com", "*.fission.io", "*.nuclio.io", "*.kubeless.io", "*.camel.apache.org"],
      ...["actions.github.com", "actions.summerwind.dev", "*.dask.org", "*.k6.io", "*.k6.grafana.com", "*.testkube.io"],
      ...[
        "*.testworkflows.testkube.io",
        "*.kserve.io",
        "*.seldon.io",
        "*.nvidia.com",
        "*.airflow.apache.org",
        "*.katib.io",
      ],
      // Workloads.
      ...["*.kruise.io", "*.kubevirt.io", "*.agones.dev", "*.chaos-mesh.org", "*.litmuschaos.io"],
      ...["*.flink.apache.org", "*.spark.apache.org", "*.nifi.apache.org", "*.solr.apache.org", "*.druid.apache.org"],
      ...["*.stackable.tech", "*.radondb.com", "*.kubeblocks.io", "*.shipwright.io", "*.devfile.io", "*.tailscale.com"],
      // Databases and queues.
      ...["*.strimzi.io", "*.cnpg.io", "*.zalan.do", "*.crunchydata.com", "*.stackgres.io", "*.percona.com"],
      ...["*.mysql.oracle.com", "*.mongodb.com", "*.opstreelabs.in", "*.spotahome.com", "*.rabbitmq.com"],
      ...["*.k8s.elastic.co", "*.opster.io", "*.datastax.com", "*.k8ssandra.io", "*.altinity.com", "*.min.io"],
      ...["*.kubedb.com", "*.pingcap.com", "*.scylladb.com", "*.cockroachlabs.com", "*.couchbase.com", "*.mariadb.com"],
      ...["app.redislabs.com", "*.presslabs.org", "*.cybozu.com", "*.keycloak.org", "sonataflow.org", "*.longhorn.io"],
      ...["awx.ansible.com", "tf.isaaguilar.com", "*.karpenter.sh"],
      ...["*.vitess.io", "*.confluent.io", "*.redpanda.com", "*.nats.io", "*.ceph.rook.io", "*.rook.io", "*.neo4j.com"],
      // What watches.
      ...["monitoring.coreos.com/prometheuses", "monitoring.coreos.com/prometheusagents", "*.opentelemetry.io"],
      ...["monitoring.coreos.com/alertmanagers", "monitoring.coreos.com/thanosrulers", "*.jaegertracing.io"],
      ...["*.integreatly.org", "*.grafana.com", "*.victoriametrics.com", "*.datadoghq.com", "*.dynatrace.com"],
    ],
  },
  {
    verbs: CHANGES,
    why: "it takes addresses, hosts or traffic, also from beyond its namespace",
    groups: [
      ...["*.istio.io", "*.linkerd.io", "*.traefik.io", "*.traefik.containo.us", "*.projectcontour.io", "*.solo.io"],
      ...[
        "*.getambassador.io",
        "*.konghq.com",
        "*.envoyproxy.io",
        "*.nginx.org",
        "*.metallb.io",
        "*.metallb.universe.tf",
      ],
      ...["*.k8s.aws", "networking.gke.io", "*.cloud.google.com", "*.submariner.io", "*.skupper.io", "*.ngrok.com"],
      ...[
        "*.consul.hashicorp.com",
        "k8s.cni.cncf.io",
        "*.nmstate.io",
        "*.kuma.io",
        "*.apisix.apache.org",
        "*.haproxy.org",
        "*.haproxy.com",
      ],
    ],
  },
  {
    verbs: CHANGES,
    why: "it is a bound that the customer sets",
    groups: ["*.cilium.io", "*.projectcalico.org", "*.antrea.io", "*.kubearmor.com", "*.falco.org"],
  },
];

/** Pattern of group and resource, with all subresources but `scale`, by which a plugin sets replicas. */
export function patternOf(groups: readonly string[]): string {
  const each = groups.map((text) => {
    const [group = "", resource = "[-a-z0-9]+"] = text.split("/");
    const below = group.startsWith("*.") ? String.raw`([-a-z0-9]+\.)*` : "";
    return `${below}${group.replace("*.", "").replaceAll(".", String.raw`\.`)}/${resource}`;
  });
  return `(${each.join("|")})(/status)?`;
}
