/** What is made of a number beyond its bounds. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * The bounds of every number that another process sends and that decides how long we wait, how much we hold, or how
 * often we ask. A number of a peer that is not bounded here, or refused by a schema, is a fault.
 */
export const PEER_NUMBERS = {
  /** `Retry-After` of an API server. kube-apiserver itself says 1 to 32 s, 10 s for an eviction; what says more stands before it. */
  apiServerRetryAfterMs: { least: 0, most: MINUTE_MS },
  /** `Retry-After` of the platform, which spreads many agents over time. */
  platformRetryAfterMs: { least: 0, most: 15 * MINUTE_MS },
  /** Left of an `expirationTimestamp`: a program that gives what has expired is not run for each request of a busy second. */
  credentialLifeMs: { least: 1_000, most: DAY_MS },
  /** `leaseDurationSeconds` that another holder wrote. */
  leaseMs: { least: 0, most: 5 * MINUTE_MS },
  /** `leaseTransitions`, an int32: one more than that, and the API server refuses the Lease for ever. */
  leaseTransitions: { least: 0, most: 2_147_483_647 },
  /** The calendar of a `Date` header: outside of it, the time is no time, and sums with it are no dates. */
  calendarMs: { least: Date.UTC(2000, 0), most: Date.UTC(2200, 0) },
} as const satisfies Readonly<Record<string, Bounds>>;

export type PeerNumber = keyof typeof PEER_NUMBERS;

/** The nearest number within the bounds; undefined when `value` is no number. */
export function clamped(name: PeerNumber, value: unknown): number | undefined {
  if (typeof value !== "number" || Number.isNaN(value)) return undefined;
  const { least, most } = PEER_NUMBERS[name];
  return Math.min(Math.max(value, least), most);
}

/** `value` itself when it is a number within the bounds, else undefined. */
export function within(name: PeerNumber, value: unknown): number | undefined {
  const nearest = clamped(name, value);
  return nearest === value ? nearest : undefined;
}

/** Both forms of RFC 9110 §10.2.3, seconds or a date, in milliseconds and bounded; undefined when it is neither. */
export function retryAfterOf(
  name: "apiServerRetryAfterMs" | "platformRetryAfterMs",
  header: string | undefined,
  now: Date,
): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return clamped(name, Number(text) * 1_000);
  return clamped(name, parsedMs(text) - now.getTime());
}

/** A date of a header, Unix milliseconds; undefined when it is none, or of no calendar that a server can have. */
export function httpDateMs(text: string | undefined): number | undefined {
  return within("calendarMs", parsedMs(text ?? ""));
}

/** By its form, because `Date.parse("-5")` is a day of 2001. */
function parsedMs(text: string): number {
  return /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
}

/** Longest list, in pages: at 500 objects a page, ten times what etcd can hold. */
const MOST_PAGES = 20_000;
/** Pages in a row without an object: a server may skip what a selector leaves out, but it must arrive. */
const MOST_EMPTY_PAGES = 100;
/** Longest mark of the next page. kube-apiserver's hold a version and a key. */
const MOST_MARK_CHARS = 65_536;

/** Counts the pages of one list, so that a server whose pages have no end is not followed for ever. */
export class PageTurns {
  #pages = 0;
  #empty = 0;
  #mark = "";

  /** After a page of `items` objects whose next one is at `mark`. Undefined: go on; else what is wrong. */
  turn(items: number, mark: string): string | undefined {
    this.#pages += 1;
    this.#empty = items === 0 ? this.#empty + 1 : 0;
    if (mark === this.#mark) return "the mark of the next page is that of this page";
    if (mark.length > MOST_MARK_CHARS) return `the mark of the next page is longer than ${MOST_MARK_CHARS} characters`;
    if (this.#empty >= MOST_EMPTY_PAGES) return `${MOST_EMPTY_PAGES} pages in a row have no object`;
    if (this.#pages >= MOST_PAGES) return `it has more than ${MOST_PAGES} pages`;
    this.#mark = mark;
    return undefined;
  }
}

/** Longest version of an object or list. Those of kube-apiserver are decimals of 64 bits. */
const MOST_VERSION_CHARS = 128;

/**
 * Whether a watch can begin after this version. `0` means any to the API server: what was deleted since would never
 * be heard of.
 */
export function isResumable(version: string): boolean {
  return version !== "" && !/^0+$/.test(version) && version.length <= MOST_VERSION_CHARS;
}
