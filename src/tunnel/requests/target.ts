/** A request's path and query, read once. `toTarget` gives back exactly what was read. */
export interface Target {
  readonly segments: readonly string[];
  readonly query: readonly QueryPair[];
}

export interface QueryPair {
  readonly name: string;
  readonly value: string;
  /** As it was sent. */
  readonly raw: string;
}

const MAX_PATH = 2_048;
/** A command of `kubectl exec` travels in the query. */
const MAX_QUERY = 16_384;
const MAX_PAIRS = 256;
/** No name of the API needs more. A `%` is refused, so that no other reader of the path can decode it differently. */
const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._:~-]*$/;
const PAIR = /^(?:[A-Za-z0-9._~!$'()*+,:@/?=-]|%[0-9A-Fa-f]{2})*$/;
/** Names that may come more than once, in order. */
const LISTS = ["command"];

/**
 * Undefined for a target that two readers could understand differently: doubled slashes, dots, escapes in the path,
 * anything that is not ASCII, names of the query that come twice, escapes that are no UTF-8.
 */
export function parseTarget(text: string): Target | undefined {
  if (isTooLong(text)) return undefined;
  const [path, queryText] = halvesOf(text);
  if (!path.startsWith("/")) return undefined;
  const segments = path.slice(1).split("/");
  if (!segments.every((segment) => SEGMENT.test(segment) && !segment.includes(".."))) return undefined;
  const query = queryText === undefined ? [] : parseQuery(queryText);
  return query && { segments, query };
}

export function isTooLong(text: string): boolean {
  const [path, query = ""] = halvesOf(text);
  return path.length > MAX_PATH || query.length > MAX_QUERY;
}

function halvesOf(text: string): readonly [path: string, query: string | undefined] {
  const mark = text.indexOf("?");
  return mark === -1 ? [text, undefined] : [text.slice(0, mark), text.slice(mark + 1)];
}

export function toTarget({ segments, query }: Target): string {
  const path = `/${segments.join("/")}`;
  return query.length === 0 ? path : `${path}?${query.map(({ raw }) => raw).join("&")}`;
}

/** The last word on `name`; undefined: it is not there. */
export function queryValue({ query }: Target, name: string): string | undefined {
  return query.find((pair) => pair.name === name)?.value;
}

export function queryValues({ query }: Target, name: string): readonly string[] {
  return query.filter((pair) => pair.name === name).map(({ value }) => value);
}

/** With `value` in place of what `name` had. */
export function withValue(target: Target, name: string, value: string): Target {
  const pair = { name, value, raw: `${encodeURIComponent(name)}=${encodeURIComponent(value)}` };
  return { ...target, query: [...target.query.filter((each) => each.name !== name), pair] };
}

function parseQuery(text: string): readonly QueryPair[] | undefined {
  const parts = text.split("&");
  if (parts.length > MAX_PAIRS) return undefined;
  const pairs: QueryPair[] = [];
  const seen = new Set<string>();
  for (const raw of parts) {
    const pair = parsePair(raw);
    if (pair === undefined || (seen.has(pair.name) && !LISTS.includes(pair.name))) return undefined;
    seen.add(pair.name);
    pairs.push(pair);
  }
  return pairs;
}

function parsePair(raw: string): QueryPair | undefined {
  if (!PAIR.test(raw)) return undefined;
  const cut = raw.indexOf("=");
  try {
    const name = decoded(cut === -1 ? raw : raw.slice(0, cut));
    return name === "" ? undefined : { name, value: decoded(cut === -1 ? "" : raw.slice(cut + 1)), raw };
  } catch {
    return undefined; // An escape that is no UTF-8.
  }
}

function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
