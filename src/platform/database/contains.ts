import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

/**
 * `search` of lists: case-insensitive contains. An index on trigrams of `lower(text)` answers it, where there is one
 * (migration 0015).
 *
 * @param text a column, or an expression that is indexed as it stands.
 */
export function contains(text: string | RawBuilder<unknown>, part: string): Expression<SqlBool> {
  return sql<SqlBool>`lower(${typeof text === "string" ? sql.ref(text) : text}) like lower(${`%${literally(part)}%`})`;
}

/** The same for how a text begins; case counts. */
export function beginsWith(text: string | RawBuilder<unknown>, part: string): Expression<SqlBool> {
  return sql<SqlBool>`${typeof text === "string" ? sql.ref(text) : text} like ${`${literally(part)}%`}`;
}

/** Nothing in it is a wildcard of LIKE. */
function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
