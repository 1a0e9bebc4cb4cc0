import { readFileSync, statSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { ApiError } from "./api-error.ts";

export const RELOAD_RESULTS = ["changed", "failed"] as const;
export type ReloadResult = (typeof RELOAD_RESULTS)[number];

export interface RuntimeKeyOptions {
  /** In a mounted directory. A Secret volume swaps a link beside it; following it is what `stat` does. */
  readonly file: string;
  /** How long the key before the last change is still good for a try. */
  readonly overlapMs: number;
  readonly clock: Clock;
  /** Called at each change and each new reason why it cannot be read, for metric and log. Never gets the key. */
  readonly reloaded: (result: ReloadResult, detail: string) => void;
}

/** The file is looked at this often at most; a `stat` costs microseconds, and a Secret volume itself lags a minute. */
const LOOK_EVERY_MS = 1_000;
/** A refused key is left alone this long while another one is at hand. */
const REFUSED_REST_MS = 30_000;
/** No key is longer; a bigger file is a mistake, and must not be read into memory. */
const MAX_BYTES = 4_096;
const KEY = /^[\x21-\x7e]{8,512}$/;

interface Candidate {
  readonly key: string;
  refusedAtMs: number | undefined;
  /** When a newer one took its place. */
  replacedAtMs: number | undefined;
}

/**
 * The runtime key, from a file that may change at any time. While a rotation is under way, the new key may not be
 * known to the platform yet, or the old one may be revoked before the file changes: whichever of the two works is used.
 */
export class RuntimeKey {
  readonly #options: RuntimeKeyOptions;
  /** Newest first; at most two. */
  #candidates: readonly Candidate[] = [];
  #stamp = "";
  #failure: string | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RuntimeKeyOptions) {
    this.#options = options;
  }

  /** @throws ApiError without a status when no key has been readable so far: no request can be sent. */
  current(): string {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lookedAtMs >= LOOK_EVERY_MS) this.#look(nowMs);
    const usable = this.#usable(nowMs);
    const rested = usable.find(
      ({ refusedAtMs }) => refusedAtMs === undefined || nowMs - refusedAtMs >= REFUSED_REST_MS,
    );
    const best = rested ?? usable[0];
    if (best === undefined) {
      throw new ApiError("NO_KEY", "no runtime key could be read yet", { status: 0, retryable: false });
    }
    return best.key;
  }

  /** `key` got a 401. True when another one is worth a try now. */
  refused(key: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    for (const candidate of this.#candidates) if (candidate.key === key) candidate.refusedAtMs = nowMs;
    // The platform may know of the rotation before our timer does.
    this.#look(nowMs);
    return this.current() !== key;
  }

  #usable(nowMs: number): readonly Candidate[] {
    const { overlapMs } = this.#options;
    return this.#candidates.filter(
      ({ replacedAtMs }) => replacedAtMs === undefined || nowMs - replacedAtMs < overlapMs,
    );
  }

  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs;
    try {
      const { ino, mtimeMs, size } = statSync(this.#options.file);
      const stamp = `${ino}/${mtimeMs}/${size}`;
      if (stamp === this.#stamp) return;
      const key = readKey(this.#options.file, size);
      this.#stamp = stamp;
      this.#failure = undefined;
      this.#adopt(key, nowMs);
    } catch (error) {
      // In the middle of a swap the file may be gone for an instant: what we have goes on working.
      this.#stamp = "";
      const reason = reasonOf(error);
      if (reason === this.#failure) return;
      this.#failure = reason;
      this.#options.reloaded("failed", reason);
    }
  }

  #adopt(key: string, nowMs: number): void {
    const [newest] = this.#candidates;
    if (newest?.key === key) return;
    if (newest !== undefined) newest.replacedAtMs = nowMs;
    const before = newest === undefined ? [] : [newest];
    this.#candidates = [{ key, refusedAtMs: undefined, replacedAtMs: undefined }, ...before];
    this.#options.reloaded("changed", newest === undefined ? "first read" : "rotated");
  }
}

function readKey(file: string, size: number): string {
  if (size > MAX_BYTES) throw new Error(`the file is larger than ${MAX_BYTES} bytes`);
  const key = readFileSync(file, "utf8").trim();
  if (!KEY.test(key)) throw new Error("the file does not hold one key");
  return key;
}

/** The code of a system error, or our own words; never the file's content. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
