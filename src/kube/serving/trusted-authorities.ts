import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { lookRepeatedly } from "../access/repeated-look.ts";

/** A read of some hundred kilobytes at most; a mounted volume itself lags a minute. */
const LOOK_EVERY_MS = 10_000;
const PEM = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs;

/**
 * The certificates of `NODE_EXTRA_CA_CERTS`, taken again when the file changes: Node reads it at its start only. Like
 * there, they are added to the built-in ones and trusted by every new connection of the process that names none of its
 * own.
 */
export class TrustedAuthorities {
  readonly name = "trusted authorities";
  readonly needsLeader = false;
  readonly #file: string;
  readonly #tools: { readonly clock: Clock; readonly log: Logger };
  readonly #builtIn: readonly string[];
  #text: string | undefined;

  constructor(file: string, tools: { readonly clock: Clock; readonly log: Logger }) {
    this.#file = file;
    this.#tools = tools;
    const extra = new Set(getCACertificates("extra").map(inOneLine));
    const bundled = new Set(getCACertificates("bundled").map(inOneLine));
    // A company's bundle may repeat Node's own, which stay when they go from there.
    this.#builtIn = getCACertificates("default").filter((each) => {
      const one = inOneLine(each);
      return !extra.has(one) || bundled.has(one);
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const failed = "trusted CA not read; what was trusted stays so";
    return lookRepeatedly(() => this.look(), { ...this.#tools, everyMs: LOOK_EVERY_MS, failed }, signal);
  }

  /** @throws Error when the file cannot be read or holds no certificate. */
  async look(): Promise<void> {
    const text = await readFile(this.#file, "utf8");
    if (text === this.#text) return;
    const added = text.match(PEM);
    if (added === null) throw new Error("the file of trusted authorities holds no certificate");
    setDefaultCACertificates([...this.#builtIn, ...added]);
    if (this.#text !== undefined) this.#tools.log.info({ certificates: added.length }, "trusted CA read again");
    this.#text = text;
  }
}

/** Node breaks the lines of what it was given otherwise than those of its own. */
function inOneLine(certificate: string): string {
  return certificate.replaceAll(/\s/g, "");
}
