import { type RawBuilder, sql } from "kysely";

/**
 * A value for a `jsonb` column. Drivers disagree on arrays (pg sends a PostgreSQL array), so the text is made here.
 * Reading needs no conversion: both drivers parse jsonb.
 */
export function json<T>(value: T): RawBuilder<T> {
  return sql`${JSON.stringify(value)}::jsonb`;
}
