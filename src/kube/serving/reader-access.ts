import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { withDeadline } from "../../base/deadline.ts";
import type { Logger } from "../../base/log.ts";
import type { Client } from "../client/client.ts";
import { Budget, type Rate, RecentMap } from "./review-budget.ts";

/** As HTTP statuses: may read; no token or a bad one; a token without the right; ask later; cannot be told now. */
export type ReaderAnswer = 200 | 401 | 403 | 429 | 503;

export interface ReaderAccessOptions {
  readonly client: Pick<Client, "tokenReview" | "subjectAccessReview">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long a yes counts: a reader whose right is taken away reads on for that long. A no ends sooner. */
const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
const MOST_ANSWERS = 128;
const REVIEW_LIMIT_MS = 10_000;

/** Tokens never seen allowed: for one address, and for all of them together. */
const OF_AN_ADDRESS: Rate = { burst: 5, perSecond: 1 };
const OF_STRANGERS: Rate = { burst: 20, perSecond: 5 };
/** Tokens that were allowed before, whose answer has ended. A flood of others does not hold these up. */
const OF_READERS: Rate = { burst: 20, perSecond: 5 };
const MOST_ADDRESSES = 256;

interface Answered {
  readonly answer: ReaderAnswer;
  readonly until: number;
}

/**
 * Tells who may read the metrics: a TokenReview says whose token it is, a SubjectAccessReview whether that user may
 * `get` the path. Answers are kept for a short time under the token's hash; never the token itself. Questions to the API
 * server are limited, or a flood of bad tokens would become a flood there.
 */
export class ReaderAccess {
  readonly #options: ReaderAccessOptions;
  /** Apart from the refused, so that a flood of bad tokens cannot push a reader out. */
  readonly #allowed = new RecentMap<Answered>(MOST_ANSWERS);
  readonly #refused = new RecentMap<Answered>(MOST_ANSWERS);
  readonly #asked = new Map<string, Promise<ReaderAnswer>>();
  readonly #addresses = new RecentMap<Budget>(MOST_ADDRESSES);
  readonly #strangers: Budget;
  readonly #readers: Budget;
  #failing = false;

  constructor(options: ReaderAccessOptions) {
    this.#options = options;
    this.#strangers = new Budget(options.clock, OF_STRANGERS);
    this.#readers = new Budget(options.clock, OF_READERS);
  }

  /** @param address where the request comes from. */
  async answer(
    path: string,
    authorization: string | undefined,
    address: string,
    signal: AbortSignal,
  ): Promise<ReaderAnswer> {
    const token = /^Bearer +([^\s]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return 401;
    const digest = createHash("sha256").update(token).digest("base64");
    const before = this.#allowed.get(digest) ?? this.#refused.get(digest);
    if (before !== undefined && this.#options.clock.monotonicMs() < before.until) return before.answer;
    const underWay = this.#asked.get(digest);
    if (underWay !== undefined) return underWay;
    const mayAsk = before?.answer === 200 ? this.#readers.take() : this.#mayAskFor(address);
    if (!mayAsk) return 429;
    const asking = this.#ask(path, token, digest, signal).finally(() => this.#asked.delete(digest));
    this.#asked.set(digest, asking);
    return asking;
  }

  #mayAskFor(address: string): boolean {
    const own = this.#addresses.get(address) ?? new Budget(this.#options.clock, OF_AN_ADDRESS);
    this.#addresses.set(address, own);
    return own.take() && this.#strangers.take();
  }

  async #ask(path: string, token: string, digest: string, signal: AbortSignal): Promise<ReaderAnswer> {
    const { clock, log } = this.#options;
    try {
      const answer = await withDeadline(clock, REVIEW_LIMIT_MS, signal, (each) => this.#review(path, token, each));
      this.#failing = false;
      this.#allowed.delete(digest);
      this.#refused.delete(digest);
      const isAllowed = answer === 200;
      const until = clock.monotonicMs() + (isAllowed ? ALLOWED_MS : REFUSED_MS);
      (isAllowed ? this.#allowed : this.#refused).set(digest, { answer, until });
      return answer;
    } catch (error) {
      if (!signal.aborted) {
        log[this.#failing ? "debug" : "warn"]({ err: error }, "readers of metrics cannot be checked: refused");
        this.#failing = true;
      }
      return 503;
    }
  }

  async #review(path: string, token: string, signal: AbortSignal): Promise<ReaderAnswer> {
    const { client } = this.#options;
    const user = await client.tokenReview(token, signal);
    if (user === undefined) return 401;
    const { username, ...rest } = user;
    return (await client.subjectAccessReview({ ...rest, user: username }, { verb: "get", path }, signal)) ? 200 : 403;
  }
}
