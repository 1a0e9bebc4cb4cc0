/** One answer, under the name that the platform gave it. */
export interface KnownAnswer {
  readonly etag: string;
  readonly body: unknown;
}

/** A program watches one list, or a few. Each may have two megabytes. */
const MOST = 4;

/** The last answers that have an ETag, so that a poll for what has not changed brings no body. */
export class KnownAnswers {
  readonly #answers = new Map<string, KnownAnswer>();

  get(name: string): KnownAnswer | undefined {
    return this.#answers.get(name);
  }

  /** The one that was kept first gives way. */
  keep(name: string, answer: KnownAnswer): void {
    this.#answers.delete(name);
    this.#answers.set(name, answer);
    const [first] = this.#answers.keys();
    if (this.#answers.size > MOST && first !== undefined) this.#answers.delete(first);
  }
}
