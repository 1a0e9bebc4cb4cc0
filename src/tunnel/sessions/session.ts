import { withDeadline } from "../../base/deadline.ts";
import { orAborted } from "../../base/or-aborted.ts";
import type { CloseReason } from "../../contract/debug-sessions/debug-sessions.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { chainStart } from "../../debug-link/audit-chain.ts";
import { EndOfSession, RelayReplaced } from "../../debug-link/relay-loop.ts";
import type { Epoch } from "../../debug-link/relay-socket.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import { Client } from "../../kube/client/client.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { AuditMismatch } from "../audit/left-file.ts";
import { RecordingFile } from "../audit/recording-file.ts";
import { RequestHandler } from "../serving/request-handler.ts";
import { SessionServer } from "../serving/session-server.ts";
import type { SpoolShare } from "../spool/spool-share.ts";
import { LastWord } from "./last-word.ts";
import { serveUntilEnd } from "./session-relay.ts";
import { SessionReport } from "./session-report.ts";
import { SessionToken } from "./session-token.ts";
import { auditFile, filesOf, recordingFile, type SessionTools, shareBytes, toldOf } from "./session-tools.ts";
import { SessionWatchdog } from "./session-watchdog.ts";
import { StatusWriter, seconds } from "./status-writer.ts";

/** For everything that is said and stored once a session has ended. */
const SETTLE_MS = 2_000;
const LAST_WORDS_MS = 10_000;
/** Of it, for the disk. */
const FILES_MS = 5_000;
/** These leave what is under way two seconds; all others cut it at once. */
const GENTLE: readonly CloseReason[] = ["agent", "expired", "idle"];

/** How the serving of a session ended. */
export interface SessionEnd {
  /** False: another tunnel serves it, and this one may be asked again. */
  readonly isOver: boolean;
  /** May still have to be said. */
  readonly lastWord?: LastWord;
}

/** One open session, from the claim to the last record. */
export class Session {
  readonly #tools: SessionTools;
  readonly #object: DebugSession;
  readonly #status: StatusWriter;
  readonly #end = new AbortController();
  readonly #report: SessionReport;
  /** Kept from the moment that the session is taken. */
  readonly #share: SpoolShare;
  #reason: CloseReason | undefined;
  #attachedEpoch: number | undefined;
  /** Another tunnel has the session: no last word from this one. */
  #isTakenOver = false;
  /** The cluster says so, and not the platform alone. */
  #isTakenInCluster = false;
  /** The claim has been seen in the object: what does not name this process is newer, not older. */
  #isSeen = false;
  #server: SessionServer | undefined;
  #handler: RequestHandler | undefined;
  #watchdog: SessionWatchdog | undefined;
  #audit: AuditLog | undefined;
  #recording: RecordingFile | undefined;

  constructor(tools: SessionTools, object: DebugSession) {
    const { clock, client, config, identity, key, log } = tools;
    this.#tools = tools;
    this.#object = object;
    this.#status = new StatusWriter(client, config.grantsNamespace, object);
    this.#share = tools.spool.share(shareBytes(config), filesOf(object.spec.sessionId));
    this.#report = new SessionReport(object, {
      ...{ status: this.#status, identity, key: key.pin, clock, log, durable: () => this.#audit?.durable },
      onTakenOver: () => this.#yield(true),
      onGone: () => this.end("revoked"),
    });
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
    const instance = status?.tunnel?.instance;
    if (instance === this.#tools.identity) this.#isSeen = true;
    if (object === undefined || isEnded) this.end("revoked");
    else if (status?.state !== "Open") this.end(status?.closeReason ?? "revoked");
    else if (this.#isSeen && instance !== undefined && instance !== this.#tools.identity) this.#yield(true);
  }

  /** @throws ApiError when it could not be claimed. */
  async run(signal: AbortSignal): Promise<SessionEnd> {
    try {
      return await this.#run(signal);
    } finally {
      this.#share.end();
    }
  }

  async #run(signal: AbortSignal): Promise<SessionEnd> {
    const { log, clock, metrics } = this.#tools;
    const { spec } = this.#object;
    try {
      await this.#status.claim(this.#object, this.#report.now, signal);
    } catch (error) {
      if (error instanceof KubeError && error.isConflict) return { isOver: false };
      throw error;
    }
    const startMs = clock.monotonicMs();
    metrics.opened(spec.mode);
    log.info({ sessionId: spec.sessionId, mode: spec.mode, namespace: spec.namespace }, "debug session begins");
    const stop = (): void => this.end("agent");
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      await this.#serve();
    } catch (err) {
      if (!this.#end.signal.aborted) log.warn({ err, sessionId: spec.sessionId }, "a debug session failed");
      if (err instanceof AuditMismatch) this.end("audit-mismatch");
      this.end(this.#audit === undefined || this.#audit.failure ? "audit-failed" : "tunnel-lost");
    }
    signal.removeEventListener("abort", stop);
    this.#watchdog?.stop();
    const reason = this.#reason ?? "tunnel-lost";
    this.#cut(reason);
    metrics.closed(reason, (clock.monotonicMs() - startMs) / 1_000);
    log.info({ sessionId: spec.sessionId, reason }, "debug session ended");
    return await this.#finish(reason);
  }

  async #serve(): Promise<void> {
    const { config, clock, client, connection, log, metrics, key, heardMs, identity, version } = this.#tools;
    const { metadata, spec, status } = this.#object;
    const { signal } = this.#end;
    const leftMs = Math.min(Date.parse(status?.until ?? "") - clock.wallNow().getTime(), config.maxTtlMs);
    // Written so that an end which cannot be read has come.
    if (!(leftMs > 0)) return this.end("expired");
    const watchdog = new SessionWatchdog({
      ...{ clock, leftMs, idleMs: config.idleMs, lastClientByteMs: () => this.#report.counts.lastClientByteMs },
      ...{ heardMs: config.strict ? heardMs : undefined, onEnd: (reason) => this.end(reason) },
    });
    this.#watchdog = watchdog;
    const account = { namespace: config.debugNamespace, name: status?.account ?? "" };
    const leftSeconds = (): number => watchdog.leftMs / 1_000;
    const token = new SessionToken({ client, connection, account, leftSeconds, clock, log });
    // While the disk is busy. It never rejects.
    const lent = token.first(signal);
    const onFailure = (): void => this.end("audit-failed");
    const recording = RecordingFile.open(recordingFile(spec.sessionId), { clock, spool: this.#share }, onFailure);
    this.#recording = await orAborted(recording, signal);
    const start = chainStart(metadata.uid, spec);
    const emit = (line: string): void => {
      this.#tools.emit(line);
      this.#report.recorded();
    };
    const tools = { ...this.#tools, spool: this.#share, emit };
    const audit = await AuditLog.open(auditFile(spec.sessionId), { start, told: toldOf(this.#object) }, tools);
    this.#audit = audit;
    const before = status?.tunnel?.audit;
    const pins = { clientKey: spec.clientKey, tunnelKey: key.pin };
    const opening = { uid: metadata.uid, spec, ...pins, instance: identity, version };
    await audit.append("open", { ...opening, ...(before && { before }) });
    if (!(await lent)) return this.end("revoked");
    const scope = () => ({
      ...{ mode: spec.mode, namespace: spec.namespace, selector: spec.selector },
      ...{ recordingRequired: config.recording === "required", leftSeconds: leftSeconds() },
    });
    const handler = new RequestHandler({
      scope,
      ports: spec.ports,
      upstream: () => token.upstream,
      audit,
      clock,
      log,
      metrics,
      counts: this.#report.counts,
      recording: config.recording === "required" ? this.#recording : undefined,
      onAuditFailed: onFailure,
    });
    this.#handler = handler;
    this.#server = new SessionServer({
      ...{ key, clientPin: spec.clientKey, handler, clock },
      onAttached: () => this.#attached(),
      onPinMismatch: () => this.end("pin-mismatch"),
    });
    const asAccount = () => new Client(token.upstream, { clock });
    const background = [this.#report.run(asAccount, signal), token.run(signal).then(() => this.end("revoked"))];
    try {
      this.end(await this.#relay(signal));
    } finally {
      this.#cut(this.#reason ?? "tunnel-lost");
      await Promise.all(background);
    }
  }

  #relay(signal: AbortSignal): Promise<CloseReason> {
    const { clock } = this.#tools;
    const hooks = {
      onEpoch: (epoch: Epoch) => this.#begin(epoch),
      onUntil: (at: Date) => this.#watchdog?.shorten(at.getTime() - clock.wallNow().getTime()),
      onReplaced: () => this.#yield(false),
      isEnding: () => this.#reason !== undefined,
    };
    return serveUntilEnd(this.#tools, this.#object.spec.sessionId, hooks, signal);
  }

  #begin({ epoch, stream }: Epoch): void {
    if (this.#report.wasAttached) this.#tools.metrics.reattached();
    const number = this.#report.begin(epoch);
    stream.once("close", () => {
      this.#report.detached(number);
      if (this.#attachedEpoch === number) this.#note("detach", number);
    });
    this.#server?.attach(stream);
  }

  #attached(): void {
    this.#attachedEpoch = this.#report.attached();
    this.#note("attach", this.#attachedEpoch);
  }

  #note(type: "attach" | "detach", epoch: number): void {
    this.#audit?.append(type, { epoch }).catch(() => this.end("audit-failed"));
  }

  /** Another tunnel has it: what this one still says or stores would be about the other's session. */
  #yield(isTakenInCluster: boolean): void {
    this.#isTakenOver = true;
    this.#isTakenInCluster ||= isTakenInCluster;
    this.end("tunnel-lost");
  }

  /** Nothing goes on from here. A stream outlives the rights that it was begun with, so its sockets are destroyed first. */
  #cut(reason: CloseReason): void {
    this.#handler?.cut();
    this.#server?.cut();
    if (!this.#end.signal.aborted) this.#end.abort(this.#isTakenOver ? new RelayReplaced() : new EndOfSession(reason));
  }

  /** The last record, the last word, the files. All of it together has ten seconds, however the disk and the API do. */
  async #finish(reason: CloseReason): Promise<SessionEnd> {
    const { clock, log } = this.#tools;
    const never = new AbortController().signal;
    const word = (): LastWord => {
      const closed = { reason, at: seconds(clock.wallNow()) };
      return new LastWord(this.#status, { ...this.#report.now, closed }, log);
    };
    // A disk that has failed may take long to say so again: the customer is told first.
    let lastWord = this.#audit?.failure === undefined ? undefined : word();
    const all = async (signal: AbortSignal): Promise<void> => {
      if (!this.#isTakenOver) await lastWord?.say(signal);
      await withDeadline(clock, FILES_MS, signal, (each) => orAborted(this.#closeFiles(reason), each)).catch(
        (err: unknown) => log.warn({ err }, "the files of a debug session were not closed in time"),
      );
      if (this.#isTakenOver) return;
      lastWord ??= word();
      // Side by side: after an uninstall the API server takes no word any more, and may be long in saying so.
      const told = this.#tellPlatform(signal);
      told.catch(() => undefined);
      await lastWord.say(signal);
      await told;
    };
    await withDeadline(clock, LAST_WORDS_MS, never, all).catch((err: unknown) =>
      log.warn({ err }, "a session's end was not told"),
    );
    if (this.#isTakenOver) return { isOver: false };
    return { isOver: true, lastWord: lastWord ?? word() };
  }

  async #closeFiles(reason: CloseReason): Promise<void> {
    const { uploads, spool, clock } = this.#tools;
    const { sessionId } = this.#object.spec;
    const { lastClientByteMs: _, refused: __, ...totals } = this.#report.counts;
    const never = new AbortController().signal;
    // A stream that is cut still has its record to write, and nothing may stand behind the last one.
    const inTime = <T>(done = Promise.resolve<T | undefined>(undefined)): Promise<T | undefined> =>
      withDeadline(clock, SETTLE_MS, never, (each) => orAborted(done, each)).catch(() => undefined);
    await inTime(this.#handler?.settled());
    const recording = await inTime(this.#recording?.close());
    await this.#audit?.append("close", { reason, ...totals, ...(recording && { recording }) }).catch(() => undefined);
    await this.#audit?.close();
    // The platform takes one file a session: the one of the tunnel that has it to the end. A recording stays, because this
    // tunnel goes on with it when the session comes back, and another one may have the same spool. So does the audit where
    // the platform alone says that another has the session: it could else have what it likes go when room is needed.
    if (this.#isTakenInCluster) spool.done(auditFile(sessionId));
    else if (!this.#isTakenOver) uploads.add(filesOf(sessionId).filter((name) => spool.size(name) > 0));
  }

  async #tellPlatform(signal: AbortSignal): Promise<void> {
    const auditHead = this.#audit?.durable.head;
    if (auditHead === undefined) return;
    const params = { id: this.#object.spec.sessionId };
    await this.#tools.platform.debugSessions.patch({ params, body: { auditHead } }, signal);
  }
}
