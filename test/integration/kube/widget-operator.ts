import { Registry } from "prom-client";
import {
  Client,
  type ConnectionOptions,
  Controller,
  connect,
  field,
  generationChanged,
  Informer,
  interned,
  jsonProjection,
  type KubeObject,
  kubeMetrics,
  Manager,
  message,
  optional,
  ownerReference,
  owns,
  type Projected,
  type Resource,
  resources,
  silentLogger,
  string,
  systemClock,
  watches,
} from "../../../src/kube/index.ts";

interface Widget extends KubeObject {
  readonly spec: { readonly colour: string };
}

const widgetResource: Resource = {
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

/** Each Widget has a ConfigMap with its colour. Runs until `signal` aborts, such as at SIGTERM. */
export async function runWidgetOperator(where: ConnectionOptions, signal: AbortSignal): Promise<void> {
  const clock = systemClock;
  const log = silentLogger; // or a pino logger
  const metrics = kubeMetrics(new Registry());
  const connection = await connect({ ...where, userAgent: "widget-operator" });
  const client = new Client(connection, { metrics: metrics.client });
  const cache = { client, clock, log, metrics: metrics.watch };

  const widgets = new Informer<Widget>({ ...cache, resource: widgetResource, projection: jsonProjection<Widget>() });
  const configMaps = new Informer({
    ...cache,
    resource: resources.configMaps,
    projection: jsonProjection<KubeObject>(),
  });
  const controller = new Controller({
    name: "widget",
    clock,
    log,
    metrics,
    sources: [
      watches(widgets, undefined, generationChanged),
      owns(configMaps, { group: "example.com", kind: "Widget" }),
    ],
    async reconcile(key, context) {
      const widget = widgets.store.get(key);
      if (widget === undefined) return undefined;
      const { name, namespace } = widget.metadata;
      const metadata = { name, ...(namespace && { namespace }), ownerReferences: [ownerReference(widget)] };
      const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { colour: widget.spec.colour } };
      await client.apply(resources.configMaps, configMap, {}, context.signal);
      return { requeueAfterMs: 600_000 };
    },
  });

  const manager = new Manager({ clock, log });
  manager.addInformer(widgets).addInformer(configMaps).addController(controller);
  await manager.run(signal);
  await connection.close();
}

export const leanPodShape = message({
  metadata: field(
    1,
    message({ name: field(1, string), namespace: field(3, optional(interned)), resourceVersion: field(6, string) }),
  ),
  status: field(3, message({ phase: field(1, interned) })),
});
export type LeanPod = Projected<typeof leanPodShape>;
