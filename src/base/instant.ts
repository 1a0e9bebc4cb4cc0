const RFC_3339 =
  /^\d{4}-(0\d|1[0-2])-[0-3]\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
const EARLIEST_MS = Date.parse("0001-01-01T00:00:00Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Accepts a date that exists and whose UTC form both SQL and RFC 3339 can write. */
export function isInstant(text: string): boolean {
  if (!RFC_3339.test(text)) return false;
  const atMs = Date.parse(text);
  const day = Number(text.slice(8, 10));
  const monthEnds = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  return day >= 1 && day <= monthEnds && atMs >= EARLIEST_MS && atMs <= LATEST_MS;
}
