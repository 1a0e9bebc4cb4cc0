/**
 * The characters that text for a person may not hold (`schema.ts`), as RE2 writes them. Line breaks and tabs are
 * allowed: the pattern is for text that CEL does not quote.
 */
export const UNREADABLE = String.raw`[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cf}\p{Co}\p{Zl}\p{Zp}\x{115f}\x{1160}\x{3164}\x{ffa0}]`;

/** The same characters as `\u` writes them: the code points of \p{C*} and \p{Z*} that are refused. */
const SHORT = [
  "00([89][0-9a-f]|ad)",
  "06(0[0-5]|1c|dd)",
  "070f",
  "089[01]",
  "08e2",
  "180e",
  "20(0[b-f]|2[89a-e]|6[0-46-9a-f])",
  "[ef][0-8][0-9a-f]{2}",
  "e[9a-f][0-9a-f]{2}",
  "feff",
  "fff[9ab]",
].join("|");

/** The same for `\U`. Private use fills two planes, except the last two code points of each. */
const LONG = [
  "000110[bc]d",
  "0001343[0-9a-f]",
  "0001bca[0-3]",
  "0001d17[3-9a]",
  "000e00(01|[2-7][0-9a-f])",
  "00(0f|10)([^f]|f[^f]|ff[^f]|fff[^ef])",
].join("|");

/**
 * Finds what params may not hold, in the form in which `'%s'.format()` shows them: strings quoted as Go does, where a
 * backslash escapes each character that does not print. Spaces, and characters newer than the server's Unicode tables,
 * are escaped too but allowed: the same rule as the platform's, which counts classes and not what prints. The last
 * alternative is for servers that do not quote.
 *
 * Short on purpose: CEL charges a pattern by its length times the text's.
 */
export const UNREADABLE_PARAMS = String.raw`[^\\](\\\\)*\\([^\\"ntuU]|u(${SHORT})|U(${LONG}))|${UNREADABLE}`;
