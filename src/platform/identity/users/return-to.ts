const MAX_LENGTH = 2048;
const ORIGIN = "http://here.invalid";

/**
 * Checks a path to go to after a sign-in, in the form for `Location`.
 * @returns undefined for anything that a browser could take for another site's address.
 */
export function returnPath(given: string): string | undefined {
  // Browsers drop tabs and newlines, and read a backslash as a slash.
  if (given.length > MAX_LENGTH || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(given)) return undefined;
  if (!URL.canParse(given, ORIGIN)) return undefined;
  const { origin, pathname, search, hash } = new URL(given, ORIGIN);
  // A path such as `/.//elsewhere` becomes `//elsewhere` only when its dots are resolved.
  if (origin !== ORIGIN || pathname.startsWith("//")) return undefined;
  return pathname + search + hash;
}
