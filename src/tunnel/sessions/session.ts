import { ApiError } from "../../api-client/api-error.ts";
import { sleep } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { chainStart } from "../../debug-link/audit-chain.ts";
import { EndOfSession, RelayReplaced, serveRelay } from "../../debug-link/relay-loop.ts";
import type { Epoch } from "../../debug-link/relay-socket.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { RecordingFile } from "../audit/recording-file.ts";
import type { SessionCounts } from "../serving/handler-options.ts";
import { RequestHandler } from "../serving/request-handler.ts";
import { SessionServer } from "../serving/session-server.ts";
import { isGone, SessionToken } from "./session-token.ts";
import { auditFile, recordingFile, type SessionTools } from "./session-tools.ts";
import { SessionWatchdog } from "./session-watchdog.ts";
import { StatusWriter, seconds, type TunnelStatus, wallOf } from "./status-writer.ts";

const STATUS_EVERY_MS = 10_000;
const LAST_WORDS_MS = 10_000;
const TOKEN_RETRY_MS = 2_000;
/** These leave what is under way two seconds; all others cut it at once. */
const GENTLE: readonly CloseReason[] = ["agent", "expired", "idle"];

/** One open session, from the claim to the last record. */
export class Session {
  readonly #tools: SessionTools;
  readonly #object: DebugSession;
  readonly #status: StatusWriter;
  readonly #end = new AbortController();
  readonly #counts: SessionCounts;
  #reason: CloseReason | undefined;
  /** Another tunnel has the session: no last word from this one. */
  #isTakenOver = false;
  #epoch: number;
  #attachedAt: string | undefined;
  #server: SessionServer | undefined;
  #handler: RequestHandler | undefined;
  #watchdog: SessionWatchdog | undefined;
  #audit: AuditLog | undefined;

  constructor(tools: SessionTools, object: DebugSession) {
    const { clock, client, config } = tools;
    this.#tools = tools;
    this.#object = object;
    this.#status = new StatusWriter(client, config.grantsNamespace, object);
    this.#counts = { requests: 0, denied: 0, bytesIn: 0, bytesOut: 0, lastClientByteMs: clock.monotonicMs() };
    this.#epoch = object.status?.tunnel?.epoch ?? 0;
  }

  /** The first word counts. */
  end(reason: CloseReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    if (GENTLE.includes(reason) && this.#server !== undefined) void this.#server.end().finally(() => this.#cut(reason));
    else this.#cut(reason);
  }

  /** The object as it is now; undefined: it was deleted. */
  changed(object: DebugSession | undefined): void {
    const { status, spec, metadata } = object ?? {};
    const isEnded = spec?.endedReason !== undefined || metadata?.deletionTimestamp !== undefined;
    const instance = status?.tunnel?.instance ?? this.#tools.identity;
    if (object === undefined || isEnded) this.end("revoked");
    else if (status?.state !== "Open") this.end(status?.closeReason ?? "revoked");
    else if (instance !== this.#tools.identity) {
      this.#isTakenOver = true;
      this.end("tunnel-lost");
    }
  }

  /** False: another tunnel serves it, and this one may be asked again. */
  async run(signal: AbortSignal): Promise<boolean> {
    const { log, clock, metrics } = this.#tools;
    const { spec } = this.#object;
    try {
      await this.#status.claim(this.#object, this.#tunnelStatus(), signal);
    } catch (error) {
      if (error instanceof KubeError && error.isConflict) return false;
      throw error;
    }
    const startMs = clock.monotonicMs();
    metrics.opened(spec.mode);
    log.info({ sessionId: spec.sessionId, mode: spec.mode, namespace: spec.namespace }, "debug session begins");
    const stop = (): void => this.end("agent");
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const recording = new RecordingFile(this.#tools.spool, recordingFile(spec.sessionId), () =>
      this.end("audit-failed"),
    );
    try {
      await this.#serve(recording);
    } catch (err) {
      if (!this.#end.signal.aborted) log.warn({ err, sessionId: spec.sessionId }, "a debug session failed");
      this.end(this.#audit === undefined || this.#audit.failure ? "audit-failed" : "tunnel-lost");
    } finally {
      signal.removeEventListener("abort", stop);
      this.#watchdog?.stop();
      this.#cut(this.#reason ?? "tunnel-lost");
      const reason = this.#reason ?? "tunnel-lost";
      metrics.closed(reason, (clock.monotonicMs() - startMs) / 1_000);
      log.info({ sessionId: spec.sessionId, reason }, "debug session ended");
      await this.#lastWords(reason, recording).catch((err: unknown) =>
        log.warn({ err }, "a session's end was not told"),
      );
    }
    return !this.#isTakenOver;
  }

  async #serve(recording: RecordingFile): Promise<void> {
    const { config, clock, client, connection, log, metrics, key, heardMs, identity, version } = this.#tools;
    const { metadata, spec, status } = this.#object;
    const { signal } = this.#end;
    const leftMs = Math.min(Date.parse(status?.until ?? "") - clock.wallNow().getTime(), config.maxTtlMs);
    const watchdog = new SessionWatchdog({
      ...{ clock, leftMs, idleMs: config.idleMs, lastClientByteMs: () => this.#counts.lastClientByteMs },
      ...{ heardMs: config.strict ? heardMs : undefined, onEnd: (reason) => this.end(reason) },
    });
    this.#watchdog = watchdog;
    const start = chainStart(metadata.uid, spec);
    const audit = await AuditLog.open(auditFile(spec.sessionId), start, this.#tools);
    this.#audit = audit;
    const pins = { clientKey: spec.clientKey, tunnelKey: key.pin };
    const before = status?.tunnel?.audit;
    await audit.append("open", {
      uid: metadata.uid,
      spec,
      ...pins,
      instance: identity,
      version,
      ...(before && { before }),
    });
    const account = { namespace: config.debugNamespace, name: status?.account ?? "" };
    const leftSeconds = (): number => watchdog.leftMs / 1_000;
    const token = new SessionToken({ client, connection, account, leftSeconds, clock, log });
    if (!(await this.#firstToken(token))) return;
    const scope = () => ({
      ...{ mode: spec.mode, namespace: spec.namespace, selector: spec.selector },
      ...{ recordingRequired: config.recording === "required", leftSeconds: leftSeconds() },
    });
    const handler = new RequestHandler({
      ...{ scope, ports: spec.ports, upstream: () => token.upstream, audit, clock, log, metrics, counts: this.#counts },
      recording: config.recording === "required" ? recording : undefined,
      onAuditFailed: () => this.end("audit-failed"),
    });
    this.#handler = handler;
    this.#server = new SessionServer({
      ...{ key, clientPin: spec.clientKey, handler, clock },
      onAttached: () => this.#attached(),
      onPinMismatch: () => this.end("pin-mismatch"),
    });
    const background = [this.#writeStatus(signal), token.run(signal).then(() => this.end("revoked"))];
    try {
      this.end(await this.#relay(signal));
    } finally {
      this.#cut(this.#reason ?? "tunnel-lost");
      await Promise.all(background);
    }
  }

  /** False: the account is gone. */
  async #firstToken(token: SessionToken): Promise<boolean> {
    const { clock, log } = this.#tools;
    const { signal } = this.#end;
    for (;;) {
      try {
        await token.mint(signal);
        return true;
      } catch (err) {
        if (signal.aborted) return false;
        if (isGone(err)) {
          this.end("revoked");
          return false;
        }
        log.warn({ err }, "no token for a debug session yet");
        await sleep(clock, TOKEN_RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  async #relay(signal: AbortSignal): Promise<CloseReason> {
    const { platform, config, proxyAgent, clock, random, log, key } = this.#tools;
    const { sessionId } = this.#object.spec;
    try {
      return await serveRelay(
        {
          ...{
            side: "tunnel",
            platformUrl: config.platformUrl,
            clock,
            random,
            ...(proxyAgent && { agent: proxyAgent }),
          },
          ticket: (each) =>
            platform.debugRelay.ticket({ params: { id: sessionId }, body: { tunnelKey: key.pin } }, each),
          isFinal: (error) => error instanceof ApiError && (error.status === 404 || error.status === 409),
          onEpoch: (epoch) => this.#begin(epoch),
          onUntil: (at) => this.#watchdog?.shorten(at.getTime() - clock.wallNow().getTime()),
          onTrouble: (why, pauseMs) => log.info({ sessionId, why, pauseMs }, "the relay is away"),
        },
        signal,
      );
    } catch (error) {
      if (signal.aborted) return this.#reason ?? "agent";
      if (error instanceof RelayReplaced) {
        this.#isTakenOver = true;
        return "tunnel-lost";
      }
      // The platform has no such session, or has ended it.
      if (error instanceof ApiError) return "killed";
      throw error;
    }
  }

  #begin({ epoch, stream }: Epoch): void {
    const { metrics } = this.#tools;
    if (this.#epoch > 0 && this.#attachedAt !== undefined) metrics.reattached();
    this.#epoch = Math.max(this.#epoch, epoch);
    stream.once("close", () => {
      this.#audit?.append("detach", { epoch }).catch(() => this.end("audit-failed"));
    });
    this.#server?.attach(stream);
  }

  #attached(): void {
    const { clock } = this.#tools;
    this.#attachedAt = seconds(clock.wallNow());
    this.#counts.lastClientByteMs = clock.monotonicMs();
    this.#audit?.append("attach", { epoch: this.#epoch }).catch(() => this.end("audit-failed"));
  }

  async #writeStatus(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#tools;
    while (!signal.aborted) {
      try {
        await this.#status.write(this.#tunnelStatus(), signal);
      } catch (err) {
        if (signal.aborted) return;
        if (err instanceof KubeError && err.isNotFound) return this.end("revoked");
        log.warn({ err }, "the status of a debug session was not written");
      }
      await sleep(clock, STATUS_EVERY_MS, signal).catch(() => undefined);
    }
  }

  #tunnelStatus(): TunnelStatus {
    const { identity, key, clock } = this.#tools;
    const { requests, denied, bytesIn, bytesOut, lastClientByteMs } = this.#counts;
    const end = this.#audit?.durable;
    const audit = end && end.records > 0 && { ...end, at: seconds(clock.wallNow()) };
    return {
      ...{ instance: identity, key: key.pin, epoch: this.#epoch, requests, denied, bytesIn, bytesOut },
      ...(this.#attachedAt !== undefined && {
        attachedAt: this.#attachedAt,
        lastClientByteAt: wallOf(clock, lastClientByteMs),
      }),
      ...(audit && { audit }),
    };
  }

  /** Nothing goes on from here. A stream outlives the rights that it was begun with, so its sockets are destroyed first. */
  #cut(reason: CloseReason): void {
    this.#handler?.cut();
    this.#server?.cut();
    if (!this.#end.signal.aborted) this.#end.abort(new EndOfSession(reason));
  }

  async #lastWords(reason: CloseReason, recording: RecordingFile): Promise<void> {
    const { clock, platform, uploads, log } = this.#tools;
    const { sessionId } = this.#object.spec;
    const { lastClientByteMs: _, ...totals } = this.#counts;
    const recorded = await recording.close();
    await this.#audit
      ?.append("close", { reason, ...totals, ...(recorded && { recording: recorded }) })
      .catch(() => undefined);
    await this.#audit?.close();
    uploads.add([auditFile(sessionId), ...(recorded ? [recordingFile(sessionId)] : [])]);
    if (this.#isTakenOver) return;
    const closed = { reason, at: seconds(clock.wallNow()) };
    const never = new AbortController().signal;
    await withDeadline(clock, LAST_WORDS_MS, never, async (each) => {
      await this.#status.write({ ...this.#tunnelStatus(), closed }, each).catch((err: unknown) => {
        log.warn({ err, sessionId }, "the end of a debug session was not written");
      });
      const head = this.#audit?.durable.head;
      if (head === undefined) return;
      await platform.debugSessions.patch({ params: { id: sessionId }, body: { auditHead: head } }, each);
    });
  }
}
