import type { RenderRequest } from "../render-stack.ts";

/** What is rendered for one deployment, with all that the stack leaves to it. */
export interface GoldenCase {
  readonly name: string;
  readonly resources: Readonly<Record<string, object>>;
  readonly inputs?: readonly object[];
  readonly config?: object;
}

export const NAMESPACE = "shop";
const PLAIN = { environmentVariables: { variables: [] }, inputValues: {}, externalBindings: {} };

export function requestOf({ resources, inputs, config = {} }: Omit<GoldenCase, "name">): RenderRequest {
  return {
    stack: { id: "shop", resources, ...(inputs !== undefined && { inputs }) },
    config: { ...PLAIN, ...config },
    deploymentId: "dep_0123456789abcdefghijklmnopqr",
    releaseId: "rel_0123456789ABCDEFGHIJKLMNOPQR",
    version: "1.4.0",
    grantsNamespace: "sallyport-grants",
    namespaces: [NAMESPACE, "shop-jobs"],
  };
}

export function resource(config: object, dependencies: readonly unknown[] = [], lifecycle = "live"): object {
  return { config, dependencies, lifecycle };
}

const IMAGE = "registry.example.com/shop/web:1.4.0";
const container = (more: object = {}, ...dependencies: readonly string[]) =>
  resource({ id: "web", type: "container", image: IMAGE, ...more }, dependencies);
const worker = (more: object = {}) => resource({ id: "jobs", type: "worker", image: IMAGE, ...more });
const daemon = (more: object = {}) => resource({ id: "log", type: "daemon", image: IMAGE, ...more });

const POD = {
  automountServiceAccountToken: false,
  restartPolicy: "Never",
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  containers: [
    {
      name: "migrate",
      image: IMAGE,
      command: ["migrate"],
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    },
  ],
};
const job = (name: string, hook?: "pre" | "post") => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name, ...(hook !== undefined && { annotations: { "sallyport.dev/hook": hook } }) },
  spec: { backoffLimit: 2, template: { metadata: { creationTimestamp: null }, spec: POD } },
});
const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
  data: { "app.conf": "level = info\r\n" },
});

/** Each type with each of its options; the files beside say what becomes of them. */
export const GOLDEN_CASES: readonly GoldenCase[] = [
  { name: "container", resources: { web: container() } },
  {
    name: "container-options",
    resources: {
      web: container({
        ...{ command: ["serve", "--verbose"], args: ["--listen=$(LISTEN)"], env: [{ name: "LISTEN", value: ":8080" }] },
        ports: [
          { name: "http", port: 8080, public: true },
          { port: 9000, protocol: "UDP" },
          { port: 9000, protocol: "TCP" },
        ],
        ...{ replicas: 3, cpu: "500m", memory: "1.5Gi" },
        probes: {
          readiness: { path: "/ready", port: 8080, periodSeconds: 5, failureThreshold: 2 },
          liveness: { port: 9000, initialDelaySeconds: 30 },
          startup: { command: ["test", "-e", "/tmp/up"], timeoutSeconds: 3 },
        },
        volumes: [
          { name: "cache", mountPath: "/cache", size: "1Gi" },
          { name: "tmp", mountPath: "/tmp" },
        ],
        update: { maxUnavailable: 0, maxSurge: "25%", progressDeadlineSeconds: 300 },
        automountServiceAccountToken: true,
        pool: "kept-and-not-rendered",
      }),
    },
  },
  {
    name: "container-autoscale",
    resources: { web: container({ cpu: "1", autoscale: { min: 1, max: 10, cpuPercent: 70 } }) },
  },
  {
    name: "container-persistent",
    resources: {
      web: container({
        ports: [{ port: 5432 }],
        replicas: 2,
        volumes: [
          { name: "data", mountPath: "/data", size: "10Gi", persistent: true },
          { name: "tmp", mountPath: "/tmp" },
        ],
      }),
    },
  },
  {
    name: "container-persistent-autoscale-without-ports",
    resources: {
      web: container({
        ...{ cpu: "1", autoscale: { min: 2, max: 3, cpuPercent: 50 } },
        volumes: [{ name: "data", mountPath: "/data", size: "1Gi", persistent: true }],
      }),
    },
  },
  { name: "worker", resources: { jobs: worker({ triggers: [{ type: "queue" }], memory: "64Mi" }) } },
  {
    name: "worker-schedule",
    resources: { jobs: worker({ schedule: "15 3 * * MON-FRI", volumes: [{ name: "tmp", mountPath: "/tmp" }] }) },
  },
  { name: "daemon", resources: { log: daemon() } },
  {
    name: "daemon-options",
    resources: {
      log: daemon({
        tolerations: [{ operator: "Exists" }, { key: "gpu", operator: "Equal", value: "yes", effect: "NoSchedule" }],
        update: { maxSurge: 1 },
        cpu: "0.1",
      }),
    },
  },
  {
    name: "manifests",
    resources: {
      raw: resource(
        {
          id: "raw",
          type: "manifests",
          objects: [
            job("migrate", "pre"),
            configMap("settings", { labels: { "app.kubernetes.io/name": "theirs", team: "shop" }, annotations: null }),
            configMap("settings-of-jobs", { namespace: "shop-jobs", labels: null, annotations: {} }),
            job("import"),
            job("smoke-test", "post"),
            {
              apiVersion: "networking.k8s.io/v1",
              kind: "NetworkPolicy",
              metadata: { name: "all" },
              spec: { podSelector: {} },
            },
            {
              apiVersion: "apps/v1",
              kind: "Deployment",
              metadata: { name: "proxy" },
              spec: {
                selector: { matchLabels: { app: "proxy" } },
                template: {
                  metadata: { labels: { app: "proxy" } },
                  spec: { ...POD, restartPolicy: "Always" },
                },
              },
            },
            {
              apiVersion: "v1",
              kind: "Service",
              metadata: { name: "proxy" },
              spec: { selector: { app: "proxy" }, ports: [{ port: 80 }] },
            },
            {
              apiVersion: "policy/v1",
              kind: "PodDisruptionBudget",
              metadata: { name: "proxy" },
              spec: { selector: { matchLabels: { app: "proxy" } }, maxUnavailable: 1 },
            },
          ],
        },
        [],
        "frozen",
      ),
    },
  },
  {
    name: "waves",
    resources: {
      web: container({ ports: [{ port: 80 }] }, "jobs", "model"),
      jobs: resource({ id: "jobs", type: "worker", image: IMAGE }, [{ id: "settings" }]),
      settings: resource({ id: "settings", type: "manifests", objects: [configMap("settings")] }),
      model: resource({ id: "model", type: "ai" }, ["settings"]),
      log: daemon(),
    },
  },
  {
    name: "configuration",
    resources: {
      web: container(
        {
          env: [
            { name: "MODE", value: "author's" },
            { name: "URL", value: "postgres://$(DB_HOST)/$(DB_NAME)" },
          ],
        },
        "db",
        "cache",
      ),
      jobs: worker(),
      db: resource({ id: "db", type: "postgres" }),
      cache: resource({ id: "cache", type: "kv" }),
    },
    inputs: [
      { id: "hosts", kind: "stringList", label: "Hosts", required: true, env: [{ name: "HOSTS" }] },
      {
        id: "size",
        kind: "integer",
        label: "Size",
        required: false,
        env: [{ name: "SIZE" }],
        default: { type: "number", value: 3 },
      },
      {
        id: "token",
        kind: "secret",
        label: "Token",
        required: true,
        env: [{ name: "TOKEN", targetResources: ["web"] }],
      },
      { id: "aws", kind: "string", label: "AWS", required: false, platforms: ["aws"], env: [{ name: "REGION" }] },
      { id: "unset", kind: "string", label: "Unset", required: false, env: [{ name: "UNSET" }] },
    ],
    config: {
      environmentVariables: {
        variables: [
          { name: "MODE", value: "costs $$(5)", type: "plain" },
          { name: "ONLY_WEB", value: "yes", type: "plain", targetResources: ["we*"] },
          { name: "DB_PASSWORD", value: "a secret that goes nowhere", type: "secret", targetResources: ["web", "db"] },
        ],
      },
      inputValues: {
        hosts: ["a.example", "b.example"],
        token: "a secret that goes nowhere",
        aws: "eu",
        gone: "of another release",
      },
      externalBindings: {
        db: { secret: "shop-db", env: { DB_HOST: "host", DB_NAME: "name" } },
        cache: { configMap: "shop-cache" },
        web: { secret: "shop-web", env: { DB_PASSWORD: "password", TOKEN: "token" } },
        gone: "of another release",
      },
    },
  },
];
