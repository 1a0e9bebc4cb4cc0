import { StringDecoder } from "node:string_decoder";

/** Of an asciicast: output, a terminal's size, a marker. */
export interface CastSink {
  event(code: "o" | "r" | "m", data: string): void;
  /** When it can take more. */
  drained(): Promise<void> | undefined;
}

export interface RecordedExec {
  /** Of its request in the audit. */
  readonly id: number;
  /** Pod and container. */
  readonly where: string;
  /** Its output is recorded up to a bound. */
  readonly isBounded: boolean;
}

/** Of an exec that takes no input: its command, which is in the audit, says what it does. */
const MAX_BOUNDED_BYTES = 1_048_576;

/**
 * All execs of one session in one asciicast, several at once too: what is shown belongs to the exec that the last marker
 * before it names. A marker is an event of its own, so that no output can pose as one.
 */
export class SessionRecorder {
  readonly #sink: CastSink;
  /** That the last marker names. */
  #named: number | undefined;
  #size: string | undefined;

  constructor(sink: CastSink) {
    this.#sink = sink;
  }

  begin(exec: RecordedExec): ExecRecorder {
    this.mark(exec.id, `begins in ${exec.where}`);
    return new ExecRecorder(this, exec);
  }

  drained(): Promise<void> | undefined {
    return this.#sink.drained();
  }

  mark(id: number, words: string): void {
    this.#named = id;
    this.#sink.event("m", `exec ${id} ${words}`);
  }

  show(id: number, size: string | undefined, text: string): void {
    if (text === "") return;
    if (this.#named !== id) this.mark(id, "goes on");
    this.resize(id, size);
    this.#sink.event("o", text);
  }

  /** The size of an exec that is in the background counts when it shows something. */
  resize(id: number, size: string | undefined): void {
    if (this.#named !== id || size === undefined || size === this.#size) return;
    this.#size = size;
    this.#sink.event("r", size);
  }
}

/** What one exec shows, and its terminal's size. What is typed is in no recording. */
export class ExecRecorder {
  readonly #session: SessionRecorder;
  readonly #exec: RecordedExec;
  readonly #decoders = { 1: new StringDecoder("utf8"), 2: new StringDecoder("utf8") };
  #left: number;
  #isCut = false;
  #size: string | undefined;

  constructor(session: SessionRecorder, exec: RecordedExec) {
    this.#session = session;
    this.#exec = exec;
    this.#left = exec.isBounded ? MAX_BOUNDED_BYTES : Number.POSITIVE_INFINITY;
  }

  output(channel: 1 | 2, bytes: Buffer): void {
    if (this.#isCut) return;
    const shown = bytes.subarray(0, this.#left);
    this.#left -= shown.length;
    this.#show(this.#decoders[channel].write(shown));
    this.#isCut = shown.length < bytes.length;
    if (this.#isCut)
      this.#session.mark(this.#exec.id, `is recorded no further: ${MAX_BOUNDED_BYTES} bytes without input`);
  }

  /** @param text the client's JSON `{"Width": 80, "Height": 24}`. */
  resize(text: string): void {
    this.#size = sizeOf(text) ?? this.#size;
    this.#session.resize(this.#exec.id, this.#size);
  }

  end(exitCode: number | undefined): void {
    // Bytes of a character that never came whole.
    for (const channel of [1, 2] as const) this.#show(this.#decoders[channel].end());
    this.#session.mark(this.#exec.id, exitCode === undefined ? "ends" : `ends with exit code ${exitCode}`);
  }

  #show(text: string): void {
    this.#session.show(this.#exec.id, this.#size, text);
  }
}

function sizeOf(text: string): string | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    const isSize = (each: unknown): boolean =>
      typeof each === "number" && Number.isInteger(each) && each >= 1 && each <= 65_535;
    return isSize(width) && isSize(height) ? `${width}x${height}` : undefined;
  } catch {
    return undefined;
  }
}
