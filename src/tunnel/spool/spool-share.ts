/** What a session's files need of the spool, or of their share of it. */
export interface SpoolFiles {
  path(name: string): string;
  /** To be called before so many bytes are written. @throws Error where there is no room */
  take(bytes: number): void;
  /** The file was cut by so many bytes. */
  giveBack(bytes: number): void;
  /** It may go when room is needed. */
  done(name: string): void;
  /** It stays, and is not sent. */
  setAside(name: string): void;
}

/** The session has used up its own part of the spool, however much room there is. */
export class ShareFull extends Error {
  override readonly name = "ShareFull";
}

/** What one session's audit and recording may take of the spool, together. */
export class SpoolShare implements SpoolFiles {
  readonly #spool: SpoolFiles;
  readonly #limitBytes: number;
  readonly #onEnd: () => void;
  #usedBytes: number;

  constructor(
    spool: SpoolFiles,
    { limitBytes, usedBytes }: { readonly limitBytes: number; readonly usedBytes: number },
    onEnd: () => void,
  ) {
    this.#spool = spool;
    this.#limitBytes = limitBytes;
    this.#usedBytes = usedBytes;
    this.#onEnd = onEnd;
  }

  /** Bytes that are kept for it. */
  get left(): number {
    return Math.max(0, this.#limitBytes - this.#usedBytes);
  }

  path(name: string): string {
    return this.#spool.path(name);
  }

  /** @throws ShareFull; as the spool does */
  take(bytes: number): void {
    if (bytes > this.left) throw new ShareFull(`a session has ${this.#limitBytes} bytes of the spool at most`);
    this.#spool.take(bytes);
    this.#usedBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#spool.giveBack(bytes);
    this.#usedBytes -= bytes;
  }

  done(name: string): void {
    this.#spool.done(name);
  }

  setAside(name: string): void {
    this.#spool.setAside(name);
  }

  /** Nothing of the session is written any more. */
  end(): void {
    this.#onEnd();
  }
}
