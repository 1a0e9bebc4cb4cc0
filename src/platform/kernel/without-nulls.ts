/** What is unset is left out of an answer, where the API has no null for it. The map itself, not what is in its values. */
export function withoutNulls<T extends object>(map: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null)) as never;
}
