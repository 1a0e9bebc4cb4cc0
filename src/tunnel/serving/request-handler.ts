import type { ServerHttp2Stream } from "node:http2";
import type { AuditType } from "../../debug-link/audit-chain.ts";
import { cutStream } from "../../debug-link/cut-stream.ts";
import { type RefusalCode, statusBody } from "../../debug-link/status-body.ts";
import type { Denial } from "../kernel/metrics.ts";
import { type Allowed, type Denied, judge } from "../requests/judge.ts";
import { noteAnswer } from "../requests/lacking-rule.ts";
import { SessionRecorder } from "../streams/recorder.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { bodyOf, headersDown, isReview, TooLarge } from "./messages.ts";
import { drainInto, write } from "./pump.ts";
import { RequestBudget } from "./request-budget.ts";
import { type Asked, askedFields, fitsRecord, subjectFields } from "./subject-fields.ts";
import { carryUpgraded } from "./upgraded-stream.ts";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const MAX_WATCHES = 32;
/**
 * Execs and port-forwards at once. Each may have a window of HTTP/2 unread on its way to a process that reads nothing; one
 * engineer with all streams of a session in that state would take the memory of all sessions.
 */
const MAX_UPGRADES = 32;
/** Within it, kubectl has tried again over SPDY what was refused over WebSocket. */
const RETRY_MS = 10_000;

/** Takes each request of the engineer, records it, and passes on what the session allows. */
export class RequestHandler {
  readonly #options: HandlerOptions;
  readonly #recorder: SessionRecorder | undefined;
  readonly #stop = new AbortController();
  readonly #budget: RequestBudget;
  #next = 1;
  #watches = 0;
  #upgrades = 0;
  /** The last upgrade that the API server did not grant. */
  #refused: { readonly target: string; readonly words: string; readonly atMs: number } | undefined;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#recorder = options.recording && new SessionRecorder(options.recording);
    this.#budget = new RequestBudget(options.clock);
  }

  /** Cuts every connection to the API server. A stream outlives the rights that it was begun with. */
  cut(): void {
    this.#stop.abort(new Error("the session has ended"));
  }

  /** Resolves when nothing that was begun so far can write a record any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Never rejects. */
  handle(stream: ServerHttp2Stream, headers: Headers): Promise<void> {
    const handled = this.#handle(stream, headers).finally(() => this.#underWay.delete(handled));
    this.#underWay.add(handled);
    return handled;
  }

  async #handle(stream: ServerHttp2Stream, headers: Headers): Promise<void> {
    const { log, counts } = this.#options;
    this.heard();
    counts.requests += 1;
    // A loss of the engineer's side ends what is under way for it, and so does the session's end.
    const gone = new AbortController();
    stream.once("close", () => gone.abort(new Error("the engineer has gone")));
    const signal = AbortSignal.any([gone.signal, this.#stop.signal]);
    try {
      await this.#answer(stream, headers, signal);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "a request of a debug session failed");
      if (error instanceof TooLarge) return this.#refuse(stream, 413, error.message);
      if (this.#stop.signal.aborted || stream.headersSent) cutStream(stream, "the connection was broken off");
      else this.#refuse(stream, 502, "the API server of the cluster could not be asked");
    }
  }

  /** So many bytes came from the engineer's side; its programs send some by themselves. */
  carried(bytes: number): void {
    const { counts, metrics } = this.#options;
    counts.bytesIn += bytes;
    metrics.bytes("in", bytes);
  }

  /** The engineer asked or typed something: the session is not idle. */
  heard(): void {
    const { counts, clock } = this.#options;
    counts.lastClientByteMs = clock.monotonicMs();
  }

  async #answer(stream: ServerHttp2Stream, headers: Headers, signal: AbortSignal): Promise<void> {
    const { scope } = this.#options;
    const waitSeconds = this.#budget.take();
    if (waitSeconds !== undefined) return this.#slowDown(stream, waitSeconds);
    const times = this.#budget.takeRefused();
    if (times > 0) await this.#record("denied", { reason: "rate", times });
    const isConnect = headers[":method"] === "CONNECT";
    const upgrade = isConnect ? text_(headers[":protocol"]).toLowerCase() : undefined;
    const method = upgrade === undefined ? text_(headers[":method"]) : upgrade === "websocket" ? "GET" : "POST";
    const own = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
    const request = { method, target: text_(headers[":path"]), headers: Object.fromEntries(own), upgrade };
    const verdict = judge(scope(), request);
    if (!verdict.allowed) return this.#deny(stream, this.#inWords(verdict, request.target), request);
    if (!fitsRecord(verdict.subject)) return this.#deny(stream, tooLong(verdict), request);
    const isWatch = verdict.kind === "watch";
    if (!(isWatch || isConnect)) return this.#carry(stream, verdict, upgrade, signal);
    if (isWatch && this.#watches >= MAX_WATCHES)
      return this.#deny(stream, tooMany(verdict, `${MAX_WATCHES} watches`), request);
    if (isConnect && this.#upgrades >= MAX_UPGRADES)
      return this.#deny(stream, tooMany(verdict, `${MAX_UPGRADES} execs and port-forwards at once`), request);
    // Counted before its record is on the disk: those that come meanwhile must see it.
    this.#watches += isWatch ? 1 : 0;
    this.#upgrades += isConnect ? 1 : 0;
    try {
      await this.#carry(stream, verdict, upgrade, signal);
    } finally {
      this.#watches -= isWatch ? 1 : 0;
      this.#upgrades -= isConnect ? 1 : 0;
    }
  }

  async #carry(
    stream: ServerHttp2Stream,
    verdict: Allowed,
    upgrade: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const id = this.#next;
    this.#next += 1;
    await this.#record("request", {
      id,
      kind: verdict.kind,
      ...(upgrade && { upgrade }),
      ...subjectFields(verdict.subject),
    });
    signal.throwIfAborted();
    if (!(await this.#isSelected(verdict, signal))) return this.#deny(stream, notSelected(verdict), { id });
    const { metrics } = this.#options;
    metrics.streamOpened(verdict.kind);
    try {
      if (upgrade === undefined) await this.#pass(stream, verdict, id, signal);
      else
        await carryUpgraded(
          {
            ...this.#options,
            recorder: this.#recorder,
            carried: (bytes) => this.carried(bytes),
            heard: () => this.heard(),
            answered: (status, words) => {
              noteAnswer(this.#options.counts, verdict.subject, status, words);
              if (words === undefined) return;
              this.#refused = { target: verdict.target, words, atMs: this.#options.clock.monotonicMs() };
            },
          },
          { stream, verdict, upgrade, id },
          signal,
        );
    } finally {
      metrics.streamClosed(verdict.kind);
    }
  }

  async #pass(stream: ServerHttp2Stream, verdict: Allowed, id: number, signal: AbortSignal): Promise<void> {
    const { upstream, clock, counts, metrics } = this.#options;
    const body = verdict.hasBody ? await bodyOf(stream) : undefined;
    if (body === undefined) stream.resume();
    else if (!isReview(body)) return this.#deny(stream, badBody(verdict), { id });
    if (body !== undefined) this.carried(body.length);
    const { method, target: path, headers } = verdict;
    const startMs = clock.monotonicMs();
    const request = { method, path, headers, ...(body !== undefined && { body: body.toString("utf8") }) };
    const answer = await upstream().open(request, signal);
    noteAnswer(counts, verdict.subject, answer.status);
    let bytesOut = 0;
    const cut = (): void => void answer.body.destroy();
    signal.addEventListener("abort", cut, { once: true });
    try {
      signal.throwIfAborted();
      stream.respond({ ":status": answer.status, ...headersDown(answer.headers) });
      await drainInto(answer.body, (chunk) => {
        bytesOut += chunk.length;
        counts.bytesOut += chunk.length;
        metrics.bytes("out", chunk.length);
        return write(stream, chunk);
      });
      stream.end();
    } finally {
      signal.removeEventListener("abort", cut);
      answer.body.destroy();
      const isLong = verdict.kind === "log" || verdict.kind === "watch";
      const ms = Math.round(clock.monotonicMs() - startMs);
      if (isLong) void this.#record("stream", { id, bytesOut, ms, status: answer.status }).catch(() => undefined);
    }
  }

  /** Asks for a table of names: its length does not depend on what the pod's authors wrote into it. */
  async #isSelected({ pod }: Allowed, signal: AbortSignal): Promise<boolean> {
    const { namespace, selector } = this.#options.scope();
    if (pod === undefined || selector === undefined) return true;
    const query = new URLSearchParams({ labelSelector: selector, fieldSelector: `metadata.name=${pod}`, limit: "1" });
    const path = `/api/v1/namespaces/${namespace}/pods?${query}&includeObject=None`;
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const answer = await this.#options.upstream().request({ method: "GET", path, headers }, signal);
    try {
      const body = await bodyOf(answer.body).catch((cause: unknown) => {
        throw new Error("the pod's labels could not be asked for", { cause });
      });
      const table = JSON.parse(body.toString("utf8")) as { readonly rows?: readonly unknown[] };
      return answer.status === 200 && table.rows?.length === 1;
    } finally {
      answer.body.destroy();
    }
  }

  /**
   * kubectl tries a refused upgrade again over SPDY and shows the answer to that alone. Where an exec over SPDY is refused
   * in any case, the engineer would never see what the API server said.
   */
  #inWords(denied: Denied, target: string): Denied {
    const last = this.#refused;
    const isRetry = last?.target === target && this.#options.clock.monotonicMs() - last.atMs < RETRY_MS;
    return isRetry && denied.denial === "recording" ? { ...denied, words: last.words } : denied;
  }

  /** @param asked which record has the request, or what it was. */
  async #deny(stream: ServerHttp2Stream, { status, denial, words, subject }: Refusal, asked: Asked): Promise<void> {
    this.#denied(denial);
    await this.#record("denied", { reason: denial, ...askedFields(subject, asked) });
    this.#refuse(stream, status, words);
  }

  #denied(denial: Denial): void {
    this.#options.counts.denied += 1;
    this.#options.metrics.denied(denial);
  }

  /** Without a record of its own, or a flood of requests would fill the disk all the same. */
  #slowDown(stream: ServerHttp2Stream, seconds: number): void {
    this.#denied("rate");
    this.#refuse(stream, 429, "too many requests of this debug session", { "retry-after": String(seconds) });
  }

  #refuse(
    stream: ServerHttp2Stream,
    status: RefusalCode,
    words: string,
    more: Readonly<Record<string, string>> = {},
  ): void {
    if (stream.destroyed || stream.headersSent) return;
    stream.respond({ ":status": status, "content-type": "application/json", ...more });
    stream.end(statusBody(status, words));
    stream.resume();
  }

  async #record(type: AuditType, fields: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await this.#options.audit.append(type, fields);
    } catch (error) {
      this.#options.onAuditFailed();
      throw error;
    }
  }
}

type Refusal = Omit<Denied, "allowed" | "status"> & { readonly status: RefusalCode; readonly denial: Denial };

function notSelected({ subject }: Allowed): Refusal {
  return {
    status: 403,
    denial: "name",
    words: "this session does not reach that pod: its labels do not match",
    subject,
  };
}

function tooMany({ subject }: Allowed, what: string): Refusal {
  return { status: 429, denial: "too-many", words: `a debug session has ${what} at most`, subject };
}

function tooLong({ subject }: Allowed): Refusal {
  const words =
    subject?.command === undefined
      ? "a name is longer than the session's audit can hold"
      : "the command is longer than the session's audit can hold; put it into a file in the container and run that";
  return { status: 414, denial: "too-long", words, subject };
}

function badBody({ subject }: Allowed): Refusal {
  return { status: 400, denial: "body", words: "a debug session passes on only kubectl's own reviews", subject };
}

function text_(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : "";
}
