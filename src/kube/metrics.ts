import type { Registry } from "prom-client";
import { clientMetrics } from "./client-metrics.ts";
import { type Clock, systemClock } from "./clock.ts";
import { controllerMetrics, queueMetrics, type RECONCILE_RESULTS } from "./controller-metrics.ts";
import { type EVENT_RESULTS, electionMetrics, eventMetrics } from "./election-metrics.ts";
import { type WATCH_EVENT_TYPES, type WATCH_RESTART_REASONS, watchMetrics } from "./watch-metrics.ts";

export type HttpMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One HTTP exchange, or the failure to have one. A retried call is several of them. */
export interface RequestOutcome {
  readonly method: HttpMethod;
  /** `host:port` of the API server: one value a connection, never a path. */
  readonly host: string;
  /** HTTP status; undefined when no answer came, written as `<error>`. */
  readonly code: number | undefined;
  /** Until the answer's headers for a watch, until its end otherwise. */
  readonly seconds: number;
  readonly requestBytes?: number;
  readonly responseBytes?: number;
}

export interface ClientMetrics {
  requestEnded(outcome: RequestOutcome): void;
  /** The exchange that ended with `code` is about to be tried again. */
  requestRetried(retry: Pick<RequestOutcome, "method" | "host" | "code">): void;
}

export type WatchEventType = (typeof WATCH_EVENT_TYPES)[number];

/** Why a watch ended and another one begins. `closed` is the server's normal end, the rest are accidents. */
export type WatchRestartReason = (typeof WATCH_RESTART_REASONS)[number];

/** Of one kind. */
export interface WatchMetrics {
  received(type: WatchEventType): void;
  restarted(reason: WatchRestartReason): void;
  cached(objects: number): void;
  synced(synced: boolean): void;
}

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
  watch(kind: string): WatchMetrics;
  queue(name: string): QueueMetrics;
  controller(name: string, concurrency: number): ControllerMetrics;
  election(name: string): ElectionMetrics;
  readonly events: EventMetrics;
}

/**
 * Registers the series of this room in `registry`, under client-go's and controller-runtime's own names, labels and
 * buckets, so that dashboards made for them light up. A registry takes them once. Labels hold names from code (kinds,
 * controllers, leases), never names of objects.
 *
 * @param clock for `watch_last_event_age_seconds`.
 */
export function kubeMetrics(registry: Registry, clock: Clock = systemClock): KubeMetrics {
  return {
    client: clientMetrics(registry),
    watch: watchMetrics(registry, clock),
    queue: queueMetrics(registry),
    controller: controllerMetrics(registry),
    election: electionMetrics(registry),
    events: eventMetrics(registry),
  };
}
