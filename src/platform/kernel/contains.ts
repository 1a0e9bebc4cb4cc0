import { type Expression, type SqlBool, sql } from "kysely";

/** `search` of lists: case-insensitive contains. No LIKE, so nothing in the text is a wildcard. */
export function contains(column: string, text: string): Expression<SqlBool> {
  return sql<SqlBool>`position(lower(${text}) in lower(${sql.ref(column)})) > 0`;
}
