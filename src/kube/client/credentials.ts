import { readFile } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";

/** What a TLS connection to the API server needs beyond the address. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Who we are, asked before each request so that rotation needs no restart. */
export interface Credentials {
  /** Value of the `Authorization` header; undefined with client certificates or none. */
  authorization(): Promise<string | undefined>;
  /** The server said 401: forget what is cached, so that the next call reads it again. */
  invalidate(): void;
}

/**
 * How long a token file's content is believed. The kubelet rotates at 80 % of an hour or more; client-go reads each
 * minute.
 */
const TOKEN_FILE_TTL_MS = 60_000;

export function fixedToken(token: string | undefined): Credentials {
  return fixed(token === undefined ? undefined : `Bearer ${token}`);
}

/** @param value of the `Authorization` header */
export function fixed(value: string | undefined): Credentials {
  return { authorization: async () => value, invalidate: () => undefined };
}

/** The token in `path`, read again every {@link TOKEN_FILE_TTL_MS} and after a 401. */
export class TokenFile implements Credentials {
  readonly #path: string;
  readonly #clock: Clock;
  #value: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  async authorization(): Promise<string | undefined> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs < TOKEN_FILE_TTL_MS) return this.#value;
    try {
      this.#value = `Bearer ${(await readFile(this.#path, "utf8")).trim()}`;
      this.#readAtMs = nowMs;
    } catch (cause) {
      // A volume being swapped has no file for an instant: the old token is still the best guess.
      if (this.#value === undefined) throw new Error(`token file ${this.#path} cannot be read`, { cause });
    }
    return this.#value;
  }

  invalidate(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }
}
