import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

/**
 * The condition for `search` in lists: case-insensitive contains. A trigram index on `lower(text)` answers it, where
 * there is one (migration 0015).
 *
 * @param text a column, or an expression that is indexed in this form.
 */
export function contains(text: string | RawBuilder<unknown>, part: string): Expression<SqlBool> {
  return sql<SqlBool>`lower(${typeof text === "string" ? sql.ref(text) : text}) like lower(${`%${literally(part)}%`})`;
}

/** The same for the beginning of a text; case-sensitive. */
export function beginsWith(text: string | RawBuilder<unknown>, part: string): Expression<SqlBool> {
  return sql<SqlBool>`${typeof text === "string" ? sql.ref(text) : text} like ${`${literally(part)}%`}`;
}

/** Escapes the wildcards of LIKE. */
function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
