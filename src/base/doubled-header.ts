/** Node keeps the first of two and drops the other without a word; a proxy before us may have judged by the other. */
const SINGLE = ["authorization", "host", "content-type", "content-length"];

/** The first header of a request that stands there twice and may not. @param rawHeaders names and values in turn, as Node has them */
export function doubledHeader(rawHeaders: readonly string[]): string | undefined {
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  return SINGLE.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
}
