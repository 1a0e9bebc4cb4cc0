import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Registry } from "prom-client";
import { OBSERVED_KINDS } from "../../src/agent/kernel/observed-kinds.ts";
import { listsOf } from "../../src/agent/observe/lists.ts";
import { systemClock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/log.ts";
import { Client } from "../../src/kube/client/client.ts";
import { connect } from "../../src/kube/client/connection.ts";
import { kubeMetrics } from "../../src/kube/metrics/kube-metrics.ts";
import { endpoint, report } from "./own-process.ts";

/**
 * `kinds.ts --namespace N` lists and watches all kinds that the agent observes, with the agent's fields and indexes, until
 * all are synced. KUBECONFIG says where; prints one line of JSON.
 */
const { values } = parseArgs({
  allowPositionals: true,
  options: { namespace: { type: "string", default: "default" } },
});
const stop = new AbortController();
const startedAt = performance.now();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const connection = await connect({ explicit: endpoint(process.env.KUBECONFIG ?? "") });
const metrics = kubeMetrics(new Registry());
const client = new Client(connection, { metrics: metrics.client, fieldManager: "ours" });
const shared = { client, clock: systemClock, log: silentLogger, metrics: metrics.watch };
const lists = listsOf(OBSERVED_KINDS, { ...shared, namespace: values.namespace });
const running = Object.values(lists).map((list) => list.run(stop.signal));
await Promise.all(Object.values(lists).map((list) => list.whenSynced(stop.signal)));
const seconds = (performance.now() - startedAt) / 1000;
const objects = Object.values(lists).reduce((sum, { store }) => sum + store.size, 0);
report({ bench: "kinds", objects, seconds, longestStallMs: delay.max / 1e6 });
stop.abort();
await Promise.all(running);
await connection.close();
