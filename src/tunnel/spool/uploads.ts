import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import type { TunnelMetrics } from "../kernel/metrics.ts";
import type { Platform } from "../kernel/routes.ts";
import type { Spool } from "./spool.ts";

export interface UploadOptions {
  readonly spool: Spool;
  readonly sessions: Pick<Platform["debugSessions"], "get">;
  readonly dispatcher: Pick<Dispatcher, "request">;
  /** False: files stay here, and go when room is needed. */
  readonly isOn: boolean;
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

/** Sends the files of ended sessions to the platform's storage, one after the other. */
export class Uploads {
  readonly #options: UploadOptions;
  readonly #queue: string[] = [];
  #wake: () => void = () => undefined;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** Nothing writes to these files any more. */
  add(names: readonly string[]): void {
    this.#queue.push(...names.filter((name) => NAME.test(name)));
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      const name = this.#queue.shift();
      if (name === undefined) await new Promise<void>((wake) => (this.#wake = wake));
      else await this.#upload(name, signal).catch(() => this.#queue.push(name));
    }
  }

  /** After `run` has ended: one try for each that waits, because the folder may go with the pod. */
  async flush(signal: AbortSignal): Promise<void> {
    for (const name of this.#options.isOn ? this.#queue.splice(0) : []) {
      if ((await this.#try(name, signal)) !== "sent") continue;
      this.#options.metrics.uploaded("ok");
      this.#options.spool.done(name);
    }
  }

  async #upload(name: string, signal: AbortSignal): Promise<void> {
    const { spool, clock, log, metrics, isOn } = this.#options;
    const endMs = clock.monotonicMs() + GIVE_UP_MS;
    for (let pauseMs = FIRST_PAUSE_MS; isOn; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
      const result = await this.#try(name, signal);
      if (result === "sent") {
        metrics.uploaded("ok");
        break;
      }
      metrics.uploaded("failed");
      if (result === "refused" || clock.monotonicMs() + pauseMs > endMs) {
        metrics.uploaded("given-up");
        log.warn({ file: name }, "a file of a debug session was not uploaded; it stays in the spool");
        return;
      }
      await sleep(clock, pauseMs, signal);
    }
    spool.done(name);
  }

  async #try(name: string, signal: AbortSignal): Promise<"sent" | "refused" | "failed"> {
    const { spool, sessions, dispatcher, log } = this.#options;
    const { sessionId = "", kind = "" } = NAME.exec(name)?.groups ?? {};
    try {
      // Read anew for each try: an address is good for minutes only.
      const session = await sessions.get({ params: { id: sessionId } }, signal);
      const url = URL.parse(session.presignedUrls[kind]?.writeUrl ?? "");
      // Stored already, too late, or no storage.
      if (url === null) return "refused";
      const body: Readable = createReadStream(spool.path(name));
      const answer = await dispatcher.request({
        ...{ origin: url.origin, path: url.pathname + url.search, method: "PUT", body, bodyTimeout: TRY_MS },
        headers: { "content-type": "application/octet-stream", "content-length": String(spool.size(name)) },
        signal,
      });
      await answer.body.dump();
      if (answer.statusCode < 300) return "sent";
      log.debug({ file: name, status: answer.statusCode }, "the storage did not take a file");
      return "failed";
    } catch (err) {
      signal.throwIfAborted();
      log.debug({ file: name, err }, "a file could not be uploaded yet");
      return "failed";
    }
  }
}
