import { randomBytes } from "node:crypto";
import { type Clock, type Random, systemRandom } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { WorkQueue } from "../controller/work-queue.ts";
import type { EventMetrics } from "../metrics/metrics.ts";
import { microTime } from "../objects/micro-time.ts";
import { resources } from "../objects/resource.ts";
import { type EventNote, eventObject, type KubeEvent, seriesKey } from "./event.ts";

export interface EventRecorderOptions {
  readonly client: Pick<Client, "create" | "patch">;
  /** Who reports: a qualified name such as `example.dev/operator`. */
  readonly controller: string;
  /** Which one of them: the pod's name; cut to 128 characters. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: { readonly events: EventMetrics };
  readonly random?: Random;
  /** Makes every note fit to be written; notes stay as they are when it is left out. */
  readonly words?: (note: string) => string;
  /** Events waiting to be written; more are dropped and counted. Default 1,000. */
  readonly maxQueued?: number;
  /** How long a shutdown may take to write what waits; default 2,000. */
  readonly flushMs?: number;
}

/** client-go `tools/events`: an event seen again within this time is the same series. */
const SERIES_IDLE_MS = 6 * 60_000;
/** How often the growing count of a long series is written. */
const SERIES_REFRESH_MS = 30 * 60_000;
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.25;
const WORKERS = 8;
const REQUEST_TIMEOUT_MS = 10_000;
/** Series remembered at once; a new one beyond it forgets the oldest that is written. */
const MAX_SERIES = 4096;

/** One series: an event and its repetitions. */
interface Series {
  readonly event: KubeEvent;
  count: number;
  lastMs: number;
  lastAt: Date;
  /** Count that the server knows; 0 before the event was created. */
  written: number;
  writtenMs: number;
  tries: number;
  /** To be written by a worker, who has it or will get it. */
  queued: boolean;
}

/**
 * Writes Kubernetes events (`events.k8s.io/v1`), for `kubectl describe` and `kubectl events`. They are news for people,
 * not a record: `record` never waits and never throws, and under pressure events are dropped and counted.
 *
 * The first of a kind is created, the second within 6 minutes makes it a series, further ones are counted here and
 * written every 30 minutes and when the series ends. Same type, action, reason and objects are the same kind of event;
 * the note is the first one's. Refused by the server: dropped; server away: 12 tries 10 s apart.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #queue: WorkQueue;
  readonly #abort = new AbortController();
  readonly #random: Random;
  #queued = 0;
  #stopSweep: (() => void) | undefined;
  #isStopped = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#random = options.random ?? systemRandom;
    this.#queue = new WorkQueue({ clock: options.clock, signal: this.#abort.signal });
  }

  /** May be called before `run`: up to `maxQueued` events wait for it. */
  record(news: EventNote): void {
    const { clock, controller, instance, maxQueued = 1000, metrics, words } = this.#options;
    const note = words === undefined ? news : { ...news, note: words(news.note) };
    const key = seriesKey(note);
    const known = this.#series.get(key);
    const nowMs = clock.monotonicMs();
    if (this.#isStopped || (known === undefined && this.#queued >= maxQueued)) {
      metrics.events.ended("dropped");
      return;
    }
    if (known) {
      known.count += 1;
      known.lastMs = nowMs;
      known.lastAt = clock.wallNow();
      if (known.written <= 1) this.#enqueue(key, known);
      return;
    }
    this.#forgetOldest();
    const at = clock.wallNow();
    const name = randomBytes(8).toString("hex");
    const event = eventObject(note, { controller, instance, at, suffix: name });
    const series = {
      event,
      count: 1,
      lastMs: nowMs,
      lastAt: at,
      written: 0,
      writtenMs: nowMs,
      tries: 0,
      queued: false,
    };
    this.#series.set(key, series);
    this.#enqueue(key, series);
    this.#armSweep();
  }

  /** Writes until `signal` aborts, then for `flushMs` at most what still waits. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, flushMs = 2000 } = this.#options;
    let cancelFlush: (() => void) | undefined;
    const stop = (): void => {
      this.#isStopped = true;
      this.#stopSweep?.();
      cancelFlush = clock.after(flushMs, () => this.#abort.abort(signal.reason));
      // Ends the workers, which are what run waits for.
      void this.#queue.drain();
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    await Promise.all(Array.from({ length: WORKERS }, () => this.#work()));
    cancelFlush?.();
    this.#abort.abort(signal.reason);
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.get(); key !== undefined; key = await this.#queue.get()) {
      const series = this.#series.get(key);
      try {
        if (series) await this.#write(key, series);
      } finally {
        this.#queue.done(key);
      }
    }
  }

  async #write(key: string, series: Series): Promise<void> {
    const { clock, metrics, log } = this.#options;
    const { count } = series;
    try {
      const send = (signal: AbortSignal): Promise<unknown> => this.#send(series, count, signal);
      await withDeadline(clock, REQUEST_TIMEOUT_MS, this.#abort.signal, send);
      this.#dequeue(series);
      series.written = count;
      series.writtenMs = clock.monotonicMs();
      series.tries = 0;
      metrics.events.ended("written");
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      series.tries += 1;
      if (isWorthRetrying(error) && series.tries < MAX_TRIES) {
        this.#queue.addAfter(key, RETRY_MS * (1 + RETRY_JITTER * (2 * this.#random() - 1)));
        return;
      }
      this.#dequeue(series);
      this.#series.delete(key);
      metrics.events.ended("failed");
      log.warn({ err: error, reason: series.event.reason }, "event not written");
    }
  }

  async #send(series: Series, count: number, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { event } = series;
    const repeated = count > 1 ? { series: { count, lastObservedTime: microTime(series.lastAt) } } : {};
    if (series.written > 0) {
      const key = { namespace: event.metadata.namespace, name: event.metadata.name };
      try {
        await client.patch(resources.events, key, { type: "merge", body: repeated }, {}, signal);
        return;
      } catch (error) {
        // Events live for an hour by default: the series outlived its event.
        if (!(error instanceof ApiError && error.isNotFound)) throw error;
      }
    }
    try {
      await client.create(resources.events, { ...event, ...repeated }, signal);
    } catch (error) {
      // An earlier try arrived, its answer did not. The count may lag by one write.
      if (!(error instanceof ApiError && error.isAlreadyExists)) throw error;
    }
  }

  /** Ends idle series, refreshes long ones. One timer, armed while there is a series. */
  #sweep(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, series] of this.#series) {
      if (series.queued) continue;
      const isIdle = nowMs - series.lastMs >= SERIES_IDLE_MS;
      if (series.count > series.written && (isIdle || nowMs - series.writtenMs >= SERIES_REFRESH_MS)) {
        this.#enqueue(key, series);
      } else if (isIdle) this.#series.delete(key);
    }
    this.#armSweep();
  }

  #armSweep(): void {
    if (this.#stopSweep !== undefined || this.#series.size === 0 || this.#isStopped) return;
    this.#stopSweep = this.#options.clock.after(SERIES_IDLE_MS, () => {
      this.#stopSweep = undefined;
      this.#sweep();
    });
  }

  #enqueue(key: string, series: Series): void {
    if (!series.queued) this.#queued += 1;
    series.queued = true;
    this.#queue.add(key);
  }

  #dequeue(series: Series): void {
    if (series.queued) this.#queued -= 1;
    series.queued = false;
  }

  #forgetOldest(): void {
    if (this.#series.size < MAX_SERIES) return;
    for (const [key, series] of this.#series) {
      if (series.queued) continue;
      this.#series.delete(key);
      return;
    }
  }
}

/** client-go's rule: the server's own refusals are final, a missing answer is not. */
function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof ApiError) || error.isTransient;
}
