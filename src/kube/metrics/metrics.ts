/** What the client measures of each exchange. Labels are closed: methods, status codes, the one server's host. */
export interface ClientMetrics {
  /** An exchange ended. `code` is the HTTP status, or `<error>` when no answer came (client-go's own spelling). */
  request(exchange: {
    readonly method: string;
    readonly host: string;
    readonly code: string;
    readonly durationSeconds: number;
  }): void;
  /** The exchange that ended with `code` is tried again. */
  retry(exchange: { readonly method: string; readonly host: string; readonly code: string }): void;
}

/** Why a watch was opened again. */
export type WatchRestartReason =
  | ("closed" | "expired" | "gone" | "idle" | "decode" | "throttled" | "error" | "short")
  /** There were more objects than may be held. */
  | "too-large"
  /** All that exists was to come first, and its end was not marked: the kind is read with LIST for an hour. */
  | "unmarked";

/** What an informer measures. `kind` is the resource's plural: as many values as informers. */
export interface WatchMetrics {
  /** `count` events: counted a chunk at a time, because 50,000 at once arrive with the first list. */
  event(kind: string, type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR", count: number): void;
  restart(kind: string, reason: WatchRestartReason): void;
  /** Anything at all arrived, bookmarks included: how fresh the cache is. Unix seconds. */
  lastEvent(kind: string, timestampSeconds: number): void;
  objects(kind: string, count: number): void;
  synced(kind: string, synced: boolean): void;
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

export const RECONCILE_RESULTS = ["success", "error", "requeue", "requeue_after"] as const;

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

export const EVENT_RESULTS = ["written", "dropped", "failed"] as const;

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
