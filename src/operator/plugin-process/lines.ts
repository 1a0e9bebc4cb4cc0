/** Why a stream of messages is not read any further, with the bound that it went beyond. */
export type LineFault = `a message of more than ${number} bytes` | `messages of more than ${number} bytes together`;

/** Cuts a stream into lines, and holds no more of it than one line may have. Used by both ends of the pipe. */
export class Lines {
  readonly #longest: number;
  readonly #most: number;
  #parts: Buffer[] = [];
  #held = 0;
  #seen = 0;

  constructor(longest: number, most: number = Number.POSITIVE_INFINITY) {
    this.#longest = longest;
    this.#most = most;
  }

  get #tooLong(): LineFault {
    return `a message of more than ${this.#longest} bytes`;
  }

  /** The lines that end in this piece, or why nothing more is read. */
  take(piece: Buffer): readonly string[] | LineFault {
    this.#seen += piece.length;
    if (this.#seen > this.#most) return `messages of more than ${this.#most} bytes together`;
    const lines: string[] = [];
    let from = 0;
    for (let end = piece.indexOf(10, from); end >= 0; end = piece.indexOf(10, from)) {
      if (this.#held + end - from > this.#longest) return this.#tooLong;
      lines.push(Buffer.concat([...this.#parts, piece.subarray(from, end)]).toString("utf8"));
      this.#parts = [];
      this.#held = 0;
      from = end + 1;
    }
    if (from < piece.length) {
      this.#held += piece.length - from;
      this.#parts.push(piece.subarray(from));
    }
    return this.#held > this.#longest ? this.#tooLong : lines;
  }
}
