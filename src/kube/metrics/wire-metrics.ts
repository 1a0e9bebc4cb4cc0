/** What the client tells about each exchange. Labels are closed: methods, status codes, the one server's host. */
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
export type WatchRestartReason = "closed" | "expired" | "gone" | "idle" | "decode" | "throttled" | "error" | "short";

/** What an informer tells. `kind` is the resource's plural: as many values as informers. */
export interface WatchMetrics {
  /** `count` events: told a chunk at a time, because 50,000 at once arrive with the first list. */
  event(kind: string, type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR", count: number): void;
  restart(kind: string, reason: WatchRestartReason): void;
  /** Anything at all arrived, bookmarks included: how fresh the cache is. Unix seconds. */
  lastEvent(kind: string, timestampSeconds: number): void;
  objects(kind: string, count: number): void;
  synced(kind: string, synced: boolean): void;
}
