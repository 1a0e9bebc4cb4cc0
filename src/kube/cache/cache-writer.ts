import { isResumable } from "../../base/peer-numbers.ts";
import type { WatchMetrics } from "../metrics/metrics.ts";
import { DecodeError } from "../projection/protobuf.ts";
import type { Cache, Draft } from "./cache.ts";
import type { ChangeType, WatchEvent } from "./codec.ts";
import type { Cached } from "./store.ts";
import type { WatchSink } from "./watch.ts";

type Counts = Record<ChangeType | "BOOKMARK" | "ERROR", number>;

export interface CacheWriterOptions<T extends Cached> {
  readonly cache: Cache<T>;
  readonly kind: string;
  readonly metrics: WatchMetrics | undefined;
  /** Undefined: the stream begins with all that exists, which is collected apart until its end is marked. */
  readonly resourceVersion: string | undefined;
  /** Unix seconds. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** The stream is alive. */
  readonly onHeard: () => void;
  /** The collected set is in the cache, and the listeners were called. */
  readonly onFilled: () => void;
}

/** Takes one watch's events into a cache, and knows from where the next watch can resume. */
export class CacheWriter<T extends Cached> implements WatchSink<T> {
  readonly #options: CacheWriterOptions<T>;
  #draft: Draft<T> | undefined;
  #isMarked: boolean;
  #seen: string;
  #counts: Counts = noCounts();
  #events = 0;
  #isUnsupported = false;

  constructor(options: CacheWriterOptions<T>) {
    this.#options = options;
    this.#draft = options.resourceVersion === undefined ? options.cache.draft() : undefined;
    this.#isMarked = options.resourceVersion !== undefined;
    this.#seen = options.resourceVersion ?? "";
  }

  /** Version up to which the cache is complete; undefined while the first set is still coming. */
  get resourceVersion(): string | undefined {
    return this.#draft === undefined && this.#seen !== "" ? this.#seen : undefined;
  }

  get isMarked(): boolean {
    return this.#isMarked;
  }

  /** Objects of the first set while it is still coming. */
  get received(): number {
    return this.#draft?.store.size ?? 0;
  }

  /** Objects that changed; bookmarks are not counted. */
  get events(): number {
    return this.#events;
  }

  /** The server gave an ordinary bookmark where only the mark can be: it does not know of initial events. */
  get isUnsupported(): boolean {
    return this.#isUnsupported;
  }

  event(event: WatchEvent<T>): void {
    this.#counts[event.type] += 1;
    if (event.type === "ERROR") return;
    if (event.type !== "BOOKMARK") {
      (this.#draft ?? this.#options.cache).apply(event.type, event.object);
      this.#see(event.object.metadata.resourceVersion);
      this.#events += 1;
      return;
    }
    this.#see(event.resourceVersion);
    if (this.#draft === undefined || this.#isMarked) return;
    if (!event.initialEnd) {
      this.#isUnsupported = true;
      throw new DecodeError("a bookmark before the end of the initial events");
    }
    this.#isMarked = true;
  }

  /**
   * At the end of the chunk, not at the mark: a few later changes in the same chunk join the set before it is shown.
   */
  settle(): Promise<void> | undefined {
    this.#count();
    this.#options.onHeard();
    // It may have been stopped there.
    this.#options.signal.throwIfAborted();
    return this.#isMarked && this.#draft !== undefined ? this.#fill(this.#draft) : undefined;
  }

  /** What is no version is passed over: the one before is a little older, and some events come again. */
  #see(version: string): void {
    if (isResumable(version)) this.#seen = version;
  }

  async #fill(draft: Draft<T>): Promise<void> {
    const { cache, kind, metrics, signal, onFilled } = this.#options;
    await cache.adopt(draft, signal);
    this.#draft = undefined;
    metrics?.objects(kind, cache.store.size);
    onFilled();
  }

  #count(): void {
    const { cache, kind, metrics, now } = this.#options;
    if (metrics === undefined) return;
    for (const type of EVENT_TYPES) {
      if (this.#counts[type] > 0) metrics.event(kind, type, this.#counts[type]);
    }
    this.#counts = noCounts();
    metrics.lastEvent(kind, now());
    if (this.#draft === undefined) metrics.objects(kind, cache.store.size);
  }
}

const EVENT_TYPES = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] as const;

function noCounts(): Counts {
  return { ADDED: 0, MODIFIED: 0, DELETED: 0, BOOKMARK: 0, ERROR: 0 };
}
