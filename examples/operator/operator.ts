import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import * as kube from "@sallyport/kube";
import { pino } from "pino";
import { Registry } from "prom-client";

interface Page extends kube.KubeObject {
  readonly spec: { readonly text: string };
  readonly status?: { readonly conditions: readonly kube.Condition[] };
}
const pages: kube.Resource = { group: "example.com", version: "v1", kind: "Page", plural: "pages", namespaced: true };
const FINALIZER = "example.com/unpublish";
const { KUBECONFIG, NAMESPACE = "pages-system", PORT = "8080" } = process.env;

const [clock, log, registry] = [kube.systemClock, pino(), new Registry()];
const metrics = kube.kubeMetrics(registry);
const where = KUBECONFIG ? { kubeconfig: KUBECONFIG } : { inCluster: true as const };
const connection = await kube.connect({ ...where, userAgent: "page-operator" });
const client = new kube.Client(connection, { metrics: metrics.client });

const projection = kube.jsonProjection<Page>();
const cache = new kube.Informer({ client, clock, log, metrics: metrics.watch, resource: pages, projection });
const reporter = { controller: "example.com/page-operator", instance: hostname() };
const events = new kube.EventRecorder({ client, clock, log, metrics, ...reporter });

/** Publishes the page's text as a ConfigMap of another namespace, where no owner reference reaches: hence the finalizer. */
async function reconcile(key: string, { signal }: kube.ReconcileContext): Promise<kube.Result> {
  let page = cache.store.get(key);
  if (page === undefined) return undefined;
  const { name, namespace, deletionTimestamp, generation = 0 } = page.metadata;
  const published = { namespace: NAMESPACE, name: `${namespace}.${name}` };
  if (deletionTimestamp !== undefined) {
    await client.delete(kube.resources.configMaps, published, {}, signal);
    await kube.removeFinalizer(client, pages, page, FINALIZER, signal);
    return undefined;
  }
  page = await kube.addFinalizer(client, pages, page, FINALIZER, signal);
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: published, data: { text: page.spec.text } };
  await client.apply(kube.resources.configMaps, configMap, {}, signal);
  const before = page.status?.conditions ?? [];
  const state = { type: "Ready", status: "True", reason: "Published" } as const;
  const ready = { ...state, message: `as ConfigMap ${published.name}`, observedGeneration: generation };
  const conditions = kube.withCondition(before, ready, clock.wallNow());
  await kube.writeStatus(client, pages, page, { conditions }, signal);
  if (before.every(({ observedGeneration }) => observedGeneration !== generation)) {
    const note = `published ${page.spec.text.length} characters`;
    events.record({ regarding: kube.referenceTo(page), type: "Normal", reason: "Published", action: "Publish", note });
  }
  return { requeueAfterMs: 600_000 };
}

const sources = [kube.watches(cache, undefined, kube.generationChanged)];
const controller = new kube.Controller({ name: "page", clock, log, metrics, sources, reconcile });
const own = await kube.connect({ ...where, userAgent: "page-operator" });
const lease = { namespace: NAMESPACE, name: "page-operator", identity: `${hostname()}_${randomUUID()}` };
const leaderElection = new kube.LeaderElector({ client: new kube.Client(own), clock, log, metrics, ...lease });
const health = new kube.HealthServer({ port: Number(PORT), registry });

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort(signal));
const manager = new kube.Manager({ clock, log, health, leaderElection, events });
await manager.addInformer(cache).addController(controller).run(stop.signal);
await Promise.all([connection.close(), own.close()]);
