import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../../base/is-record.ts";

/** Fields of an object's metadata that the API server writes at each change, or never. */
const BOOKKEEPING = ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"];
/** More are not looked for: a plan is to be read. */
const MAX_FIELDS = 50;

/**
 * Where two states of an object differ, as the API server names fields: `.spec.template.spec.containers[name="c"].image`.
 * Never their values: those may be what a customer hides. A field that only one of them has is named, and nothing below.
 */
export function differences(before: object, after: object): readonly string[] {
  const found: string[] = [];
  collect(withoutBookkeeping(before), withoutBookkeeping(after), "", found);
  return found;
}

function withoutBookkeeping(object: object): unknown {
  const { status: _status, metadata, ...rest } = object as Readonly<Record<string, unknown>>;
  const kept = Object.entries(isRecord(metadata) ? metadata : {}).filter(([field]) => !BOOKKEEPING.includes(field));
  return { ...rest, metadata: Object.fromEntries(kept) };
}

function collect(before: unknown, after: unknown, path: string, found: string[]): void {
  if (found.length >= MAX_FIELDS || isDeepStrictEqual(before, after)) return;
  if (isRecord(before) && isRecord(after)) {
    const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
    for (const field of fields) collect(before[field], after[field], `${path}.${field}`, found);
    return;
  }
  const lists = Array.isArray(before) && Array.isArray(after) ? ([before, after] as const) : undefined;
  if (lists === undefined || !lists.flat().every(isRecord)) {
    found.push(path);
    return;
  }
  const [was, is] = lists.map((list) => byName(list as readonly Node[])) as [Map<string, Node>, Map<string, Node>];
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    collect(was.get(name), is.get(name), `${path}[${name}]`, found);
  }
}

type Node = Readonly<Record<string, unknown>>;

/** By what tells elements of a list apart: their names where each has its own, else their places. */
function byName(list: readonly Node[]): ReadonlyMap<string, Node> {
  const names = new Set(list.map(({ name }) => name));
  const areNamed = names.size === list.length && list.every(({ name }) => typeof name === "string");
  return new Map(list.map((each, index) => [areNamed ? `name=${JSON.stringify(each.name)}` : String(index), each]));
}
