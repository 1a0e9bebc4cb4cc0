import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { lookRepeatedly } from "../access/repeated-look.ts";

/** Two small files; a mounted Secret itself lags a minute. */
const LOOK_EVERY_MS = 10_000;

/** Texts in PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

interface ServedCertificateTools {
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The certificate and the key of a folder, as a mounted Secret of type `kubernetes.io/tls` has them, taken again when
 * they change. A pair that does not fit together, or is missing for a moment, changes nothing: the one before is served.
 */
export class ServedCertificate {
  readonly #folder: string;
  readonly #tools: ServedCertificateTools;
  #served: KeyPair | undefined;

  constructor(folder: string, tools: ServedCertificateTools) {
    this.#folder = folder;
    this.#tools = tools;
  }

  /** Looks until `signal` aborts, and hands each new pair to `serve`, which throws when it cannot be served. */
  run(serve: (pair: KeyPair) => void, signal: AbortSignal): Promise<void> {
    const failed = "certificate not read; the one before is served";
    const { clock, log } = this.#tools;
    return lookRepeatedly(() => this.look(serve), { clock, log, everyMs: LOOK_EVERY_MS, failed }, signal);
  }

  /** @throws Error when a file cannot be read, or `serve` refuses the pair. */
  async look(serve: (pair: KeyPair) => void): Promise<void> {
    const [cert, key] = await Promise.all([this.#read("tls.crt"), this.#read("tls.key")]);
    const before = this.#served;
    if (before?.cert === cert && before.key === key) return;
    serve({ cert, key });
    this.#served = { cert, key };
    if (before !== undefined) this.#tools.log.info({ folder: this.#folder }, "certificate read again");
  }

  #read(name: string): Promise<string> {
    return readFile(join(this.#folder, name), "utf8");
  }
}
