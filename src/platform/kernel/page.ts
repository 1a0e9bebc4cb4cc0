import { createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import { type SelectQueryBuilder, sql } from "kysely";
import { PlatformError } from "./errors.ts";

/**
 * Where a page starts: the last row of the page before, in the order `createdAt` then `id`, both descending (§0.6);
 * for the few lists that go by name, by the name then `id`, both ascending.
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
 * What a cursor belongs to: the list of that route, workspace and filters, so that a cursor of another list, or one that
 * somebody changed, does not verify.
 */
export interface Binding {
  /** Signs cursors. The platform's, the same on all replicas; made once, for making one costs four signatures. */
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

/** Half of it is no less safe (RFC 2104 §5), and cursors stand in URLs. */
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
      // Whole and not only the signature: one position has one cursor, spelled in one way.
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

/** Longer than any name or id of a row that is listed. */
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
 * Narrows a query to one page and orders it; one row more than asked for tells whether another page exists.
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

/** The same for lists by name. Names compare by their bytes, whatever the database's language is. */
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

/** Turns the rows of a `paged` query into the answer. */
export function toPage<Row, Item>(
  page: PageRequest,
  rows: readonly Row[],
  positionOf: (row: Row) => Position,
  toItem: (row: Row) => Item,
): { items: Item[]; nextCursor: string | null } {
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const more = rows.length > page.limit && last !== undefined;
  return { items: shown.map(toItem), nextCursor: more ? writeCursor(page.binding, positionOf(last)) : null };
}
