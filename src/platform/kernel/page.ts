import { createHash } from "node:crypto";
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
  /** Hash of route, filters and workspace: a cursor of another list is refused. */
  readonly binding: string;
}

/** What a cursor belongs to. `filters` is the query without `limit` and `cursor`. */
export function bindingOf(route: string, workspaceId: string, filters: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(filters)
    .filter(([name, value]) => name !== "limit" && name !== "cursor" && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([route, workspaceId, sorted]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

export function pageRequest(limit: number, cursor: string | undefined, binding: string): PageRequest {
  return { limit, binding, after: cursor === undefined ? undefined : readCursor(cursor, binding) };
}

function readCursor(cursor: string, binding: string): Position {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(parsed) && parsed.length === 3) {
      const [owner, from, id]: unknown[] = parsed;
      const at = typeof from === "number" ? new Date(from) : isText(from, MAX_NAME) ? from : undefined;
      const sound = typeof at === "string" || (at !== undefined && !Number.isNaN(at.getTime()));
      if (sound && owner === binding && isText(id, MAX_ID)) return { at, id };
    }
  } catch (error) {
    throw new PlatformError("INVALID_CURSOR", { cause: error });
  }
  throw new PlatformError("INVALID_CURSOR");
}

/** Longer than any name or id of a row that is listed. */
const MAX_NAME = 256;
const MAX_ID = 64;

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length <= maxLength && value.isWellFormed() && !value.includes("\0");
}

function writeCursor(binding: string, { at, id }: Position): string {
  return Buffer.from(JSON.stringify([binding, typeof at === "string" ? at : at.getTime(), id])).toString("base64url");
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
