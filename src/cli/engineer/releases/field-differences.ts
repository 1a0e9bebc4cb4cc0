import { isRecord } from "../../../base/is-record.ts";

/** One field that is not the same: absent on a side where it is not there. */
export interface FieldDifference {
  /** `spec.template.spec.containers[web].image` */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Deeper than any object of a cluster. What a platform sends may be nested without an end. */
const MAX_DEPTH = 64;
const SECRET = "(secret)";
const TOO_DEEP = "(nested too deep to compare)";
/** What holds the value of something that says that it is secret: of a variable, of an input, of its default. */
const HOLDERS: ReadonlySet<string> = new Set(["value", "default"]);

/**
 * The fields in which two values differ, as deep as both have them. Entries of a list are compared by their names where
 * all have one, as the API server does with containers and variables. A secret value is never told, only that it differs.
 */
export function fieldDifferences(before: unknown, after: unknown): readonly FieldDifference[] {
  return [...walk(before, after, "", 0)];
}

function* walk(before: unknown, after: unknown, path: string, depth: number): Generator<FieldDifference> {
  if (depth > MAX_DEPTH) yield { path, before: TOO_DEEP, after: TOO_DEEP };
  else if (isRecord(before) && isRecord(after)) {
    const isSecret = saysSecret(before) || saysSecret(after);
    for (const key of keysOf(before, after)) {
      const [one, other] = [own(before, key), own(after, key)];
      if (isSecret && HOLDERS.has(key)) yield* hidden(one, other, under(path, key), depth + 1);
      else yield* walk(one, other, under(path, key), depth + 1);
    }
  } else if (Array.isArray(before) && Array.isArray(after)) yield* ofLists(before, after, path, depth);
  else if (before !== after) yield told(path, before, after);
}

function* ofLists(
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  depth: number,
): Generator<FieldDifference> {
  const [one, other] = [byName(before), byName(after)];
  if (one !== undefined && other !== undefined) {
    for (const name of new Set([...one.keys(), ...other.keys()])) {
      yield* walk(one.get(name), other.get(name), `${path}[${name}]`, depth + 1);
    }
    return;
  }
  for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
    yield* walk(before[at], after[at], `${path}[${at}]`, depth + 1);
  }
}

/** Undefined: an entry has no name, or two have the same one. */
function byName(list: readonly unknown[]): ReadonlyMap<string, unknown> | undefined {
  const named = new Map<string, unknown>();
  for (const entry of list) {
    if (!isRecord(entry) || typeof entry.name !== "string") return undefined;
    named.set(entry.name, entry);
  }
  return named.size === list.length ? named : undefined;
}

function* hidden(before: unknown, after: unknown, path: string, depth: number): Generator<FieldDifference> {
  if (walk(before, after, path, depth).next().done === true) return;
  yield told(path, before === undefined ? before : SECRET, after === undefined ? after : SECRET);
}

function told(path: string, before: unknown, after: unknown): FieldDifference {
  return {
    path,
    ...(before !== undefined && { before: withoutSecrets(before, 0) }),
    ...(after !== undefined && { after: withoutSecrets(after, 0) }),
  };
}

function withoutSecrets(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return TOO_DEEP;
  if (Array.isArray(value)) return value.map((entry) => withoutSecrets(entry, depth + 1));
  const isSecret = saysSecret(value as Readonly<Record<string, unknown>>);
  const entries = Object.entries(value).map(([key, entry]) => [
    key,
    isSecret && HOLDERS.has(key) ? SECRET : withoutSecrets(entry, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

function saysSecret({ type, kind }: Readonly<Record<string, unknown>>): boolean {
  return type === "secret" || kind === "secret";
}

function keysOf(...records: readonly object[]): Iterable<string> {
  return new Set(records.flatMap((record) => Object.keys(record)));
}

function own(record: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function under(path: string, key: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
