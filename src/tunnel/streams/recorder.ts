import { StringDecoder } from "node:string_decoder";
import type { Clock } from "../../base/clock.ts";

export interface CastSink {
  /** Takes the text at once; false when more would be too much, with `whenReady` to wait for. */
  write(text: string): boolean;
}

/** Of an exec without a terminal, as `kubectl cp`: its command is in the audit, and this much of what it showed. */
const MAX_PLAIN_BYTES = 1_048_576;

/** One exec as an asciicast v2: what it showed and its terminal's size. What was typed is in none of it. */
export class Recorder {
  readonly #sink: CastSink;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #hasTerminal: boolean;
  readonly #decoders = { 1: new StringDecoder("utf8"), 2: new StringDecoder("utf8") };
  #bytes = 0;

  /** @param title pod and container */
  constructor(
    sink: CastSink,
    clock: Clock,
    { title, hasTerminal }: { readonly title: string; readonly hasTerminal: boolean },
  ) {
    this.#sink = sink;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#hasTerminal = hasTerminal;
    const timestamp = Math.floor(clock.wallNow().getTime() / 1_000);
    sink.write(`${JSON.stringify({ version: 2, width: 80, height: 24, timestamp, title })}\n`);
  }

  output(channel: 1 | 2, bytes: Buffer): void {
    const before = this.#bytes;
    this.#bytes += bytes.length;
    if (this.#hasTerminal || this.#bytes <= MAX_PLAIN_BYTES) this.#show(this.#decoders[channel].write(bytes));
    else if (before <= MAX_PLAIN_BYTES)
      this.#show(`\r\n[not recorded: more than ${MAX_PLAIN_BYTES} bytes without a terminal]\r\n`);
  }

  /** @param text the client's JSON `{"Width": 80, "Height": 24}`. */
  resize(text: string): void {
    const size = sizeOf(text);
    if (size !== undefined) this.#event("r", size);
  }

  #show(text: string): void {
    if (text !== "") this.#event("o", text);
  }

  #event(code: "o" | "r", data: string): void {
    const seconds = Math.round((this.#clock.monotonicMs() - this.#startMs) * 1_000) / 1_000_000;
    this.#sink.write(`${JSON.stringify([seconds, code, data])}\n`);
  }
}

function sizeOf(text: string): string | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    const isSize = (each: unknown): boolean =>
      typeof each === "number" && Number.isInteger(each) && each >= 0 && each <= 65_535;
    return isSize(width) && isSize(height) ? `${width}x${height}` : undefined;
  } catch {
    return undefined;
  }
}
