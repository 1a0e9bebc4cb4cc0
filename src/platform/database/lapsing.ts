import { type Expression, type SqlBool, sql } from "kysely";

/** A status that changes with time alone: the stored statuses that it may replace, and the new one. */
export interface Lapse<S extends string> {
  readonly from: readonly S[];
  readonly to: S;
}

/**
 * True for rows whose status at this moment is one of `wanted`. The stored column is compared first, because it is
 * indexed and the computed status is not.
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
