import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { ApiError, errorFromStatus, type Status } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import type { WireResponse } from "../client/connection.ts";
import { collectionPath, type Query } from "../objects/paths.ts";
import type { Resource } from "../objects/resource.ts";
import type { Interner } from "../projection/interner.ts";
import type { Projection } from "../projection/projection.ts";
import { DecodeError } from "../projection/protobuf.ts";
import { type Codec, hasProtobuf, JsonCodec, ProtobufCodec, type WatchEvent } from "./codec.ts";
import { type FrameSplitter, JsonFrames, MAX_FRAME_BYTES, ProtobufFrames } from "./frames.ts";

/** Which objects, and how they are read. */
export interface WatchTarget<T> {
  readonly client: Client;
  readonly resource: Resource;
  readonly projection: Projection<T>;
  readonly strings: Interner;
  readonly clock: Clock;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Default {@link MAX_FRAME_BYTES}. */
  readonly maxFrameBytes?: number | undefined;
}

export interface WatchLimits {
  /** Where to begin; undefined: send all that exists first (watch-list). */
  readonly resourceVersion: string | undefined;
  /** When the server is to close the stream. The caller spreads it, so that watches do not end together. */
  readonly timeoutSeconds: number;
}

/** Who receives a watch. Runs inside the reading loop: quick, and never user code that is awaited. */
export interface WatchSink<T> {
  /** Whether all that existed before the watch is there. */
  readonly isMarked: boolean;
  event(event: WatchEvent<T>): void;
  /** After the events of each chunk. A promise holds the stream back until it settles. */
  settle(): Promise<void> | undefined;
}

/** Why a watch ended. Only an abort throws. */
export type WatchEnd =
  /** By the server, or a cut. Resume from the last version. */
  | { readonly reason: "closed" }
  /** Nothing came for {@link IDLE_MS}: the peer is gone and TCP does not know. */
  | { readonly reason: "idle" }
  /** The server did not close in time. */
  | { readonly reason: "expired" }
  /** The end of what existed before was not marked within {@link MARK_WITHIN_MS}: it was lost on its way. */
  | { readonly reason: "unmarked" }
  /** A frame made no sense. Nothing after it can be trusted: resume from the last version. */
  | { readonly reason: "decode"; readonly error: DecodeError }
  /** Refused, or an ERROR event. */
  | { readonly reason: "error"; readonly error: ApiError };

/** Silence after which a stream counts as dead: bookmarks come every 60 s. Source: kopf's 70 s and a margin. */
const IDLE_MS = 90_000;

/** Longest that the server may take to send all that exists: 50,000 pods take it three seconds. Pages are the other way. */
const MARK_WITHIN_MS = 60_000;

/** How long past its own timeout a server may take to close. */
const OVERTIME_MS = 30_000;

/** Longest stretch of decoding before others get the event loop. */
const SLICE_MS = 10;

const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** Second choice JSON: a server without protobuf for this kind answers in it rather than with 406. */
export function acceptOf<T>(projection: Projection<T>, parameter: "" | ";stream=watch"): string {
  return hasProtobuf(projection) ? `${PROTOBUF}${parameter}, application/json` : "application/json";
}

export function codecOf<T>(target: Pick<WatchTarget<T>, "projection" | "strings">, contentType: unknown): Codec<T> {
  const { projection, strings } = target;
  const isProtobuf = typeof contentType === "string" && contentType.startsWith(PROTOBUF);
  if (!isProtobuf) return new JsonCodec(projection, strings);
  if (!hasProtobuf(projection)) throw new DecodeError("protobuf for a kind that is read as JSON");
  return new ProtobufCodec(projection, strings);
}

/**
 * Opens one watch and hands its events to `sink`, in order, until it ends. A sink that throws ends it as a bad frame
 * does.
 *
 * @throws `signal.reason` on abort, and nothing else.
 */
export async function watch<T>(
  target: WatchTarget<T>,
  limits: WatchLimits,
  sink: WatchSink<T>,
  signal: AbortSignal,
): Promise<WatchEnd> {
  const path = collectionPath(target.resource, target.namespace);
  let answer: WireResponse;
  try {
    const accept = acceptOf(target.projection, ";stream=watch");
    answer = await target.client.exchange.stream(
      { method: "GET", path, query: queryOf(target, limits), accept },
      signal,
    );
  } catch (error) {
    if (error instanceof ApiError) return { reason: "error", error };
    throw error;
  }
  const reading = new Reading(target.clock, answer, limits.timeoutSeconds * 1000);
  const cancelMark = target.clock.after(MARK_WITHIN_MS, () => {
    if (!sink.isMarked) reading.finish({ reason: "unmarked" });
  });
  const onStatus = (status: Status): void =>
    reading.finish({ reason: "error", error: errorFromStatus(`WATCH ${path}`, status) });
  try {
    return await reading.run(
      () => splitterFor(target, answer, sink, onStatus),
      () => sink.settle(),
      signal,
    );
  } finally {
    cancelMark();
  }
}

function queryOf<T>(target: WatchTarget<T>, limits: WatchLimits): Query {
  const { labelSelector, fieldSelector } = target;
  const { resourceVersion, timeoutSeconds } = limits;
  const initial =
    resourceVersion === undefined
      ? // Without a version the initial state is the most recent one, never an old replica's.
        { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion };
  return { watch: true, allowWatchBookmarks: true, timeoutSeconds, labelSelector, fieldSelector, ...initial };
}

function splitterFor<T>(
  target: WatchTarget<T>,
  answer: WireResponse,
  sink: WatchSink<T>,
  onStatus: (status: Status) => void,
): FrameSplitter {
  const codec = codecOf(target, answer.headers["content-type"]);
  let failed = false;
  const onFrame = (bytes: Buffer, start: number, end: number): void => {
    // The server closes after an ERROR; what else is in the same chunk is not part of the stream any more.
    if (failed) return;
    const event = codec.event(bytes, start, end);
    sink.event(event);
    if (event.type !== "ERROR") return;
    failed = true;
    onStatus(event.status);
  };
  const maxBytes = target.maxFrameBytes ?? MAX_FRAME_BYTES;
  return codec instanceof ProtobufCodec ? new ProtobufFrames(onFrame, maxBytes) : new JsonFrames(onFrame, maxBytes);
}

/** The life of one open stream: its timers, and the one reason for which it ends. */
class Reading {
  readonly #clock: Clock;
  readonly #body: WireResponse["body"];
  readonly #limitMs: number;
  #end: WatchEnd | undefined;
  #heardAtMs: number;
  #cancelIdle: () => void = () => undefined;

  constructor(clock: Clock, answer: WireResponse, timeoutMs: number) {
    this.#clock = clock;
    this.#body = answer.body;
    this.#limitMs = timeoutMs + OVERTIME_MS;
    this.#heardAtMs = clock.monotonicMs();
  }

  async run(
    splitter: () => FrameSplitter,
    settle: () => Promise<void> | undefined,
    signal: AbortSignal,
  ): Promise<WatchEnd> {
    const onAbort = (): void => void this.#body.destroy();
    signal.addEventListener("abort", onAbort, { once: true });
    // A destroyed body emits "error" even when it is not read any more; without a listener that would end the process.
    this.#body.on("error", () => undefined);
    const cancelLimit = this.#clock.after(this.#limitMs, () => this.finish({ reason: "expired" }));
    this.#armIdle(IDLE_MS);
    try {
      signal.throwIfAborted();
      await this.#read(splitter(), settle, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // Any other failure is the socket's: a cut is a close that was less polite.
      if (error instanceof DecodeError) this.finish({ reason: "decode", error });
    } finally {
      this.#cancelIdle();
      cancelLimit();
      signal.removeEventListener("abort", onAbort);
      this.#body.destroy();
    }
    signal.throwIfAborted();
    return this.#end ?? { reason: "closed" };
  }

  /** The first reason counts: what follows is only how the stream takes it. */
  finish(end: WatchEnd): void {
    this.#end ??= end;
    this.#body.destroy();
  }

  async #read(splitter: FrameSplitter, settle: () => Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    let sliceStartMs = this.#clock.monotonicMs();
    for await (const chunk of this.#body as AsyncIterable<Buffer>) {
      this.#heardAtMs = this.#clock.monotonicMs();
      pushInto(splitter, chunk);
      await settle();
      if (this.#end !== undefined || signal.aborted) return;
      if (this.#clock.monotonicMs() - sliceStartMs < SLICE_MS) continue;
      await nextTurn();
      sliceStartMs = this.#clock.monotonicMs();
    }
  }

  /** One timer that looks when it fires how long it has really been silent; re-arming per chunk would cost more. */
  #armIdle(delayMs: number): void {
    this.#cancelIdle = this.#clock.after(delayMs, () => {
      const silentMs = this.#clock.monotonicMs() - this.#heardAtMs;
      if (silentMs >= IDLE_MS) this.finish({ reason: "idle" });
      else this.#armIdle(IDLE_MS - silentMs);
    });
  }
}

/** What a sink or a parser throws must not be taken for the socket's failure, which is retried at once. */
function pushInto(splitter: FrameSplitter, chunk: Buffer): void {
  try {
    splitter.push(chunk);
  } catch (cause) {
    throw cause instanceof DecodeError ? cause : new DecodeError("an event could not be taken", { cause });
  }
}
