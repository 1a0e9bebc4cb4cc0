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
 * How long a file's content is believed. The kubelet rotates tokens at 80 % of an hour or more, cert-manager
 * certificates; client-go reads each minute.
 */
const FILE_TTL_MS = 60_000;

export function fixedToken(token: string | undefined): Credentials {
  return fixed(token === undefined ? undefined : `Bearer ${token}`);
}

/** @param value of the `Authorization` header */
export function fixed(value: string | undefined): Credentials {
  return { authorization: async () => value, invalidate: () => undefined };
}

/** The token in `path`, read again every {@link FILE_TTL_MS} and after a 401. */
export class TokenFile implements Credentials {
  readonly #path: string;
  readonly #clock: Clock;
  #value: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** @param token for as long as the file cannot be read */
  constructor(path: string, clock: Clock, token?: string) {
    this.#value = token === undefined ? undefined : `Bearer ${token}`;
    this.#path = path;
    this.#clock = clock;
  }

  async authorization(): Promise<string | undefined> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs < FILE_TTL_MS) return this.#value;
    try {
      const token = (await readFile(this.#path, "utf8")).trim();
      if (token === "") throw new Error("it is empty");
      this.#value = `Bearer ${token}`;
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

type Part = "ca" | "cert" | "key";

/** How one part is read; undefined: there is none. */
type Reads = Readonly<Partial<Record<Part, (() => Promise<Buffer>) | undefined>>>;

/** Certificates and keys in files that may be replaced while we run. */
export class TlsFiles {
  readonly #clock: Clock;
  readonly #reads: Reads;
  #last: Pick<TlsOptions, Part> = {};
  #readAtMs = Number.NEGATIVE_INFINITY;

  private constructor(clock: Clock, reads: Reads) {
    this.#clock = clock;
    this.#reads = reads;
  }

  /** @throws Error of the first part that cannot be read */
  static async open(clock: Clock, reads: Reads): Promise<TlsFiles> {
    const files = new TlsFiles(clock, reads);
    files.#last = await files.#read();
    files.#readAtMs = clock.monotonicMs();
    return files;
  }

  get last(): Pick<TlsOptions, Part> {
    return this.#last;
  }

  /** Read again every minute. What cannot be read in between is what it was. */
  async current(): Promise<Pick<TlsOptions, Part>> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs < FILE_TTL_MS) return this.#last;
    this.#readAtMs = nowMs;
    this.#last = await this.#read().catch(() => this.#last);
    return this.#last;
  }

  invalidate(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  async #read(): Promise<Pick<TlsOptions, Part>> {
    const parts = Object.entries(this.#reads).filter((entry) => entry[1] !== undefined);
    return Object.fromEntries(await Promise.all(parts.map(async ([part, read]) => [part, await read?.()])));
  }
}

/** Reads data or a file of a kubeconfig. @throws Error that names the field, when the data are no base64 */
export function bytesOf(
  field: string,
  data: string | undefined,
  file: string | undefined,
): (() => Promise<Buffer>) | undefined {
  if (data !== undefined) {
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data.replaceAll(/[\r\n]/g, ""))) throw new Error(`${field} is not base64`);
    const bytes = Buffer.from(data, "base64");
    return async () => bytes;
  }
  return file === undefined ? undefined : () => readFile(file);
}
