import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { kubeMetrics } from "./kube-metrics.ts";
import type { KubeMetrics } from "./metrics.ts";

function everythingOnce(metrics: KubeMetrics): void {
  metrics.client.request({ method: "GET", host: "server:6443", code: "200", durationSeconds: 0.02 });
  metrics.client.request({ method: "GET", host: "server:6443", code: "<error>", durationSeconds: 1 });
  metrics.client.retry({ method: "GET", host: "server:6443", code: "429" });
  metrics.watch.event("pods", "ADDED", 1);
  const queue = metrics.queue("things");
  queue.added();
  queue.retried();
  queue.waited(0.5);
  queue.worked(0.5);
  queue.observe(() => ({ depth: 3, unfinishedSeconds: 2, longestRunningSeconds: 1 }));
  const controller = metrics.controller("things", 4);
  controller.reconciled("success", 0.5);
  controller.terminalError();
  controller.panicked();
  controller.timedOut();
  controller.active(1);
  metrics.election("lease").leading(true);
  metrics.events.ended("written");
}

test("names, types, labels and buckets are those of client-go and controller-runtime", async () => {
  const registry = new Registry();
  everythingOnce(kubeMetrics(registry));
  const families = await registry.getMetricsAsJSON();
  const summary = families.map(({ name, type, values }) => {
    const labels = new Set(values.flatMap((each) => Object.keys(each.labels)).filter((label) => label !== "le"));
    const buckets = new Set(values.map((each) => ("le" in each.labels ? each.labels.le : undefined)));
    const limits = [...buckets].filter((each) => each !== undefined && each !== "+Inf");
    return `${name} ${type} {${[...labels].join(",")}}${limits.length > 0 ? ` ${limits.join(" ")}` : ""}`;
  });
  expect(summary).toMatchInlineSnapshot(`
    [
      "rest_client_requests_total counter {code,method,host}",
      "rest_client_request_retries_total counter {code,verb,host}",
      "rest_client_request_duration_seconds histogram {verb,host} 0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60",
      "watch_events_total counter {kind,type}",
      "watch_restarts_total counter {kind,reason}",
      "cache_objects gauge {kind}",
      "cache_synced gauge {kind}",
      "watch_last_event_timestamp_seconds gauge {kind}",
      "workqueue_depth gauge {name,controller,priority}",
      "workqueue_unfinished_work_seconds gauge {name,controller}",
      "workqueue_longest_running_processor_seconds gauge {name,controller}",
      "workqueue_adds_total counter {name,controller}",
      "workqueue_retries_total counter {name,controller}",
      "workqueue_queue_duration_seconds histogram {name,controller} 1e-8 1e-7 0.000001 0.00001 0.0001 0.001 0.01 0.1 1 10 100 1000",
      "workqueue_work_duration_seconds histogram {name,controller} 1e-8 1e-7 0.000001 0.00001 0.0001 0.001 0.01 0.1 1 10 100 1000",
      "controller_runtime_reconcile_total counter {controller,result}",
      "controller_runtime_reconcile_errors_total counter {controller}",
      "controller_runtime_terminal_reconcile_errors_total counter {controller}",
      "controller_runtime_reconcile_panics_total counter {controller}",
      "controller_runtime_reconcile_timeouts_total counter {controller}",
      "controller_runtime_reconcile_time_seconds histogram {controller} 0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 5 6 7 8 9 10 15 20 25 30 40 50 60",
      "controller_runtime_max_concurrent_reconciles gauge {controller}",
      "controller_runtime_active_workers gauge {controller}",
      "leader_election_master_status gauge {name}",
      "leader_election_slowpath_total counter {name}",
      "event_recorder_events_total counter {result}",
    ]
  `);
});

test("every series of a controller, its queue, a lease and the events is there, at 0, before anything happens", async () => {
  const registry = new Registry();
  const metrics = kubeMetrics(registry);
  metrics.controller("things", 4);
  metrics.queue("things");
  metrics.election("lease");
  const families = await registry.getMetricsAsJSON();
  const nonZero = families.flatMap(({ name, values }) => values.filter((each) => each.value !== 0).map(() => name));
  expect(nonZero).toEqual(["controller_runtime_max_concurrent_reconciles"]);
  const empty = families.filter(({ values }) => values.length === 0).map(({ name }) => name);
  // The host and the kinds are known only with the first request and the first watch.
  expect(empty.filter((name) => !/^(rest_client|watch|cache)_/.test(name))).toEqual([]);
});

test("a watch's first word brings all series of its kind", async () => {
  const registry = new Registry();
  kubeMetrics(registry).watch.synced("pods", false);
  expect((await registry.metrics()).match(/kind="pods"/g)).toHaveLength(5 + 10 + 3);
});

test("more of the same adds values, not series", async () => {
  const registry = new Registry();
  const metrics = kubeMetrics(registry);
  everythingOnce(metrics);
  const before = (await registry.metrics()).split("\n").length;
  for (let i = 0; i < 10; i++) everythingOnce(metrics);
  expect((await registry.metrics()).split("\n")).toHaveLength(before);
});

test("a queue that has ended shows an empty queue", async () => {
  const registry = new Registry();
  const queue = kubeMetrics(registry).queue("things");
  const stop = queue.observe(() => ({ depth: 3, unfinishedSeconds: 2, longestRunningSeconds: 1 }));
  expect(await registry.metrics()).toContain('workqueue_depth{name="things",controller="things",priority=""} 3');
  stop();
  expect(await registry.metrics()).toContain('workqueue_depth{name="things",controller="things",priority=""} 0');
});
