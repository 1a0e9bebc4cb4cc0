import { type Expression, type SqlBool, sql } from "kysely";

/** A status that time alone can change: the stored ones that it may change, and to what. */
export interface Lapse<S extends string> {
  readonly from: readonly S[];
  readonly to: S;
}

/**
 * True for rows whose status as of now is one of `wanted`. The stored column is asked first, because an index knows it
 * and no index knows what the clock makes of it.
 */
export function statusIn<S extends string>(
  storedColumn: string,
  asOfNow: Expression<S>,
  wanted: readonly S[],
  lapse: Lapse<S>,
): Expression<SqlBool> {
  const stored = wanted.includes(lapse.to) ? [...new Set([...wanted, ...lapse.from])] : wanted;
  const list = (words: readonly S[]) => sql.join(words.map((word) => sql`${word}`));
  return sql<SqlBool>`(${sql.ref(storedColumn)} in (${list(stored)}) and ${asOfNow} in (${list(wanted)}))`;
}
