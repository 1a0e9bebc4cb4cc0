import { SHOP } from "../../world/people.ts";
import type { Attack } from "../attacks.ts";
import { MEMBER, released, releasedDeployment } from "../releases/released-objects.ts";
import { claimOf, made, marked, pod, RUNS, SERVICE_NAMES, volume, type Who } from "./release-writes.ts";
import { create } from "./writes.ts";

// Names of the customer's that a release refers to or takes, and what controllers obey.

const KEPT = ["example.com/keep"];
const OWNED = [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "0badcafe-0000-4000-8000-00000000000f" }];
const away = (where: object): object => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: {}, ...where },
      ],
    },
  },
});
const service =
  (name: string, spec: object = {}) =>
  (): object =>
    released("v1", "Service", name, { spec: { ports: [{ port: 80 }], ...spec } });
const HEADLESS = { clusterIP: "None" };
const within = (title: string, object: () => object) => made(title, "no metadata but a name", object);
const scaled = (title: string, spec: object) => made(title, "no more pods", () => spec);

export const NAME_ATTACKS: readonly Attack<Who>[] = [
  pod("a rollout takes no priority of the customer's", "with a priority class", { priorityClassName: "customers" }),
  pod("nor a priority by its number", "a priority, a group or a subdomain", { priority: 1_000_000 }),
  pod("nor a runtime of theirs", "with a runtime class", { runtimeClassName: "customers" }),
  pod("nor a scheduler of theirs", "with a scheduler", { schedulerName: "customers" }),
  pod("nor a device by its claim", "takes devices by claims", {
    resourceClaims: [{ name: "gpu", resourceClaimName: "customers" }],
  }),
  pod("nor one by a template of theirs", "takes devices by claims", {
    resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "customers" }],
  }),
  pod("nor one as a resource", "asks for resources", {}, { resources: { limits: { "customers.example/gpu": "1" } } }),
  pod("nor keeps pods of other namespaces from nodes", "pods of other namespaces", away({ namespaceSelector: {} })),
  pod("nor of one that it names", "pods of other namespaces", away({ namespaces: ["billing"] })),
  pod("nor has its pods found under a name of another namespace", "a priority, a group or a subdomain", {
    hostname: "vault",
    subdomain: "secrets",
  }),
  made("nor takes the API server's name", "take for the API server", service("kubernetes")),
  made("nor one whose variables are those of the API server", "take for the API server", service("kubernetes-service")),
  pod("nor has pods that take ten years to end", "more than 3600 s to end", {
    terminationGracePeriodSeconds: 315_360_000,
  }),
  made("nor the name of a domain", "the name of a domain", service("com", HEADLESS)),
  {
    title: "nor the name of another namespace",
    ...{ policy: SERVICE_NAMES, as: "rollout", words: "the name of another namespace" },
    ...create(service("kube-system", HEADLESS)),
  },
  within("nor leaves pods that do not go", () =>
    released("apps/v1", "Deployment", "fresh", { spec: marked({}, { finalizers: KEPT }) }),
  ),
  within("nor pods that go with another object", () =>
    released("apps/v1", "DaemonSet", "fresh", { spec: marked({}, { ownerReferences: OWNED }) }),
  ),
  within("nor claims that go with another object", () =>
    released("apps/v1", "StatefulSet", "fresh", {
      spec: {
        ...marked({}),
        ...{
          serviceName: "fresh",
          volumeClaimTemplates: [{ metadata: { name: "d", ownerReferences: OWNED }, ...claimOf({}) }],
        },
      },
    }),
  ),
  within("nor Jobs that do not go", () => {
    const { template } = releasedDeployment("fresh", { restartPolicy: "Never" }).spec as { readonly template: object };
    const jobTemplate = { metadata: { finalizers: KEPT }, spec: { template } };
    return released("batch/v1", "CronJob", "fresh", { spec: { schedule: "0 0 1 1 *", jobTemplate } });
  }),
  made("nor has a controller of theirs obey a Service", "writes annotations", () =>
    released(
      "v1",
      "Service",
      "fresh",
      { spec: { ports: [{ port: 80 }] } },
      {
        annotations: { "external-dns.alpha.kubernetes.io/hostname": "login.customer.example" },
      },
    ),
  ),
  made("nor a label", "writes labels", () =>
    released(
      "v1",
      "Service",
      "fresh",
      { spec: { ports: [{ port: 80 }] } },
      {
        labels: { ...MEMBER, "node.kubernetes.io/exclude-from-external-load-balancers": "true" },
      },
    ),
  ),
  made("nor a label of a pod", "pods and claims labels", () => {
    const { metadata } = (marked({}) as { readonly template: { readonly metadata: { readonly labels: object } } })
      .template;
    const labels = { ...metadata.labels, "azure.workload.identity/use": "true" };
    return released("apps/v1", "Deployment", "fresh", { spec: marked({}, { labels }) });
  }),
  made("nor the annotation of a claim for as long as a pod", "pods and claims annotations", () =>
    releasedDeployment(
      "fresh",
      volume({
        ephemeral: {
          volumeClaimTemplate: {
            metadata: { annotations: { "volume.kubernetes.io/selected-node": "n" } },
            ...claimOf({}),
          },
        },
      }),
    ),
  ),
  scaled("nor more pods than may be, as replicas", {
    ...releasedDeployment("fresh"),
    spec: { ...marked({}), replicas: 1_000 },
  }),
  scaled(
    "nor more pods than may be, as parallel runs",
    released("batch/v1", "Job", "fresh", {
      spec: {
        parallelism: 1_000,
        template: (marked({ restartPolicy: "Never" }) as { readonly template: object }).template,
      },
    }),
  ),
  scaled(
    "nor more pods than may be, as an autoscaler's most",
    released("autoscaling/v2", "HorizontalPodAutoscaler", "fresh", {
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 1_000 },
    }),
  ),
  {
    title: "nor gives a pod of what was installed another priority",
    ...{ ...RUNS, words: "with a priority class" },
    args: () => [
      ...["patch", "deployment", "member", "-n", SHOP, "--dry-run=server", "-p"],
      JSON.stringify({ spec: { template: { spec: { priorityClassName: "customers" } } } }),
    ],
  },
];
