import { expect, onTestFinished, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { Client, connect, Informer, resources, silentLogger, systemClock } from "../../../src/kube/index.ts";
import { leanPodShape } from "./lean-pod.ts";

const cluster = useCluster();
const never = new AbortController().signal;

async function adminClient(): Promise<Client> {
  const connection = await connect({ kubeconfig: cluster().adminKubeconfig });
  onTestFinished(() => connection.close());
  return new Client(connection);
}

test("the shape in docs/kube.md reads pods", async () => {
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
