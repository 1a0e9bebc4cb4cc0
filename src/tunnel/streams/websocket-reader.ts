/** What the reader sees; called while `push` runs. */
export interface WebSocketListener {
  /** Bytes of a message. `first` and `last`: whether its first and last byte are among them. */
  onData(bytes: Buffer, first: boolean, last: boolean): void;
}

const MAX_HEADER = 14;
const [CONTINUATION, TEXT, BINARY, CLOSE, PONG] = [0, 1, 2, 8, 10];

/**
 * Reads the frames of a WebSocket that passes by, in one direction, without a part in it. It keeps a frame's header and
 * nothing of its content, so that its memory has a bound for any input. What is no WebSocket makes it broken, for good.
 */
export class WebSocketReader {
  readonly #listener: WebSocketListener;
  #isBroken = false;
  readonly #header = Buffer.alloc(MAX_HEADER);
  #headerBytes = 0;
  #left = 0;
  #mask: Buffer | undefined;
  #maskAt = 0;
  #isData = false;
  #isFinal = false;
  #inMessage = false;
  #isFirst = false;

  constructor(listener: WebSocketListener) {
    this.#listener = listener;
  }

  /** True once something was no WebSocket, or one that is compressed: what follows is not understood. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#isBroken) {
      at += this.#left > 0 ? this.#readPayload(chunk.subarray(at)) : this.#readHeader(chunk.subarray(at));
    }
  }

  #readHeader(bytes: Buffer): number {
    const wanted = this.#headerLength();
    const taken = bytes.copy(this.#header, this.#headerBytes, 0, wanted - this.#headerBytes);
    this.#headerBytes += taken;
    // The first two bytes say how long the header is.
    if (this.#headerBytes === this.#headerLength() && this.#headerBytes >= 2) this.#begin();
    return taken;
  }

  #headerLength(): number {
    if (this.#headerBytes < 2) return 2;
    const second = this.#header[1] ?? 0;
    const size = second & 0x7f;
    return 2 + (size === 126 ? 2 : size === 127 ? 8 : 0) + (second >= 0x80 ? 4 : 0);
  }

  #begin(): void {
    const [first = 0, second = 0] = this.#header;
    const opcode = first & 0x0f;
    const isControl = opcode >= CLOSE;
    const isKnown = [CONTINUATION, TEXT, BINARY].includes(opcode) || (isControl && opcode <= PONG);
    const size = this.#size(second & 0x7f);
    const isFitting = isControl
      ? first >= 0x80 && size <= 125
      : (opcode === CONTINUATION) === this.#inMessage && size <= Number.MAX_SAFE_INTEGER;
    if ((first & 0x70) !== 0 || !isKnown || !isFitting) {
      this.#isBroken = true;
      return;
    }
    const length = this.#headerBytes;
    this.#mask = second >= 0x80 ? Buffer.from(this.#header.subarray(length - 4, length)) : undefined;
    this.#maskAt = 0;
    this.#headerBytes = 0;
    this.#left = size;
    this.#isData = !isControl;
    if (isControl) return;
    this.#isFinal = first >= 0x80;
    if (opcode !== CONTINUATION) this.#isFirst = true;
    this.#inMessage = !this.#isFinal;
    if (size === 0 && this.#isFinal) this.#tell(Buffer.alloc(0), true);
  }

  #size(short: number): number {
    if (short < 126) return short;
    return short === 126 ? this.#header.readUInt16BE(2) : Number(this.#header.readBigUInt64BE(2));
  }

  #readPayload(bytes: Buffer): number {
    const part = bytes.subarray(0, Math.min(bytes.length, this.#left));
    this.#left -= part.length;
    if (this.#isData) this.#tell(this.#unmasked(part), this.#isFinal && this.#left === 0);
    return part.length;
  }

  #tell(bytes: Buffer, last: boolean): void {
    const first = this.#isFirst;
    this.#isFirst = false;
    this.#listener.onData(bytes, first, last);
  }

  #unmasked(part: Buffer): Buffer {
    const mask = this.#mask;
    if (mask === undefined) return part;
    const plain = Buffer.allocUnsafe(part.length);
    const shift = this.#maskAt;
    // Written for its speed, a word at a time: everything that an engineer sends into a pod passes here.
    const turned = Uint8Array.from({ length: 4 }, (_, at) => mask[(at + shift) & 3] ?? 0);
    const [word = 0] = new Uint32Array(turned.buffer);
    plain.set(part);
    const words = new Uint32Array(plain.buffer, plain.byteOffset, part.length >>> 2);
    for (let at = 0; at < words.length; at += 1) words[at] = (words[at] as number) ^ word;
    for (let at = words.length * 4; at < part.length; at += 1)
      plain[at] = (part[at] as number) ^ (turned[at & 3] as number);
    this.#maskAt = (shift + part.length) & 3;
    return plain;
  }
}
