const SUFFIXES: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};
const QUANTITY = /^(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;

/** The number that a `Quantity` of the API is: `250m` is 0.25, `1Ki` is 1024. Undefined: it is none, or below 0. */
export function quantityOf(text: string): number | undefined {
  const match = QUANTITY.exec(text);
  if (match === null) return undefined;
  const [, digits = "", suffix, exponent = "0"] = match;
  return suffix === undefined ? Number(`${digits}e${exponent}`) : Number(digits) * (SUFFIXES[suffix] ?? 1);
}
