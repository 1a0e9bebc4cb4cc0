import type { Hash } from "node:crypto";
import { createWriteStream, type WriteStream } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import type { Spool } from "../spool/spool.ts";
import { escapedUnprintable } from "./escaped-unprintable.ts";
import { type FoundRecording, mendedRecording } from "./found-recording.ts";

export interface RecordingTools {
  readonly spool: Pick<Spool, "path" | "take" | "giveBack">;
  readonly clock: Clock;
}

/** Of one session; what would be more closes it. */
const MAX_BYTES = 100 * 1_048_576;

/**
 * One session's recording: one asciicast v2 with one clock, from its first event on. A tunnel that was started again goes
 * on with the file that it finds.
 */
export class RecordingFile {
  readonly #name: string;
  readonly #tools: RecordingTools;
  readonly #onFailure: (error: unknown) => void;
  readonly #found: FoundRecording;
  #hash: Hash;
  #bytes: number;
  /** Monotonic, of the recording's second 0; undefined until this process has written to it. */
  #originMs: number | undefined;
  #file: WriteStream | undefined;
  #hasFailed = false;
  #isClosed = false;
  #drained: Promise<void> | undefined;

  private constructor(name: string, tools: RecordingTools, onFailure: (error: unknown) => void, found: FoundRecording) {
    this.#name = name;
    this.#tools = tools;
    this.#onFailure = onFailure;
    this.#found = found;
    this.#hash = found.hash;
    this.#bytes = found.bytes;
  }

  /**
   * @param onFailure what was shown could not be kept: the session must end.
   * @throws Error for a file that is there and cannot be read, or is no recording: it must not get a second beginning.
   */
  static async open(name: string, tools: RecordingTools, onFailure: (error: unknown) => void): Promise<RecordingFile> {
    const found = await mendedRecording(tools.spool.path(name));
    tools.spool.giveBack(found.tornBytes);
    const recording = new RecordingFile(name, tools, onFailure, found);
    // Also in a recording that nothing follows in, what is missing at its end is said.
    if (found.tornBytes > 0) recording.#seconds();
    return recording;
  }

  event(code: "o" | "r" | "m", data: string): void {
    this.#write([this.#seconds(), code, data]);
  }

  /**
   * When the disk has taken what was written; undefined: it has. All streams of the session wait for one promise, with one
   * pair of listeners.
   */
  drained(): Promise<void> | undefined {
    const file = this.#file;
    if (file === undefined || !file.writableNeedDrain || file.destroyed) return undefined;
    this.#drained ??= new Promise<void>((done) => {
      const finish = (): void => {
        file.off("drain", finish);
        file.off("close", finish);
        this.#drained = undefined;
        done();
      };
      file.on("drain", finish);
      file.on("close", finish);
    });
    return this.#drained;
  }

  /** What the audit's last record says of it; undefined: nothing was recorded. */
  async close(): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
    this.#isClosed = true;
    const file = this.#file;
    if (file !== undefined && !file.closed) {
      await new Promise<void>((done) => {
        file.once("close", () => done());
        file.end();
      });
    }
    // A disk that failed has less than was written to it.
    const { bytes, hash } = file?.errored ? await mendedRecording(file.path.toString()) : this.#state();
    return bytes === 0 ? undefined : { bytes, sha256: hash.digest("hex") };
  }

  #state(): Pick<FoundRecording, "bytes" | "hash"> {
    return { bytes: this.#bytes, hash: this.#hash };
  }

  /** The recording's time. */
  #seconds(): number {
    const originMs = this.#originMs ?? this.#begin();
    return Math.round((this.#tools.clock.monotonicMs() - originMs) * 1_000) / 1_000_000;
  }

  /** Writes the first line of the file, or that it goes on. */
  #begin(): number {
    const { clock } = this.#tools;
    const { bytes, tornBytes, times } = this.#found;
    const wallSeconds = clock.wallNow().getTime() / 1_000;
    // The clock may have been set back since: time in a recording never is.
    const passed = times === undefined ? 0 : Math.max(times.last, wallSeconds - times.began);
    const originMs = clock.monotonicMs() - passed * 1_000;
    this.#originMs = originMs;
    const title = this.#name.split(".")[0];
    const timestamp = Math.floor(wallSeconds);
    if (times === undefined) this.#write({ version: 2, width: 80, height: 24, timestamp, title });
    const cut = tornBytes > 0 ? `, and ${tornBytes} bytes of an unfinished line were cut off` : "";
    if (bytes + tornBytes > 0) this.event("m", `the tunnel was started again${cut}`);
    return originMs;
  }

  #write(line: unknown): void {
    if (this.#hasFailed || this.#isClosed) return;
    const bytes = Buffer.from(`${escapedUnprintable(JSON.stringify(line))}\n`);
    try {
      if (this.#bytes + bytes.length > MAX_BYTES) throw new Error("the recording is too long");
      this.#tools.spool.take(bytes.length);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
    this.#file ??= this.#open();
    this.#file.write(bytes);
  }

  #open(): WriteStream {
    // What the audit says of the file is on the disk when it says so.
    const file = createWriteStream(this.#tools.spool.path(this.#name), { flags: "a", mode: 0o600, flush: true });
    file.on("error", (error) => this.#fail(error));
    return file;
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#onFailure(error);
  }
}
