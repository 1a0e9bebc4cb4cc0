import { listPage } from "../../kube/cache/list-pages.ts";
import type { Client } from "../../kube/client/client.ts";
import { resources } from "../../kube/objects/resource.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { type PodMetrics, podMetricsShape } from "../../kube/projection/metrics-shapes.ts";
import { type Event, eventShape } from "../../kube/projection/shapes.ts";

/** Of one object, and of what the server reads for them. The newest of these are told. */
const MAX_EVENTS_LISTED = 100;
const MAX_EVENTS_BYTES = 1_048_576;

/** Of a namespace: more pods than are asked for, in one answer, because the API has no pages. */
const MAX_PODS_LISTED = 10_000;
const MAX_METRICS_BYTES = 8_388_608;

/** The events of one object, by its uid. */
export function eventLister(
  client: Client,
): (namespace: string, uid: string, signal: AbortSignal) => Promise<readonly Event[]> {
  return async (namespace, uid, signal) => {
    // Words of events seldom repeat from list to list: what is kept once is forgotten with the list.
    const target = { client, resource: resources.events, projection: eventShape, strings: new Interner(), namespace };
    const limits = { limit: MAX_EVENTS_LISTED, maxBytes: MAX_EVENTS_BYTES, retry: false };
    const { items } = await listPage({ ...target, fieldSelector: `regarding.uid=${uid}` }, limits, signal);
    return items;
  };
}

/** What the pods of a namespace used. */
export function podMetricsLister(
  client: Client,
  labelSelector: string | undefined,
): (namespace: string, signal: AbortSignal) => Promise<readonly PodMetrics[]> {
  return async (namespace, signal) => {
    const strings = new Interner();
    const target = { client, resource: resources.podMetrics, projection: podMetricsShape, strings, namespace };
    const limits = { limit: MAX_PODS_LISTED, maxBytes: MAX_METRICS_BYTES, retry: false };
    const { items } = await listPage({ ...target, labelSelector }, limits, signal);
    return items;
  };
}
