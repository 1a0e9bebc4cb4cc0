import { expect, onTestFinished, test, vi } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import {
  Client,
  connect,
  type DynamicObject,
  Informer,
  resources,
  silentLogger,
  systemClock,
} from "../../../src/kube/index.ts";
import { leanPodShape, runWidgetOperator } from "./widget-operator.ts";

// The examples of docs/kube.md, which src/kube/index.test.ts holds against widget-operator.ts.

const cluster = useCluster();
const soon = { timeout: 90_000, interval: 50 } as const;
const never = new AbortController().signal;

async function adminClient(): Promise<Client> {
  const connection = await connect({ kubeconfig: cluster().adminKubeconfig });
  onTestFinished(() => connection.close());
  return new Client(connection);
}

const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true };
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets", singular: "widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

test("the controller of the first example makes a config map for each widget, and stops in order", async () => {
  const client = await adminClient();
  await client.create(resources.customResourceDefinitions, definition, never);
  const widget = {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w", namespace: "default" },
    spec: { colour: "red" },
  };
  await vi.waitFor(() => client.create(widgets, widget, never), soon);
  const stop = new AbortController();
  const run = runWidgetOperator({ kubeconfig: cluster().adminKubeconfig }, stop.signal);
  await vi.waitFor(async () => {
    const made = await client.get<DynamicObject>(resources.configMaps, { namespace: "default", name: "w" }, never);
    expect(made).toMatchObject({ data: { colour: "red" }, metadata: { ownerReferences: [{ name: "w" }] } });
  }, soon);
  stop.abort();
  await run;
});

test("the shape of the second example reads pods", async () => {
  const client = await adminClient();
  const stop = new AbortController();
  const pods = new Informer({
    client,
    clock: systemClock,
    log: silentLogger,
    resource: resources.pods,
    projection: leanPodShape,
  });
  const run = pods.run(stop.signal);
  await pods.whenSynced(never);
  expect(pods.store.size).toBe(0);
  stop.abort();
  await run.catch(() => undefined);
});
