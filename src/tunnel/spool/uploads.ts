import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { ApiError } from "../../api-client/api-error.ts";
import type { Clock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import { isLoopbackHost } from "../../base/loopback.ts";
import type { TunnelMetrics } from "../kernel/metrics.ts";
import type { Platform } from "../kernel/routes.ts";
import type { Spool } from "./spool.ts";

export interface UploadOptions {
  readonly spool: Spool;
  readonly sessions: Pick<Platform["debugSessions"], "get">;
  readonly dispatcher: Pick<Dispatcher, "request">;
  /** False: files stay here, and go when room is needed. */
  readonly isOn: boolean;
  /** Where files may be sent, as `URL.host` has it: the platform names the address, and the customer says to whom. */
  readonly hosts: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<TunnelMetrics, "uploaded">;
}

/** A file of a session is `<session>.<kind>.<ending>`; the kind is the platform's name of it. */
const NAME = /^(?<sessionId>dbg_[0-9a-zA-Z]{28})\.(?<kind>audit|recording)\.(jsonl|cast)$/;
const FIRST_PAUSE_MS = 2_000;
const MAX_PAUSE_MS = 300_000;
const GIVE_UP_MS = 86_400_000;
const TRY_MS = 300_000;

interface Waiting {
  readonly name: string;
  /** Monotonic: when it is tried next, and when no more. */
  readonly dueMs: number;
  readonly endMs: number;
  readonly pauseMs: number;
}

/** `refused`: it will not be taken later either. */
type Result = "sent" | "refused" | "failed";

/** Answers of the platform or of the storage that another try would not change: no such session or place, or too long. */
const FINAL = [404, 413];

/** Sends the files of ended sessions to the platform's storage, one at a time. One that fails waits, and others go on. */
export class Uploads {
  readonly #options: UploadOptions;
  readonly #queue = new Map<string, Waiting>();
  #wake: () => void = () => undefined;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** Nothing writes to these files any more. */
  add(names: readonly string[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const name of names.filter((each) => NAME.test(each))) {
      this.#queue.set(name, { name, dueMs: nowMs, endMs: nowMs + GIVE_UP_MS, pauseMs: FIRST_PAUSE_MS });
    }
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      const next = [...this.#queue.values()].sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined || next.dueMs > this.#options.clock.monotonicMs()) await this.#pause(next);
      else await this.#upload(next, signal);
    }
    signal.removeEventListener("abort", stop);
  }

  /** After `run` has ended: one try for each that waits, because the folder may go with the pod. */
  async flush(signal: AbortSignal): Promise<void> {
    const names = this.#options.isOn ? [...this.#queue.keys()] : [];
    this.#queue.clear();
    for (const name of names) {
      const result = await this.#try(name, signal);
      if (result === "failed") continue;
      this.#options.metrics.uploaded(result === "sent" ? "ok" : "given-up");
      this.#options.spool.done(name);
    }
  }

  /** Until `next` is due, another file comes, or the process stops. */
  async #pause(next: Waiting | undefined): Promise<void> {
    const { clock } = this.#options;
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    const cancel = next && clock.after(next.dueMs - clock.monotonicMs(), woken.resolve);
    await woken.promise;
    cancel?.();
  }

  async #upload(waiting: Waiting, signal: AbortSignal): Promise<void> {
    const { clock, log, isOn } = this.#options;
    const { name } = waiting;
    try {
      const result = isOn ? await this.#try(name, signal) : "sent";
      if (this.#isDone(waiting, result)) {
        this.#options.spool.done(name);
        this.#queue.delete(name);
        return;
      }
    } catch (err) {
      if (!signal.aborted) log.warn({ err, file: name }, "a file of a debug session could not be put away");
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, waiting.pauseMs * 2);
    this.#queue.set(name, { ...waiting, pauseMs, dueMs: clock.monotonicMs() + waiting.pauseMs });
  }

  /** A file that is given up goes when room is needed, as one that was sent: else such files would fill the spool. */
  #isDone({ name, endMs, pauseMs }: Waiting, result: Result): boolean {
    const { clock, log, metrics, isOn } = this.#options;
    if (result === "sent") {
      if (isOn) metrics.uploaded("ok");
      return true;
    }
    metrics.uploaded("failed");
    if (result === "failed" && clock.monotonicMs() + pauseMs <= endMs) return false;
    metrics.uploaded("given-up");
    log.warn({ file: name }, "a file of a debug session was not uploaded; it stays in the spool until room is needed");
    return true;
  }

  async #try(name: string, signal: AbortSignal): Promise<Result> {
    const { log, clock } = this.#options;
    try {
      return await withDeadline(clock, TRY_MS, signal, (limit) => this.#send(name, limit));
    } catch (err) {
      signal.throwIfAborted();
      log.debug({ file: name, err }, "a file could not be uploaded yet");
      const isFinal = err instanceof ApiError ? FINAL.includes(err.status) : isMissing(err);
      return isFinal ? "refused" : "failed";
    }
  }

  async #send(name: string, signal: AbortSignal): Promise<Result> {
    const { spool, sessions, dispatcher, log, hosts } = this.#options;
    const { sessionId = "", kind = "" } = NAME.exec(name)?.groups ?? {};
    // Read anew for each try: an address is good for minutes only.
    const session = await sessions.get({ params: { id: sessionId } }, signal);
    const url = URL.parse(session.presignedUrls[kind]?.writeUrl ?? "");
    // Stored already, too late, or no storage.
    if (url === null) return "refused";
    if (url.protocol !== "https:" && !isLoopbackHost(url.hostname)) {
      log.warn({ file: name }, "the platform gave an address that is not encrypted for a file of a debug session");
      return "refused";
    }
    if (!hosts.has(url.host)) {
      const words = "the platform gave an address for a file of a debug session that is on another host";
      log.warn({ file: name, host: url.host }, `${words}; SALLYPORT_TUNNEL_UPLOAD_HOSTS allows it`);
      return "refused";
    }
    const body: Readable = createReadStream(spool.path(name));
    const answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: "PUT",
      body,
      headers: { "content-type": "application/octet-stream", "content-length": String(spool.size(name)) },
      signal,
    });
    await answer.body.dump();
    if (answer.statusCode < 300) return "sent";
    log.debug({ file: name, status: answer.statusCode }, "the storage did not take a file");
    return FINAL.includes(answer.statusCode) ? "refused" : "failed";
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
