import { type FileHandle, open } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";
import { type AuditType, type ChainEnd, chainLine } from "../../debug-link/audit-chain.ts";
import type { TunnelMetrics } from "../kernel/metrics.ts";
import { ShareFull, type SpoolFiles } from "../spool/spool-share.ts";
import { type Known, type LeftFile, leftFile } from "./left-file.ts";

export interface AuditTools {
  readonly spool: SpoolFiles;
  readonly clock: Clock;
  readonly metrics: Pick<TunnelMetrics, "audited" | "fsynced">;
  /** Gets each durable line, for the customer's own log pipeline. */
  readonly emit: (line: string) => void;
}

export class AuditFailed extends Error {
  override readonly name = "AuditFailed";
}

/** A disk that takes longer to keep a record has failed: requests wait for it. */
const SYNC_LIMIT_MS = 2_000;

interface Waiting {
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * One session's audit file. A record is on the disk when `append` resolves; those that come while the disk is busy reach
 * it together. Once it has failed, every `append` fails: no record, no request.
 */
export class AuditLog {
  readonly #tools: AuditTools;
  readonly #file: FileHandle;
  #end: ChainEnd;
  #durable: ChainEnd;
  #lines: string[] = [];
  #waiting: Waiting[] = [];
  #isWriting = false;
  #failure: AuditFailed | undefined;
  #idle = Promise.resolve();

  private constructor(tools: AuditTools, file: FileHandle, end: ChainEnd) {
    this.#tools = tools;
    this.#file = file;
    this.#end = end;
    this.#durable = end;
  }

  /**
   * Opens a file that is new or was left by a process that died: then its end is mended, and the chain goes on from the
   * last whole line.
   *
   * @throws AuditMismatch for a file that is not as the tunnel left it; Error for one that cannot be read.
   */
  static async open(name: string, known: Known & { readonly start: ChainEnd }, tools: AuditTools): Promise<AuditLog> {
    return AuditLog.#goOn(name, await leftFile(name, known, tools.spool), known.start, tools);
  }

  /**
   * Ends the file of a session that nothing serves any more.
   *
   * @param more of the record of the end, where there is none yet.
   * @returns whether there is one to be sent. @throws as {@link open}
   */
  static async finish(name: string, known: Known, tools: AuditTools, more: object = {}): Promise<boolean> {
    const left = await leftFile(name, known, tools.spool);
    if (left?.end === undefined) {
      tools.spool.done(name);
      return false;
    }
    await (await AuditLog.#goOn(name, left, left.end, tools, more)).close();
    return true;
  }

  static async #goOn(
    name: string,
    left: LeftFile | undefined,
    start: ChainEnd,
    tools: AuditTools,
    more: object = {},
  ): Promise<AuditLog> {
    const { end, isClosed, bytes, tornBytes } = left ?? { end: undefined, isClosed: false, bytes: 0, tornBytes: 0 };
    const file = await open(tools.spool.path(name), "a", 0o600);
    const log = new AuditLog(tools, file, end ?? start);
    try {
      if (tornBytes > 0) {
        await file.truncate(bytes);
        tools.spool.giveBack(tornBytes);
      }
      if (end !== undefined && !isClosed) await log.append("close", { reason: "agent_lost", tornBytes, ...more });
      return log;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Where the chain stands on the disk. */
  get durable(): ChainEnd {
    return this.#durable;
  }

  get failure(): AuditFailed | undefined {
    return this.#failure;
  }

  /** @throws AuditFailed */
  append(type: AuditType, fields: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { line, end } = chainLine(this.#end, this.#tools.clock.wallNow(), type, fields);
    this.#end = end;
    this.#lines.push(line);
    const durable = new Promise<void>((done, failed) => this.#waiting.push({ done, failed }));
    if (!this.#isWriting) this.#idle = this.#write();
    return durable;
  }

  /** After a failure it waits for nothing: Node closes a file only when the write that hangs has ended. */
  async close(): Promise<void> {
    await this.#idle;
    const closed = this.#inTime(this.#file.close()).catch((error: unknown) => {
      this.#failure ??= new AuditFailed("the audit file was not closed", { cause: error });
    });
    if (this.#failure === undefined) await closed;
  }

  /** @throws Error as `work` does, or after the limit. */
  async #inTime(work: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#tools.clock.after(SYNC_LIMIT_MS, () => late.reject(new Error("the disk is too slow")));
    try {
      await Promise.race([work, late.promise]);
    } finally {
      cancel();
    }
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#lines.length > 0) {
      const [lines, waiting, end] = [this.#lines, this.#waiting, this.#end];
      this.#lines = [];
      this.#waiting = [];
      try {
        await this.#persist(lines);
        this.#durable = end;
        this.#tools.metrics.audited("durable", lines.length);
        for (const line of lines) this.#tools.emit(line);
        for (const { done } of waiting) done();
      } catch (error) {
        this.#failure ??= new AuditFailed("a record did not reach the disk", { cause: error });
        this.#tools.metrics.audited(error instanceof ShareFull ? "share-full" : "failed", lines.length);
        for (const { failed } of [...waiting, ...this.#waiting]) failed(this.#failure);
        this.#lines = [];
        this.#waiting = [];
      }
    }
    this.#isWriting = false;
  }

  async #persist(lines: readonly string[]): Promise<void> {
    const { clock, spool, metrics } = this.#tools;
    const text = Buffer.from(lines.map((line) => `${line}\n`).join(""));
    spool.take(text.length);
    const startMs = clock.monotonicMs();
    try {
      await this.#inTime(this.#file.appendFile(text).then(() => this.#file.datasync()));
    } finally {
      metrics.fsynced((clock.monotonicMs() - startMs) / 1_000);
    }
  }
}
