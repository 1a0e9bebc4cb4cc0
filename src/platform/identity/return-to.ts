const MAX_LENGTH = 2048;
const ORIGIN = "http://here.invalid";

/**
 * A path of our own to go to after a sign-in, as it will stand in `Location`.
 * @returns undefined for whatever a browser could take for another site's address.
 */
export function returnPath(given: string): string | undefined {
  // Browsers drop tabs and newlines, and read a backslash as a slash.
  if (given.length > MAX_LENGTH || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(given)) return undefined;
  if (!URL.canParse(given, ORIGIN)) return undefined;
  const { origin, pathname, search, hash } = new URL(given, ORIGIN);
  // A path such as `/.//elsewhere` only becomes `//elsewhere` when its dots are resolved.
  if (origin !== ORIGIN || pathname.startsWith("//")) return undefined;
  return pathname + search + hash;
}
