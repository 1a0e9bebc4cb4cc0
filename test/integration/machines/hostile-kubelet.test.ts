import { Registry } from "prom-client";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { MachineCluster } from "../../../src/agent/machines/machine-cluster.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { type Connection, connect } from "../../../src/kube/client/connection.ts";
import { loadKubeconfig } from "../../../src/kube/client/kubeconfig.ts";
import { kubeMetrics } from "../../../src/kube/metrics/kube-metrics.ts";
import { wrap } from "../../../src/kube/objects/der.ts";
import { eventually } from "../../world/wait.ts";

// A kubelet speaks protobuf, in which the API server takes any number for a time.

const cluster = useCluster();
const stop = new AbortController();
let connection: Connection;
beforeAll(async () => {
  connection = await connect({ kubeconfig: cluster().adminKubeconfig });
});
afterAll(async () => {
  stop.abort(new Error("test over"));
  await connection?.close();
});

const field = (number: number, ...content: readonly (Buffer | string)[]): Buffer =>
  wrap(number * 8 + 2, ...content.map((each) => Buffer.from(each)));
/** Seconds that no calendar has: 2^50. */
const NEVER = Buffer.from("0880808080808080 02".replaceAll(" ", ""), "hex");

async function post(path: string, apiVersion: string, kind: string, object: Buffer): Promise<number> {
  const { server, tls } = await loadKubeconfig([cluster().adminKubeconfig], undefined, systemClock);
  const dispatcher = new Agent({ connect: tls });
  const unknown = Buffer.concat([field(1, field(1, apiVersion), field(2, kind)), field(2, object)]);
  const body = Buffer.concat([Buffer.from("k8s\0", "latin1"), unknown]);
  const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
  try {
    const answer = await request(`${server}${path}`, { method: "POST", body, headers, dispatcher });
    await answer.body.dump();
    return answer.statusCode;
  } finally {
    await dispatcher.close();
  }
}

test("a machine that reports times which no calendar has hides no other machine from the agent", async () => {
  const nodes = (name: string) => field(1, field(1, name));
  const condition = field(4, field(1, "Ready"), field(2, "True"), field(3, NEVER), field(4, NEVER));
  expect(await post("/api/v1/nodes", "v1", "Node", Buffer.concat([nodes("m-1"), field(3, condition)]))).toBe(201);
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  const lease = Buffer.concat([nodes("m-1"), field(2, field(4, NEVER))]);
  expect(await post(leases, "coordination.k8s.io/v1", "Lease", lease)).toBe(201);
  await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name: "m-2" } }]);
  const machines = new MachineCluster({
    client: new Client(connection),
    namespace: DEFAULT_NAMES.grantsNamespace,
    fence: () => undefined,
    clock: systemClock,
    log: silentLogger,
    metrics: { watch: kubeMetrics(new Registry()).watch },
  });
  const running = [machines.nodes.run(stop.signal), machines.leases.run(stop.signal)];
  await eventually(
    async () => [...machines.nodes.store.values()].map(({ metadata }) => metadata.name).sort(),
    (names) => names.includes("m-1") && names.includes("m-2"),
    20_000,
  );
  await eventually(
    async () => machines.leases.synced,
    (isSynced) => isSynced,
    20_000,
  );
  expect(machines.renewedAt("m-1")).toBeUndefined();
  stop.abort(new Error("test over"));
  await Promise.all(running);
});
