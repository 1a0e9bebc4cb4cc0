/**
 * `meta/v1.MicroTime`, as leases and events want it: RFC 3339 with exactly six digits of fraction. The API server
 * refuses fewer. A `Date` has three, so the last three are 0.
 */
export function microTime(at: Date): string {
  return at.toISOString().replace(/Z$/, "000Z");
}
