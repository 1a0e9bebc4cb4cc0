import type { Registry } from "prom-client";
import { clientMetrics } from "./client-metrics.ts";
import { controllerMetrics, queueMetrics, type RECONCILE_RESULTS } from "./controller-metrics.ts";
import { type EVENT_RESULTS, electionMetrics, eventMetrics } from "./election-metrics.ts";
import { watchMetrics } from "./watch-metrics.ts";
import type { ClientMetrics, WatchMetrics } from "./wire-metrics.ts";

/** What a work queue is asked at each scrape; cheaper and fresher than client-go's refresh every 500 ms. */
export interface QueueState {
  readonly depth: number;
  /** Sum of the times that keys now in hand have been there. Growing without end: a worker is stuck. */
  readonly unfinishedSeconds: number;
  readonly longestRunningSeconds: number;
}

/** Of one work queue. */
export interface QueueMetrics {
  added(): void;
  /** Added with a delay: a retry, or a run asked for later. */
  retried(): void;
  /** Left the line after `seconds` in it. */
  waited(seconds: number): void;
  /** Handed back after `seconds` with a worker. */
  worked(seconds: number): void;
  /** Gauges ask `read` at each scrape, until the returned function is called. */
  observe(read: () => QueueState): () => void;
}

/** How a reconcile ended. `requeue` is never written by us; dashboards expect the series. */
export type ReconcileResult = (typeof RECONCILE_RESULTS)[number];

/** Of one controller. */
export interface ControllerMetrics {
  reconciled(result: ReconcileResult, seconds: number): void;
  terminalError(): void;
  panicked(): void;
  timedOut(): void;
  /** Workers busy now. */
  active(workers: number): void;
}

/** Of one lease. */
export interface ElectionMetrics {
  leading(leading: boolean): void;
  /** A leader's optimistic renewal was refused, so the lease is read first. */
  slowPath(): void;
}

export interface EventMetrics {
  /** `dropped`: the queue was full. `failed`: the server refused it, or the tries ran out. */
  ended(result: (typeof EVENT_RESULTS)[number]): void;
}

/** Each function may be called once a name; calling it again returns the same series. */
export interface KubeMetrics {
  readonly client: ClientMetrics;
  readonly watch: WatchMetrics;
  queue(name: string): QueueMetrics;
  controller(name: string, concurrency: number): ControllerMetrics;
  election(name: string): ElectionMetrics;
  readonly events: EventMetrics;
}

/**
 * Registers the series of this room in `registry`, under client-go's and controller-runtime's own names, labels and
 * buckets, so that dashboards made for them light up. A registry takes them once. Labels hold names from code (kinds,
 * controllers, leases), never names of objects.
 */
export function kubeMetrics(registry: Registry): KubeMetrics {
  return {
    client: clientMetrics(registry),
    watch: watchMetrics(registry),
    queue: queueMetrics(registry),
    controller: controllerMetrics(registry),
    election: electionMetrics(registry),
    events: eventMetrics(registry),
  };
}
