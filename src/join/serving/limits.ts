import type { Clock } from "../../base/clock.ts";
import { networkOf } from "../../base/network-of.ts";
import { Refusal } from "../kernel/refusal.ts";

/** Requests of one address a second, and at once after a pause. */
const RATE = 20;
/** Of one address, not counting those that only wait for an answer. */
const IN_FLIGHT = 5;
/** Of all addresses together: reading them costs little, and a fleet that comes back at once is served. */
const RATE_OF_ALL = 200;
/**
 * Tokens of all addresses together, as the platform is asked about each: a fleet at once, then 50 a second. The platform
 * gives a manager 100 requests a second for all that it does, and tokens tried from many addresses get half of them.
 */
const TOKENS_AT_ONCE = 500;
const TOKEN_RATE = 50;
const BAD_TOKENS = 10;
const REFUSED_MS = 600_000;
/** About 150 bytes each. */
const MAX_ADDRESSES = 10_000;

interface Client {
  allowance: number;
  atMs: number;
  inFlight: number;
  badTokens: number;
  badSinceMs: number;
  refusedUntilMs: number;
}

/** How much one address may ask for. What the map forgets, oldest first, begins anew: that costs an attacker 10,000 addresses. */
export class Limits {
  readonly #clock: Clock;
  readonly #clients = new Map<string, Client>();
  readonly #all: Pick<Client, "allowance" | "atMs">;
  readonly #tokens: Pick<Client, "allowance" | "atMs">;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#all = { allowance: RATE_OF_ALL, atMs: clock.monotonicMs() };
    this.#tokens = { allowance: TOKENS_AT_ONCE, atMs: clock.monotonicMs() };
  }

  /** @returns what ends the request. @throws Refusal */
  enter(address: string): () => void {
    const client = this.#client(address);
    const nowMs = this.#clock.monotonicMs();
    if (!spend(client, RATE, nowMs)) throw tooMany("rate", "this address asks too often");
    if (client.inFlight >= IN_FLIGHT) throw tooMany("in-flight", "this address asks too much at once");
    if (!spend(this.#all, RATE_OF_ALL, nowMs)) throw tooMany("rate", "too many machines ask at once");
    client.inFlight += 1;
    let left = false;
    return () => {
      if (!left) client.inFlight -= 1;
      left = true;
    };
  }

  /** @throws Refusal when the address has shown too many bad tokens, or the platform is asked too often. */
  beforeToken(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const leftMs = this.#client(address).refusedUntilMs - nowMs;
    if (leftMs > 0) {
      const words = "too many bad tokens came from this address";
      throw new Refusal(429, "TOO_MANY_BAD_TOKENS", "many-bad-tokens", words, Math.ceil(leftMs / 1000));
    }
    if (!spend(this.#tokens, TOKEN_RATE, nowMs, TOKENS_AT_ONCE))
      throw tooMany("rate", "too many machines join at once");
  }

  badToken(address: string): void {
    const client = this.#client(address);
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - client.badSinceMs >= REFUSED_MS) Object.assign(client, { badTokens: 0, badSinceMs: nowMs });
    client.badTokens += 1;
    if (client.badTokens < BAD_TOKENS) return;
    Object.assign(client, { badTokens: 0, badSinceMs: nowMs, refusedUntilMs: nowMs + REFUSED_MS });
  }

  #client(address: string): Client {
    const key = networkOf(address);
    const known = this.#clients.get(key);
    if (known !== undefined) return known;
    if (this.#clients.size >= MAX_ADDRESSES) {
      const [oldest] = this.#clients.keys();
      if (oldest !== undefined) this.#clients.delete(oldest);
    }
    const nowMs = this.#clock.monotonicMs();
    const client = {
      allowance: RATE,
      atMs: nowMs,
      inFlight: 0,
      badTokens: 0,
      badSinceMs: nowMs,
      refusedUntilMs: nowMs,
    };
    this.#clients.set(key, client);
    return client;
  }
}

function spend(bucket: Pick<Client, "allowance" | "atMs">, rate: number, nowMs: number, atOnce = rate): boolean {
  bucket.allowance = Math.min(atOnce, bucket.allowance + ((nowMs - bucket.atMs) * rate) / 1000);
  bucket.atMs = nowMs;
  if (bucket.allowance < 1) return false;
  bucket.allowance -= 1;
  return true;
}

function tooMany(reason: "rate" | "in-flight", words: string): Refusal {
  return new Refusal(429, "TOO_MANY_REQUESTS", reason, words, 1);
}
