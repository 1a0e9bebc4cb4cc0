import { sleep } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import type { Change } from "../../kube/cache/cache.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { AuditMismatch } from "../audit/left-file.ts";
import { RecordingFile } from "../audit/recording-file.ts";
import type { LastWord } from "./last-word.ts";
import { Session } from "./session.ts";
import { auditFile, filesOf, recordingFile, type SessionTools, shareBytes, toldOf } from "./session-tools.ts";

/** A tunnel that has not written for so long is gone, and another one takes its sessions. */
const SILENT_MS = 30_000;
const LOOK_EVERY_MS = 5_000;
const SAY_MS = 10_000;
/** For a last word that was not taken before; a pod has 30 s for all of its stop. */
const AT_STOP_MS = 2_000;

/** Serves the sessions that are open and that no other tunnel serves. */
export class Sessions {
  readonly name = "debug sessions";
  readonly needsLeader = false;
  readonly #tools: SessionTools;
  readonly #informer: Pick<Informer<DebugSession>, "store" | "onChange">;
  readonly #running = new Map<string, { readonly session: Session; readonly ended: Promise<void> }>();
  /** Of sessions that were served here: until their object is gone. */
  readonly #ended = new Map<string, LastWord | undefined>();
  /** Last words that are being written. */
  readonly #saying = new Map<string, Promise<void>>();
  /** What another tunnel last wrote, and when that was seen. */
  readonly #others = new Map<string, { readonly word: string; readonly atMs: number }>();
  /** Sessions of which a process before this one left files. */
  readonly #left = new Set<string>();
  /** Sessions that another tunnel took: their recordings are gone on with when they come back. */
  readonly #yielded = new Set<string>();
  #isFull = false;

  constructor(tools: SessionTools, informer: Pick<Informer<DebugSession>, "store" | "onChange">) {
    this.#tools = tools;
    this.#informer = informer;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, spool } = this.#tools;
    for (const name of spool.waiting()) this.#left.add(sessionOf(name));
    await this.#recover();
    const forget = this.#informer.onChange((change) => this.#changed(change, signal));
    try {
      while (!signal.aborted) {
        for (const object of this.#informer.store.values()) this.#look(object, signal);
        this.#hasRoom();
        await this.#recover();
        await sleep(clock, LOOK_EVERY_MS, signal).catch(() => undefined);
      }
    } finally {
      forget();
      // Each ends by the same signal.
      await Promise.all([...this.#running.values()].map(({ ended }) => ended));
      await Promise.all([...this.#ended].map(([uid, word]) => this.#say(uid, word, AT_STOP_MS)));
    }
  }

  /** Finishes the files of a process that died, once their session is not open any more. */
  async #recover(): Promise<void> {
    if (this.#left.size + this.#yielded.size === 0) return;
    const objects = new Map([...this.#informer.store.values()].map((each) => [each.spec.sessionId, each]));
    for (const sessionId of this.#left) {
      const object = objects.get(sessionId);
      if (object !== undefined && isOpen(object)) continue;
      this.#left.delete(sessionId);
      await this.#finish(sessionId, object);
    }
    for (const sessionId of this.#yielded) {
      const object = objects.get(sessionId);
      if (object !== undefined && isOpen(object)) continue;
      this.#yielded.delete(sessionId);
      // Its audit is still there when no other tunnel has ever taken it.
      if (this.#tools.spool.size(auditFile(sessionId)) > 0) await this.#finish(sessionId, object);
      else this.#tools.spool.done(recordingFile(sessionId));
    }
  }

  async #finish(sessionId: string, object: DebugSession | undefined): Promise<void> {
    const { spool, uploads, log } = this.#tools;
    const names = spool.waiting().filter((name) => sessionOf(name) === sessionId);
    const name = auditFile(sessionId);
    const others = names.filter((each) => each !== name);
    try {
      const known = { told: object && toldOf(object) };
      // Of a session that another tunnel had afterwards the platform takes the other's files.
      const recording = await this.#mended(sessionId);
      const more = recording && { recording };
      const isToBeSent = names.length === others.length || (await AuditLog.finish(name, known, this.#tools, more));
      if (isToBeSent) uploads.add(names);
      else for (const each of others) spool.done(each);
    } catch (err) {
      log.error({ err, file: name }, "an audit file that was left could not be finished");
      uploads.add(err instanceof AuditMismatch ? others : names);
    }
  }

  /** What the last record says of the recording of a session that nothing serves any more. */
  async #mended(sessionId: string): Promise<object | undefined> {
    const failed = (err: unknown): void =>
      this.#tools.log.error({ err, sessionId }, "a recording that was left could not be finished");
    try {
      return await (await RecordingFile.open(recordingFile(sessionId), this.#tools, failed)).close();
    } catch (err) {
      failed(err);
      return undefined;
    }
  }

  #changed(change: Change<DebugSession>, signal: AbortSignal): void {
    const { object } = change;
    const { uid } = object.metadata;
    if (change.type !== "deleted") {
      this.#look(object, signal);
      return;
    }
    this.#running.get(uid)?.session.changed(undefined);
    this.#ended.delete(uid);
    this.#others.delete(uid);
  }

  #look(object: DebugSession, signal: AbortSignal): void {
    const { uid } = object.metadata;
    const running = this.#running.get(uid);
    if (running !== undefined) running.session.changed(object);
    else if (this.#ended.has(uid)) this.#remind(object);
    else if (!signal.aborted && this.#isOurs(object)) this.#start(object, signal);
  }

  #start(object: DebugSession, signal: AbortSignal): void {
    const { uid } = object.metadata;
    const { log, metrics } = this.#tools;
    const { sessionId } = object.spec;
    // It goes on with what is there, or, when it cannot be claimed, leaves it as it was.
    const before = [this.#left, this.#yielded].filter((each) => each.delete(sessionId));
    const session = new Session(this.#tools, object);
    const ended = session
      .run(signal)
      .then(({ isOver, lastWord }) => {
        if (isOver) this.#ended.set(uid, lastWord);
        else this.#yielded.add(sessionId);
      })
      .catch((err: unknown) => {
        log.warn({ err }, "a debug session was not taken");
        for (const each of before) each.add(sessionId);
      })
      .finally(() => {
        this.#running.delete(uid);
        metrics.connected(this.#running.size);
      });
    this.#running.set(uid, { session, ended });
    metrics.connected(this.#running.size);
  }

  /** Writes the last word again where it was lost: without it the session stays open. */
  #remind({ metadata: { uid }, status }: DebugSession): void {
    const isWaiting = status?.state === "Open" || status?.state === "Closing";
    if (isWaiting && status?.tunnel?.closed === undefined) void this.#say(uid, this.#ended.get(uid));
    else this.#ended.set(uid, undefined);
  }

  #say(uid: string, word: LastWord | undefined, limitMs = SAY_MS): Promise<void> {
    const underWay = this.#saying.get(uid);
    if (underWay !== undefined || word === undefined || word.isSaid) return underWay ?? Promise.resolve();
    const never = new AbortController().signal;
    const said = withDeadline(this.#tools.clock, limitMs, never, (each) => word.say(each)).finally(() =>
      this.#saying.delete(uid),
    );
    this.#saying.set(uid, said);
    return said;
  }

  #isOurs(object: DebugSession): boolean {
    const { config, identity } = this.#tools;
    const { uid } = object.metadata;
    if (!isOpen(object) || this.#ended.has(uid) || this.#running.size >= config.maxConcurrent) return false;
    const { tunnel } = object.status ?? {};
    const isFree = tunnel === undefined || tunnel.instance === identity || this.#isSilent(uid, JSON.stringify(tunnel));
    return isFree && this.#hasRoom(filesOf(object.spec.sessionId));
  }

  /** Without room for a session's records it is left to another tunnel, which may have some. */
  #hasRoom(names: readonly string[] = []): boolean {
    const { config, spool, metrics, log } = this.#tools;
    if (this.#running.size >= config.maxConcurrent) return true;
    const isFull = !spool.hasRoom(shareBytes(config), names);
    if (isFull && !this.#isFull)
      log.error({}, "the spool has no room for a session: none is taken until files are sent");
    this.#isFull = isFull;
    metrics.full(isFull);
    return !isFull;
  }

  #isSilent(uid: string, word: string): boolean {
    const nowMs = this.#tools.clock.monotonicMs();
    const before = this.#others.get(uid);
    if (before?.word === word) return nowMs - before.atMs >= SILENT_MS;
    this.#others.set(uid, { word, atMs: nowMs });
    return false;
  }
}

function isOpen({ metadata, spec, status }: DebugSession): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.endedReason !== undefined) return false;
  return status?.state === "Open" && status.tunnel?.closed === undefined;
}

function sessionOf(name: string): string {
  return name.split(".")[0] ?? "";
}
