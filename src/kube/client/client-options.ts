import type { Clock } from "../../base/clock.ts";
import type { ClientMetrics } from "../metrics/metrics.ts";
import type { ServerClock } from "./server-clock.ts";

export interface ClientOptions {
  readonly metrics?: ClientMetrics;
  readonly clock?: Clock;
  /** Learns the API server's time from each answer. */
  readonly serverClock?: ServerClock;
  /** Who owns the fields that we write; one constant a program. Default: the connection's user agent. */
  readonly fieldManager?: string;
  /** For one try of one request. Default 60_000, the API server's own limit. */
  readonly timeoutMs?: number;
}

export interface ListOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Stop after so many objects. */
  readonly limit?: number;
  /** A larger page is refused, with AnswerTooLarge as the cause, before it is memory. @default what the client takes of any answer */
  readonly pageBytes?: number;
}

export interface ApplyOptions {
  readonly fieldManager?: string;
  /** Take over fields that another manager owns, instead of a 409. Default true: we own what we apply. */
  readonly force?: boolean;
  readonly subresource?: "status";
}

export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "test" | "move" | "copy";
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export type Patch =
  | { readonly type: "merge"; readonly body: object }
  /** Lists merge by the keys that the kind declares; the built-in kinds alone take it. */
  | { readonly type: "strategic"; readonly body: object }
  | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] };

export interface PatchOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
}

export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
}
