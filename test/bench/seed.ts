import type { Client } from "../../src/kube/client/client.ts";
import { type Resource, resources } from "../../src/kube/objects/resource.ts";

/** The API server would only queue the requests of more creators. */
const CREATORS = 24;

export const widgets: Resource = {
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

export const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.bench.example.com" },
  spec: {
    group: widgets.group,
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

/** Two containers with twelve variables each: the size of an ordinary pod, about 7 KB of JSON. */
function pod(index: number) {
  const env = Array.from({ length: 12 }, (_, k) => ({ name: `SETTING_${k}`, value: `value-${k}-${"x".repeat(20)}` }));
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team/${name}:1.2.3`,
    env,
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    ports: [{ containerPort: 8080, name: "http" }],
    readinessProbe: { httpGet: { path: "/ready", port: 8080 } },
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `web-${index}`,
      namespace: "default",
      labels: { app: `web-${index % 50}`, "app.kubernetes.io/name": "web", "pod-template-hash": "abcdef1234" },
      annotations: { "example.com/config-hash": "f".repeat(64), "example.com/note": "n".repeat(300) },
    },
    spec: {
      nodeName: `node-${index % 100}`,
      containers: [container("app"), container("sidecar")],
      volumes: [{ name: "config", configMap: { name: "web" } }],
    },
  };
}

function widget(index: number) {
  return {
    apiVersion: "bench.example.com/v1",
    kind: "Widget",
    metadata: { name: `widget-${index}`, namespace: "default" },
    spec: { size: index },
  };
}

/** Creates pods `from` (inclusive) to `to`. */
export function seedPods(
  client: Client,
  from: number,
  to: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  return createMany(from, to, "pods", (index) => client.create(resources.pods, pod(index), signal), say);
}

export function seedWidgets(
  client: Client,
  count: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  return createMany(0, count, "widgets", (index) => client.create(widgets, widget(index), signal), say);
}

async function createMany(
  from: number,
  to: number,
  what: string,
  create: (index: number) => Promise<unknown>,
  say: (line: string) => void,
): Promise<void> {
  let next = from;
  const timer = setInterval(() => say(`seeding: ${next} of ${to} ${what}`), 10_000);
  try {
    const creator = async (): Promise<void> => {
      while (next < to) await create(next++);
    };
    await Promise.all(Array.from({ length: CREATORS }, creator));
  } finally {
    clearInterval(timer);
  }
}
