/**
 * Leaves out the null fields of an answer where the API has no null for them. Only at the top level, not inside of the
 * values.
 */
export function withoutNulls<T extends object>(map: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null)) as never;
}
