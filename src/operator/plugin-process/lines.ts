/** Why a stream of messages is not read any further. */
export type LineFault = "message too long" | "too many bytes";

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

  /** The lines that end in this piece, or why nothing more is read. */
  take(piece: Buffer): readonly string[] | LineFault {
    this.#seen += piece.length;
    if (this.#seen > this.#most) return "too many bytes";
    const lines: string[] = [];
    let from = 0;
    for (let end = piece.indexOf(10, from); end >= 0; end = piece.indexOf(10, from)) {
      if (this.#held + end - from > this.#longest) return "message too long";
      lines.push(Buffer.concat([...this.#parts, piece.subarray(from, end)]).toString("utf8"));
      this.#parts = [];
      this.#held = 0;
      from = end + 1;
    }
    if (from < piece.length) {
      this.#held += piece.length - from;
      this.#parts.push(piece.subarray(from));
    }
    return this.#held > this.#longest ? "message too long" : lines;
  }
}
