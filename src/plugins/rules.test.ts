import { describe, expect, it } from "vitest";
import { MAX_ISSUES } from "./issue.ts";
import { type PluginRule, rulesIssues } from "./rules.ts";
import type { Tier } from "./words.ts";

function issues(rule: Partial<PluginRule>, tier: Tier = "destructive"): readonly string[] {
  const whole = { apiGroups: [""], resources: ["configmaps"], verbs: ["get" as const], ...rule };
  return rulesIssues([whole], { tier, path: "/rules" }).map(({ path, message }) => `${path} ${message}`);
}

const ALL = ["get", "list", "create", "patch", "delete"] as const;

describe("the rules of an operation", () => {
  it.each<[Partial<PluginRule>]>([
    [{ verbs: [...ALL] }],
    [{ apiGroups: ["apps"], resources: ["deployments", "statefulsets/scale"], verbs: ["get", "patch"] }],
    [{ resources: ["pods"], verbs: ["get", "list", "delete"] }],
    [{ resources: ["pods/log"] }],
    [{ apiGroups: ["batch"], resources: ["jobs", "cronjobs"], verbs: ["get", "list", "delete"] }],
    [{ apiGroups: ["apps"], resources: ["replicasets"], verbs: ["delete"] }],
    [{ resources: ["events"], verbs: ["get", "list"] }],
    [{ apiGroups: ["search.example.com"], resources: ["indexes", "indexes/status"], verbs: ["get", "patch"] }],
    [{ apiGroups: ["cluster.x-k8s.io"], resources: ["machinepools"], verbs: [...ALL] }],
    [{ apiGroups: ["discovery.k8s.io", "networking.k8s.io", "coordination.k8s.io", "policy"], verbs: ["get", "list"] }],
    [{ resources: ["services", "endpoints", "events", "resourcequotas", "limitranges"], verbs: ["get", "list"] }],
    [{ resources: ["persistentvolumeclaims"], verbs: ["get", "list", "patch", "delete"] }],
    [{ apiGroups: ["apps"], resources: ["statefulsets", "deployments", "controllerrevisions"], verbs: ["delete"] }],
    // Custom resources of the vendor's own, whatever their group resembles.
    [{ apiGroups: ["myargoproj.io", "cert-manager.io.shop.example", "tekton.example"], verbs: [...ALL] }],
    // To look is no way around, and replicas are set as those of any workload.
    [{ apiGroups: ["argoproj.io"], resources: ["workflows", "rollouts/scale"], verbs: ["get"] }],
    [{ apiGroups: ["argoproj.io", "apps.kruise.io"], resources: ["rollouts/scale"], verbs: ["patch"] }],
    [{ apiGroups: ["tekton.dev"], resources: ["pipelineruns"], verbs: ["delete"] }],
    [{ apiGroups: ["monitoring.coreos.com"], resources: ["prometheusrules"], verbs: [...ALL] }],
  ])("may be %j", (rule) => {
    expect(issues(rule)).toEqual([]);
  });

  it.each<[Partial<PluginRule>, string]>([
    [{ resources: ["secrets"] }, "/rules/0 may not have get on secrets: it holds credentials"],
    [{ resources: ["secrets"], verbs: [...ALL] }, "may not have get, list, create, patch, delete on secrets: it holds"],
    [{ resources: ["serviceaccounts"] }, "get on serviceaccounts: it is an identity"],
    [{ resources: ["serviceaccounts/token"], verbs: ["create"] }, "create on serviceaccounts/token: it is an identity"],
    [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"] }, "rbac.authorization.k8s.io/roles: it gives"],
    [{ apiGroups: ["sallyport.dev"], resources: ["accessgrants"], verbs: ["patch"] }, "it is Sallyport's own"],
    [{ apiGroups: ["admissionregistration.k8s.io"] }, "decides what the cluster admits"],
    [{ resources: ["pods/exec"], verbs: ["create"] }, "create on pods/exec: of subresources a plugin's client reaches"],
    [{ resources: ["pods/attach"] }, "get on pods/attach: of sub"],
    [{ resources: ["pods/portforward"] }, "get on pods/portforward: of sub"],
    [{ resources: ["pods/ephemeralcontainers"], verbs: ["patch"] }, "patch on pods/ephemeralcontainers: of sub"],
    [{ resources: ["pods/scale"], verbs: ["patch"] }, "patch on pods/scale: of sub"],
    [{ resources: ["services/proxy"] }, "get on services/proxy: of sub"],
    [{ resources: ["nodes/proxy"] }, "get on nodes/proxy: it lies in no namespace"],
    [{ resources: ["pods/log"], verbs: ["get", "list"] }, "may not have list on pods/log: of subresources"],
    [{ apiGroups: ["apps"], resources: ["deployments/log"] }, "get on apps/deployments/log: of sub"],
    [{ resources: ["pods"], verbs: ["create"] }, "create on pods: it starts pods"],
    [{ resources: ["pods"], verbs: ["patch"] }, "patch on pods: it starts pods"],
    [
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["create"] },
      "create on apps/deployments: it starts pods",
    ],
    [{ apiGroups: ["apps"], resources: ["replicasets/scale"], verbs: ["patch"] }, "replicasets/scale: it starts pods"],
    [{ apiGroups: ["batch"], resources: ["jobs"], verbs: [...ALL] }, "may not have create, patch on batch/jobs: it"],
    [
      { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs: [...ALL] },
      "create, patch on autoscaling/horizontalpodautoscalers: it starts as many pods as it says",
    ],
    [{ resources: ["events"], verbs: ["create"] }, "create on events: it is told to the vendor"],
    [{ apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["patch"] }, "patch on events.k8s.io/events: it is"],
    // A rule means each of its groups with each of its resources.
    [{ apiGroups: ["apps", ""], resources: ["deployments", "secrets"] }, "get on secrets: it holds"],
    [{ resources: ["namespaces"], verbs: ["delete"] }, "delete on namespaces: it lies in no namespace"],
    [{ resources: ["nodes"] }, "get on nodes: it lies in no namespace"],
  ])("may not be %j", (rule, issue) => {
    expect(issues(rule).join("\n")).toContain(issue);
  });

  it.each<[string, string, string]>([
    ["", "services", "it takes addresses"],
    ["", "services/status", "it takes addresses"],
    ["", "services/proxy", "it takes addresses"],
    ["", "endpoints", "it takes addresses"],
    ["discovery.k8s.io", "endpointslices", "it takes addresses"],
    ["networking.k8s.io", "ingresses", "it takes addresses"],
    ["networking.k8s.io", "ingresses/status", "it takes addresses"],
    ["gateway.networking.k8s.io", "httproutes", "it takes addresses"],
    ["gateway.networking.k8s.io", "referencegrants", "it takes addresses"],
    ["networking.k8s.io", "networkpolicies", "it is a bound that the customer sets"],
    ["", "resourcequotas", "it is a bound that the customer sets"],
    ["", "resourcequotas/status", "it is a bound that the customer sets"],
    ["", "limitranges", "it is a bound that the customer sets"],
    ["policy", "poddisruptionbudgets", "it is a bound that the customer sets"],
    ["policy", "poddisruptionbudgets/status", "it is a bound that the customer sets"],
    ["", "events", "it is told to the vendor"],
    ["events.k8s.io", "events", "it is told to the vendor"],
    ["coordination.k8s.io", "leases", "decide for more than their namespace"],
    ["resource.k8s.io", "resourceclaims", "decide for more than their namespace"],
    ["storage.k8s.io", "csistoragecapacities", "decide for more than their namespace"],
    ["snapshot.storage.k8s.io", "volumesnapshots", "decide for more than their namespace"],
    ["autoscaling.k8s.io", "verticalpodautoscalers", "decide for more than their namespace"],
  ])("read %s/%s, and change nothing of it", (group, resource, why) => {
    const rule = { apiGroups: [group], resources: [resource] };
    for (const verb of ["create", "patch", "delete"] as const)
      expect(issues({ ...rule, verbs: [verb] }).join()).toContain(why);
    if (!resource.includes("/")) expect(issues({ ...rule, verbs: ["get", "list"] })).toEqual([]);
  });

  it.each([
    ["", "pods/status"],
    ["", "persistentvolumeclaims/status"],
    ["apps", "deployments/status"],
    ["apps", "statefulsets/status"],
    ["batch", "jobs/status"],
    ["autoscaling", "horizontalpodautoscalers/status"],
  ])("have no patch of %s/%s: others act on what it says", (group, resource) => {
    expect(issues({ apiGroups: [group], resources: [resource], verbs: ["patch"] })).toHaveLength(1);
  });

  it.each([
    ["", "pods/eviction", "create"],
    ["", "pods/binding", "create"],
    ["", "pods/resize", "patch"],
    ["", "persistentvolumeclaims", "create"],
    ["apps", "deployments/finalizers", "patch"],
    ["example.com", "indexes/finalizers", "patch"],
    ["apps", "controllerrevisions", "patch"],
  ] as const)("have not on %s/%s: %s", (group, resource, verb) => {
    expect(issues({ apiGroups: [group], resources: [resource], verbs: [verb] })).toHaveLength(1);
  });

  it.each([
    ["argoproj.io/workflows", "applies or deletes"],
    ["argoproj.io/applications", "applies or deletes"],
    ["kustomize.toolkit.fluxcd.io/kustomizations", "applies or deletes"],
    ["helm.toolkit.fluxcd.io/helmreleases", "applies or deletes"],
    ["helm.cattle.io/helmcharts", "applies or deletes"],
    ["s3.aws.crossplane.io/buckets", "applies or deletes"],
    ["velero.io/restores", "applies or deletes"],
    ["operators.coreos.com/subscriptions", "applies or deletes"],
    ["tekton.dev/pipelineruns", "starts pods"],
    ["serving.knative.dev/services", "starts pods"],
    ["keda.sh/scaledjobs", "starts pods"],
    ["apps.kruise.io/clonesets", "starts pods"],
    ["kubevirt.io/virtualmachines", "starts pods"],
    ["flink.apache.org/flinkdeployments", "starts pods"],
    ["batch.volcano.sh/jobs", "starts pods"],
    ["jobset.x-k8s.io/jobsets", "starts pods"],
    ["kafka.strimzi.io/kafkas", "starts pods"],
    ["postgresql.cnpg.io/clusters", "starts pods"],
    ["ray.io/rayjobs", "starts pods"],
    ["monitoring.coreos.com/prometheuses", "starts pods"],
    ["external-secrets.io/externalsecrets", "makes Secrets"],
    ["cert-manager.io/certificates", "makes Secrets"],
    ["bitnami.com/sealedsecrets", "makes Secrets"],
    ["secrets.hashicorp.com/vaultstaticsecrets", "makes Secrets"],
    ["monitoring.coreos.com/servicemonitors", "makes Secrets"],
    ["networking.istio.io/virtualservices", "takes addresses, hosts"],
    ["traefik.io/ingressroutes", "takes addresses, hosts"],
    ["cilium.io/ciliumnetworkpolicies", "a bound that the customer sets"],
    ["sparkoperator.k8s.io/sparkapplications", "Kubernetes' own groups"],
  ])("have no %s, whose controller %s", (on, why) => {
    const [group = "", resource = ""] = on.split("/");
    for (const each of [resource, `${resource}/status`])
      for (const verb of ["create", "patch"] as const)
        expect(issues({ apiGroups: [group], resources: [each], verbs: [verb] })).toEqual([
          expect.stringMatching(new RegExp(`may not have ${verb} on ${group}/${each}: .*${why}`)),
        ]);
  });

  it("have no delete, unless the operation is destructive: a policy may let milder ones run unasked", () => {
    const rule = { apiGroups: ["example.com"], resources: ["indexes"], verbs: ["get", "delete"] as const };
    const judged = (tier: Tier) => issues({ ...rule, verbs: [...rule.verbs] }, tier);
    expect(judged("destructive")).toEqual([]);
    const words = "/rules/0 may not have delete on example.com/indexes: the operation's tier is";
    expect(judged("mutating")).toEqual([`${words} mutating, and must be destructive`]);
    expect(judged("read-only")).toEqual([`${words} read-only`]);
  });

  it("have a bounded number of issues", () => {
    const groups = Array.from({ length: 8 }, (_, at) => `${at}.authentication.k8s.io`).with(0, "authentication.k8s.io");
    const resources = Array.from({ length: 16 }, (_, at) => `kinds${"x".repeat(at)}`);
    expect(issues({ apiGroups: groups, resources, verbs: [...ALL] })).toHaveLength(MAX_ISSUES);
  });

  it("have no verb that changes something, where the operation says that it only reads", () => {
    for (const verb of ["create", "patch", "delete"] as const) {
      expect(issues({ verbs: ["get", verb] }, "read-only")).toEqual([
        `/rules/0 may not have ${verb} on configmaps: the operation's tier is read-only`,
      ]);
    }
    expect(issues({ verbs: ["get", "list"] }, "read-only")).toEqual([]);
  });
});
