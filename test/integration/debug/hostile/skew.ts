/** The environment of a Node process whose calendar is so many minutes ahead; its monotonic clock is as it is. */
export function skewed(minutes: number): Readonly<Record<string, string>> {
  const script = `const Real = Date; const now = () => Real.now() + ${minutes * 60_000};
globalThis.Date = class Date extends Real {
  constructor(...args) { if (args.length === 0) super(now()); else super(...args); }
  static now() { return now(); }
};`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` };
}
