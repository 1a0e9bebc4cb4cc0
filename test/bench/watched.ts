import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import type { Client } from "../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../src/kube/objects/resource.ts";
import { jsonProjection } from "../../src/kube/projection/projection.ts";

/** The objects of one kind in a namespace, read now and watched until the stack is disposed. */
export async function watched<T extends KubeObject>(
  stack: AsyncDisposableStack,
  client: Client,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<Informer<T>> {
  const of = { client, resource, namespace, clock: systemClock, log: silentLogger };
  const informer = new Informer<T>({ ...of, projection: jsonProjection<T>() });
  const stop = new AbortController();
  const running = informer.run(stop.signal).catch(() => undefined);
  stack.defer(async () => {
    stop.abort(new Error("measured"));
    await running;
  });
  await informer.whenSynced(signal);
  return informer;
}
