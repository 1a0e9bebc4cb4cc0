import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Registry } from "prom-client";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import { Client } from "../../src/kube/client/client.ts";
import { connect } from "../../src/kube/client/connection.ts";
import { Controller } from "../../src/kube/controller/controller.ts";
import { watches } from "../../src/kube/controller/sources.ts";
import { kubeMetrics } from "../../src/kube/metrics/kube-metrics.ts";
import { type KubeObject, parseKey, resources } from "../../src/kube/objects/resource.ts";
import { jsonProjection } from "../../src/kube/projection/projection.ts";
import { podShape } from "../../src/kube/projection/shapes.ts";
import { endpoint, report } from "./own-process.ts";
import { widgets } from "./seed.ts";

/**
 * Our side of the comparison, one process a run, as the Go peer is: `ours.ts sync` lists and watches every pod,
 * `ours.ts reconcile --count N --workers W` reconciles Widgets into ConfigMaps by server-side apply plus a status write.
 * KUBECONFIG says where; prints one line of JSON.
 */
interface Widget extends KubeObject {
  readonly spec: { readonly size: number };
  readonly status?: { readonly observedGeneration?: number };
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { count: { type: "string", default: "1000" }, workers: { type: "string", default: "10" } },
});
const stop = new AbortController();
const startedAt = performance.now();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const connection = await connect({ explicit: endpoint(process.env.KUBECONFIG ?? "") });
const metrics = kubeMetrics(new Registry());
const client = new Client(connection, { metrics: metrics.client, fieldManager: "ours" });
const shared = { client, clock: systemClock, log: silentLogger };

if (positionals[0] === "sync") await sync();
else await reconcile(Number(values.count), Number(values.workers));
stop.abort();
await connection.close();

async function sync(): Promise<void> {
  const informer = new Informer({ ...shared, resource: resources.pods, projection: podShape });
  const running = informer.run(stop.signal);
  await informer.whenSynced(stop.signal);
  const seconds = (performance.now() - startedAt) / 1000;
  report({ bench: "sync", objects: informer.store.size, seconds, longestStallMs: delay.max / 1e6 });
  stop.abort();
  await running;
}

async function reconcile(count: number, workers: number): Promise<void> {
  const informer = new Informer<Widget>({ ...shared, resource: widgets, projection: jsonProjection<Widget>() });
  let done = 0;
  let firstAt = 0;
  const finished = Promise.withResolvers<void>();
  const controller = new Controller({
    ...shared,
    name: "widgets",
    metrics,
    concurrency: workers,
    sources: [watches(informer)],
    async reconcile(key, { signal }) {
      const widget = informer.store.get(key);
      if (widget === undefined || widget.status?.observedGeneration === widget.metadata.generation) return;
      await client.apply(resources.configMaps, configMapOf(widget), {}, signal);
      const body = { status: { observedGeneration: widget.metadata.generation } };
      await client.patch(widgets, parseKey(key), { type: "merge", body }, { subresource: "status" }, signal);
      // As in the peer: the clock starts when the first reconcile has ended.
      if (firstAt === 0) firstAt = performance.now();
      done += 1;
      if (done === count) finished.resolve();
    },
  });
  const running = Promise.all([informer.run(stop.signal), controller.run(stop.signal)]);
  await finished.promise;
  const seconds = (performance.now() - firstAt) / 1000;
  report({ bench: "reconcile", objects: count, workers, seconds, perSecond: count / seconds });
  stop.abort();
  await running;
}

function configMapOf({ metadata: { name, namespace = "", uid }, spec }: Widget) {
  const owner = { apiVersion: "bench.example.com/v1", kind: "Widget", name, uid, controller: true };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, ownerReferences: [owner] },
    data: { size: String(spec.size) },
  };
}
