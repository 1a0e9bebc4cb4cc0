import { createHmac } from "node:crypto";

/** How what runs is called when it is told: by its name, or by another that means nothing outside of the cluster. */
export interface Names {
  /** Undefined: names are told as they are. */
  readonly hidden: HiddenNames | undefined;
  /** The salt is still being read: what is told now would be told again under other names. */
  readonly isStarting: boolean;
}

/** Names as they are. */
export const PLAIN_NAMES: Names = { hidden: undefined, isStarting: false };

/** Names that are kept; one costs a hash. */
const MAX_KEPT = 20_000;

/**
 * Another name for each pod, claim, node and image, the same one each time: `pod-` and 8 hex digits of HMAC-SHA256 with the
 * installation's salt. Without the salt, guessing names and hashing them would find the true one.
 */
export class HiddenNames {
  readonly #salt: Buffer;
  readonly #kept = new Map<string, string>();

  constructor(salt: Buffer) {
    this.#salt = salt;
  }

  readonly pod = (name: string): string => this.#alias("pod", name);
  /** A StatefulSet's claim has the name of its pod in its own. */
  readonly claim = (name: string): string => this.#alias("claim", name);
  readonly node = (name: string): string => this.#alias("node", name);
  readonly image = (name: string): string => this.#alias("image", name);

  #alias(kind: string, name: string): string {
    if (name === "") return name;
    const key = `${kind}/${name}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const alias = `${kind}-${createHmac("sha256", this.#salt).update(name).digest("hex").slice(0, 8)}`;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(key, alias);
    return alias;
  }
}
