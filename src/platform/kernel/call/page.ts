import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { type SelectQueryBuilder, sql } from "kysely";
import { PlatformError } from "../errors.ts";
import { bytesOf } from "../input/document-bounds.ts";

/**
 * Where a page starts: after the last row of the page before. Lists are ordered by `createdAt` then `id`, both
 * descending (§0.6). The few lists ordered by name use the name then `id`, both ascending.
 */
export interface Position {
  readonly at: Date | string;
  readonly id: string;
}

export interface PageRequest {
  readonly limit: number;
  readonly after: Position | undefined;
  readonly binding: Binding;
}

/**
 * The list that a cursor belongs to: its route, workspace and filters. A cursor of another list, or one that a client
 * has changed, does not verify.
 */
export interface Binding {
  /**
   * Signs cursors; the same on all replicas. The server makes it once, because making it costs as much as four
   * signatures.
   */
  readonly key: KeyObject;
  readonly list: readonly unknown[];
}

/** `filters` is the query without `limit` and `cursor`. */
export function bindingOf(
  key: KeyObject,
  route: string,
  workspaceId: string,
  filters: Readonly<Record<string, unknown>>,
): Binding {
  const sorted = Object.entries(filters)
    .filter(([name, value]) => name !== "limit" && name !== "cursor" && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return { key, list: [route, workspaceId, sorted] };
}

/** Half of the digest: it is safe (RFC 2104 §5) and keeps cursors short, because they stand in URLs. */
const SIGNATURE_BYTES = 16;

export function pageRequest(limit: number, cursor: string | undefined, binding: Binding): PageRequest {
  return { limit, binding, after: cursor === undefined ? undefined : readCursor(cursor, binding) };
}

function readCursor(cursor: string, binding: Binding): Position {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(parsed) && parsed.length === 3) {
      const [, from, id]: unknown[] = parsed;
      const at = typeof from === "number" ? new Date(from) : isText(from, MAX_NAME) ? from : undefined;
      const sound = typeof at === "string" || (at !== undefined && !Number.isNaN(at.getTime()));
      // Compares the whole cursor and not only the signature: each position has exactly one valid cursor.
      if (sound && isText(id, MAX_ID) && isSame(writeCursor(binding, { at, id }), cursor)) return { at, id };
    }
  } catch (error) {
    throw new PlatformError("INVALID_CURSOR", { cause: error });
  }
  throw new PlatformError("INVALID_CURSOR");
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Longer than any name or id of a listed row. */
const MAX_NAME = 256;
const MAX_ID = 64;

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length <= maxLength && value.isWellFormed() && !value.includes("\0");
}

function writeCursor({ key, list }: Binding, { at, id }: Position): string {
  const from = typeof at === "string" ? at : at.getTime();
  const signed = JSON.stringify(["page", list, from, id]);
  const mac = createHmac("sha256", key).update(signed).digest();
  const signature = mac.subarray(0, SIGNATURE_BYTES).toString("base64url");
  return Buffer.from(JSON.stringify([signature, from, id])).toString("base64url");
}

/**
 * Narrows a query to one page and orders it. It reads one row more than asked for, which shows whether another page
 * exists.
 * @example db.selectFrom("api_keys as k").selectAll().$call(paged(call.page, "k.created_at", "k.id")).execute()
 */
export function paged(
  page: PageRequest,
  atColumn: string,
  idColumn: string,
  order: "desc" | "asc" = "desc",
): <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>) => SelectQueryBuilder<DB, TB, O> {
  const at = sql.ref(atColumn);
  const id = sql.ref(idColumn);
  return (query) => {
    const from = page.after;
    if (typeof from?.at === "string") throw new PlatformError("INVALID_CURSOR");
    const past = order === "desc" ? sql.raw("<") : sql.raw(">");
    const rest =
      from === undefined ? query : query.where(sql<boolean>`(${at}, ${id}) ${past} (${from.at}, ${from.id})`);
    return rest
      .orderBy(at, order)
      .orderBy(id, order)
      .limit(page.limit + 1);
  };
}

/** Like `paged` for lists ordered by name. Names compare by their bytes, whatever the locale of the database is. */
export function pagedByName(
  page: PageRequest,
  nameColumn: string,
  idColumn: string,
): <DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>) => SelectQueryBuilder<DB, TB, O> {
  const name = sql`${sql.ref(nameColumn)} collate "C"`;
  const id = sql.ref(idColumn);
  return (query) => {
    const from = page.after;
    if (from !== undefined && typeof from.at !== "string") throw new PlatformError("INVALID_CURSOR");
    const rest =
      from === undefined ? query : query.where(sql<boolean>`(${name}, ${id}) > (${from.at} collate "C", ${from.id})`);
    return rest
      .orderBy(name)
      .orderBy(id)
      .limit(page.limit + 1);
  };
}

/**
 * Limit for the items of one answer as JSON. Reading, checking and writing an answer blocks the process for all
 * callers, so a list is bounded by bytes and not only by its number of rows.
 */
export const ANSWER_BYTES = 2 * 1024 * 1024;

/**
 * Collects items until the answer is full. It always takes the first item, or a client could not page past a large one.
 */
export class Filling<Item> {
  readonly items: Item[] = [];
  #bytes = 0;

  /** False: the item does not fit. The caller must not try later items either, or the page would skip one. */
  takes(item: Item): boolean {
    const bytes = this.#bytes + bytesOf(item);
    if (this.items.length > 0 && bytes > ANSWER_BYTES) return false;
    this.#bytes = bytes;
    this.items.push(item);
    return true;
  }

  /** How many more items of average size fit; at least one, to find out whether there is another page. */
  get room(): number {
    const each = this.#bytes / Math.max(1, this.items.length);
    return Math.max(1, Math.floor((ANSWER_BYTES - this.#bytes) / Math.max(1, each)));
  }
}

/** Turns the rows of a `paged` query into the answer. The page has fewer items than asked for when they are large. */
export function toPage<Row, Item>(
  page: PageRequest,
  rows: readonly Row[],
  positionOf: (row: Row) => Position,
  toItem: (row: Row) => Item,
): { items: Item[]; nextCursor: string | null } {
  const filling = new Filling<Item>();
  for (const row of rows.slice(0, page.limit)) if (!filling.takes(toItem(row))) break;
  const { items } = filling;
  const last = rows[items.length - 1];
  const more = last !== undefined && items.length < rows.length;
  return { items, nextCursor: more ? writeCursor(page.binding, positionOf(last)) : null };
}

/** A `paged` query. */
interface Sliced<Row> {
  limit(count: number): { offset(count: number): { execute(): Promise<Row[]> } };
}

/** The default of `limit` plus the one row that shows whether another page exists. */
const FIRST_SLICE = 21;

/** Like `toPage` for rows that may be large: reads them in slices, as long as the answer has room. */
export async function readPage<Row, Item>(
  page: PageRequest,
  query: Sliced<Row>,
  positionOf: (row: Row) => Position,
  toItems: (rows: readonly Row[]) => readonly Item[] | Promise<readonly Item[]>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const filling = new Filling<Item>();
  const { items } = filling;
  let last: Row | undefined;
  let size = Math.min(FIRST_SLICE, page.limit + 1);
  for (;;) {
    const before = items.length;
    const rows = await query.limit(size).offset(before).execute();
    const made = await toItems(rows.slice(0, page.limit - before));
    for (const item of made) if (!filling.takes(item)) break;
    const taken = items.length - before;
    last = rows[taken - 1] ?? last;
    const more = taken < rows.length;
    if (more || rows.length < size) {
      return { items, nextCursor: more && last !== undefined ? writeCursor(page.binding, positionOf(last)) : null };
    }
    size = Math.min(page.limit + 1 - items.length, filling.room);
  }
}
