import { SHOP } from "../world/people.ts";
import type { Canaries } from "./secrets-canaries.ts";

// A customer's workload with a secret in every place in which people put them.

/** Log lines of careless applications. */
export function chatter(canaries: Canaries): string {
  const plant = (place: string): string => canaries.plant(`pod log: ${place}`);
  const claims = Buffer.from(JSON.stringify({ sub: plant("JWT") })).toString("base64url");
  return [
    "listening on port 8080",
    `Authorization: Bearer ${plant("bearer token")}`,
    `password=${plant("password")}`,
    `{"level":"info","apiKey":"${plant("JSON field")}"}`,
    `connecting to postgres://shop:${plant("URL")}@db.shop.svc/shop`,
    `token eyJhbGciOiJIUzI1NiJ9.${claims}.c2lnbmF0dXJlc2lnbmF0dXJl`,
    `export AWS_SECRET_ACCESS_KEY=${plant("variable")}`,
    `ghp_${plant("known prefix")}`,
    `-----BEGIN PRIVATE KEY-----\n${plant("PEM")}\n-----END PRIVATE KEY-----`,
    "ready",
  ].join("\n");
}

/** Each object with canaries of its own. */
export function leakyObjects(canaries: Canaries): readonly Readonly<Record<string, unknown>>[] {
  return [secret(canaries), pod(canaries), deployment(canaries), event(canaries)];
}

function secret(canaries: Canaries) {
  const stringData = { password: canaries.plant("Secret") };
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "db", namespace: SHOP }, stringData };
}

function podTemplate(owner: string, canaries: Canaries) {
  const env = [{ name: "DB_PASSWORD", value: canaries.plant(`environment of a ${owner}`) }];
  const args = ["--api-token", canaries.plant(`arguments of a ${owner}`)];
  return {
    metadata: {
      labels: { app: "leaky" },
      annotations: { "vendor.example/token": canaries.plant(`annotation of a ${owner}`) },
    },
    spec: { containers: [{ name: "app", image: "registry.example/app:1", env, args }] },
  };
}

function pod(canaries: Canaries) {
  const { metadata, spec } = podTemplate("pod", canaries);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name: "leaky", namespace: SHOP },
    spec: { ...spec, nodeName: "node-1" },
  };
}

function deployment(canaries: Canaries) {
  const template = podTemplate("workload", canaries);
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(template) };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "leaky", namespace: SHOP, annotations },
    spec: { replicas: 1, selector: { matchLabels: template.metadata.labels }, template },
  };
}

function event(canaries: Canaries) {
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "leaky.1", namespace: SHOP },
    eventTime: new Date().toISOString().replace("Z", "000Z"),
    reportingController: "example.com/app",
    reportingInstance: "app-1",
    action: "Start",
    reason: "Failed",
    type: "Warning",
    note: `exit 1: DB_PASSWORD=${canaries.plant("event")} was refused`,
    regarding: { apiVersion: "v1", kind: "Pod", name: "leaky", namespace: SHOP },
  };
}
