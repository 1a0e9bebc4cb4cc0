import { createHash } from "node:crypto";
import { createWriteStream, type WriteStream } from "node:fs";
import type { Spool } from "../spool/spool.ts";

/** Of one session; what would be more closes it. */
const MAX_BYTES = 100 * 1_048_576;

/** One session's recordings, one asciicast after the other. */
export class RecordingFile {
  readonly #spool: Pick<Spool, "path" | "take">;
  readonly #name: string;
  readonly #onFailure: (error: unknown) => void;
  readonly #hash = createHash("sha256");
  #file: WriteStream | undefined;
  #bytes = 0;
  #hasFailed = false;
  #drained: Promise<void> | undefined;

  /** @param onFailure what was shown could not be kept: the session must end. */
  constructor(spool: Pick<Spool, "path" | "take">, name: string, onFailure: (error: unknown) => void) {
    this.#spool = spool;
    this.#name = name;
    this.#onFailure = onFailure;
  }

  /** False: the disk is behind; wait for `drained` before more. */
  write(text: string): boolean {
    if (this.#hasFailed) return true;
    const bytes = Buffer.from(text);
    try {
      if (this.#bytes + bytes.length > MAX_BYTES) throw new Error("the recording is too long");
      this.#spool.take(bytes.length);
    } catch (error) {
      this.#fail(error);
      return true;
    }
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
    this.#file ??= this.#open();
    return this.#file.write(bytes);
  }

  /** All streams of the session wait for one and the same promise: the file has one pair of listeners. */
  async drained(): Promise<void> {
    const file = this.#file;
    if (file === undefined || !file.writableNeedDrain || file.destroyed) return;
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
    await this.#drained;
  }

  /** What the audit's last record says of it; undefined: nothing was recorded. */
  async close(): Promise<{ readonly bytes: number; readonly sha256: string } | undefined> {
    const file = this.#file;
    if (file === undefined) return undefined;
    if (!file.destroyed) await new Promise<void>((done) => file.end(() => done()));
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  #open(): WriteStream {
    const file = createWriteStream(this.#spool.path(this.#name), { flags: "a", mode: 0o600 });
    file.on("error", (error) => this.#fail(error));
    return file;
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#onFailure(error);
  }
}
