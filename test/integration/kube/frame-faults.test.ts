import fc from "fast-check";
import { Registry } from "prom-client";
import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { runs } from "../../../src/base/testing/runs.ts";
import { scaledClock } from "../../../src/base/testing/scaled-clock.ts";
import { Informer } from "../../../src/kube/cache/informer.ts";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import { Client } from "../../../src/kube/client/client.ts";
import { connect } from "../../../src/kube/client/connection.ts";
import type { TlsOptions } from "../../../src/kube/client/credentials.ts";
import { METADATA_OF_LIST } from "../../../src/kube/client/exchange.ts";
import { loadKubeconfig } from "../../../src/kube/client/kubeconfig.ts";
import { LeaderElector } from "../../../src/kube/election/leader-election.ts";
import { kubeMetrics } from "../../../src/kube/metrics/kube-metrics.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { jsonProjection, type Projection } from "../../../src/kube/projection/projection.ts";
import { configMapShape } from "../../../src/kube/projection/shapes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { FAULTS, FrameProxy } from "./frame-proxy.ts";

// A proxy between each kind of client and a real API server drops, repeats, cuts, spoils and withholds frames. Once it
// stops, the client has what the server has, and nothing of it is left when it ends. A single event that a proxy takes out
// of a stream is not among the faults: nothing in the protocol would tell.

const cluster = useCluster();
/** A hundred times faster: a request has 1.2 s, a silent watch 0.9 s. */
const fast = scaledClock(100);
let target: { readonly server: string; readonly tls: TlsOptions };
let admin: Client;
let worlds = 0;
let changes = 0;
const nextChange = (): string => {
  changes += 1;
  return String(changes);
};

beforeAll(async () => {
  target = await loadKubeconfig([cluster().adminKubeconfig], undefined, fast);
  admin = new Client(await connect({ kubeconfig: cluster().adminKubeconfig }));
}, 600_000);

/** Counts the timers that are left. */
function counting(clock: Clock): Clock & { pending: number } {
  const counted = {
    ...clock,
    pending: 0,
    after(delayMs: number, task: () => void): () => void {
      let isOver = false;
      const end = (): void => {
        if (!isOver) counted.pending -= 1;
        isOver = true;
      };
      counted.pending += 1;
      const cancel = clock.after(delayMs, () => {
        end();
        task();
      });
      return () => {
        end();
        cancel();
      };
    },
  };
  return counted;
}

async function world(
  run: (world: { proxy: FrameProxy; client: Client; clock: Clock; namespace: string }) => Promise<void>,
) {
  worlds += 1;
  const namespace = `faults-${worlds}`;
  await admin.create(
    resources.namespaces,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    signal(),
  );
  const proxy = await FrameProxy.start(target.server, target.tls);
  const clock = counting(fast);
  const connection = await connect({ explicit: { server: proxy.url }, environment: {} }, clock);
  try {
    await run({ proxy, client: new Client(connection, { clock, timeoutMs: 120_000 }), clock, namespace });
    expect(clock.pending).toBe(0);
  } finally {
    await connection.close();
    await eventually(
      async () => proxy.open,
      (open) => open === 0,
    );
    await proxy.close();
  }
}

interface Held {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
}

const fault = fc.option(fc.constantFrom(...FAULTS), { nil: undefined, freq: 3 });
const change = fc.tuple(fc.constantFrom("put", "remove"), fc.constantFrom("a", "b", "c", "d"));
const script = fc.record({
  first: fc.array(fault, { maxLength: 4 }),
  steps: fc.array(fc.tuple(change, fc.array(fault, { maxLength: 2 })), { minLength: 3, maxLength: 8 }),
});
type Script = typeof script extends fc.Arbitrary<infer S> ? S : never;

/** The worst of each, so that they are seen in every run. */
const examples: [Script][] = [
  [{ first: [undefined, "drop"], steps: [[["put", "a"], ["stall"]]] }],
  [
    {
      first: ["stall"],
      steps: [
        [
          ["remove", "a"],
          ["truncate", "duplicate"],
        ],
        [
          ["put", "b"],
          ["corrupt", "gone"],
        ],
      ],
    },
  ],
];

test.concurrent.each<readonly [string, boolean, Projection<Held>]>([
  ["a watch-list in protobuf", false, configMapShape],
  ["a watch-list in JSON", false, jsonProjection<Held>()],
  ["a list and a watch in protobuf", true, configMapShape],
  ["a list and a watch in JSON", true, jsonProjection<Held>()],
])("%s comes to hold what the server has", { timeout: 240_000 }, async (_, refusesWatchList, projection) => {
  await fc.assert(
    fc.asyncProperty(script, ({ first, steps }) =>
      world(async ({ proxy, client, clock, namespace }) => {
        const put = (name: string): Promise<unknown> =>
          admin.apply(resources.configMaps, mapOf(namespace, name, nextChange()), {}, signal());
        await put("a");
        proxy.refusesWatchList = refusesWatchList;
        proxy.plan.push(...first);
        const stop = new AbortController();
        const options = { client, clock, log: silentLogger, namespace, projection, resource: resources.configMaps };
        const informer = new Informer<Held>(options);
        const running = informer.run(stop.signal);
        for (const [[what, name], faults] of steps) {
          proxy.plan.push(...faults);
          if (what === "put") await put(name);
          else await admin.delete(resources.configMaps, { namespace, name }, {}, signal());
        }
        proxy.plan.length = 0;
        await informer.whenSynced(signal());
        await put("last");
        const there: string[] = [];
        for await (const { metadata } of admin.list(resources.configMaps, { namespace }, signal())) {
          there.push(`${metadata.name} ${metadata.resourceVersion}`);
        }
        const held = (): string =>
          [...informer.store.values()]
            .map(({ metadata: { name, resourceVersion } }) => `${name} ${resourceVersion}`)
            .sort()
            .join();
        await eventually(
          async () => held(),
          (each) => each === there.sort().join(),
          60_000,
        );
        stop.abort();
        await running;
      }),
    ),
    { numRuns: runs(30, 2), examples },
  );
});

const mapOf = (namespace: string, name: string, change = "none") => {
  const metadata = { namespace, name, annotations: { "example.com/change": change } };
  return { apiVersion: "v1", kind: "ConfigMap", metadata } as const;
};

/** Seconds of a slow machine. */
const TIMES = { leaseDurationMs: 900_000, renewDeadlineMs: 600_000, fenceMarginMs: 60_000 };

type Call = (client: Client, namespace: string) => Promise<unknown>;

const calls: Readonly<Record<string, Call>> = {
  get: (client, namespace) => client.get(resources.configMaps, { namespace, name: "it" }, signal()),
  list: async (client, namespace) => {
    for await (const each of client.list(resources.configMaps, { namespace }, signal())) void each;
  },
  "list of metadata": (client, namespace) =>
    client.exchange.json(
      { method: "GET", path: `/api/v1/namespaces/${namespace}/configmaps`, accept: METADATA_OF_LIST },
      signal(),
    ),
  apply: (client, namespace) => client.apply(resources.configMaps, mapOf(namespace, "it"), {}, signal()),
  patch: (client, namespace) => {
    const body = { metadata: { labels: { it: "yes" } } };
    return client.patch(resources.configMaps, { namespace, name: "it" }, { type: "merge", body }, {}, signal());
  },
  "access review": (client, namespace) =>
    client.selfSubjectAccessReview({ verb: "get", group: "", resource: "pods", namespace }, signal()),
};

test.concurrent.each(Object.keys(calls))(
  "%s ends in an answer or an ApiError, whatever comes",
  { timeout: 120_000 },
  (name) =>
    world(async ({ proxy, client, namespace }) => {
      const call = calls[name] as Call;
      await calls.apply?.(admin, namespace);
      for (const each of FAULTS) {
        proxy.plan.push(each);
        // One answer may be refused twice: a GET on a socket that died is tried again.
        proxy.plan.push(each);
        const failed = await call(client, namespace).then(
          () => undefined,
          (error: unknown) => error,
        );
        proxy.plan.length = 0;
        if (failed !== undefined) expect(failed, each).toBeInstanceOf(ApiError);
        await call(client, namespace);
      }
    }),
);

test.concurrent("an election ends with a leader, and a stop is a stop", { timeout: 120_000 }, () =>
  world(async ({ proxy, client, clock, namespace }) => {
    const metrics = kubeMetrics(new Registry());
    const options = { client, clock, log: silentLogger, namespace, name: "it", identity: "a", metrics, ...TIMES };
    proxy.plan.push(...FAULTS);
    const elector = new LeaderElector(options);
    const stop = new AbortController();
    const running = elector.run(
      (leadership) => new Promise((done) => leadership.addEventListener("abort", () => done())),
      stop.signal,
    );
    await eventually(
      async () => elector.isLeader,
      (leads) => leads,
    );
    stop.abort();
    await running;
  }),
);
