/** A citation of a rule of the Management API that docs/api-rules does not have. */
export interface Dangling {
  readonly line: number;
  readonly citation: string;
}

const SIGN = "\u00a7";
const NUMBER = String.raw`\d+(?:\.\d+)*`;
const HEADING = new RegExp(`^#{1,6} ${SIGN}(${NUMBER}) \\S`, "gm");
const CITATION = new RegExp(`${SIGN}(${NUMBER})?`, "g");
/** `RFC 6749 §4.1.3, §6`: sections of that RFC, also across the line break of a comment. */
const OF_RFC = new RegExp(`RFC \\d+(?:,? (?:and )?${SIGN}${NUMBER})+`, "g");

/** The numbers of a page's headings, such as `### §3.2 Title`. */
export function rulesOf(page: string): readonly string[] {
  return [...page.matchAll(HEADING)].map(([, number = ""]) => number);
}

/** Citations of a text that are not in `rules`, without those of RFCs. */
export function danglingIn(text: string, rules: ReadonlySet<string>): readonly Dangling[] {
  return text
    .split("\n")
    .flatMap((content, index) =>
      [...content.replaceAll(OF_RFC, "").matchAll(CITATION)]
        .filter(([, number]) => number === undefined || !rules.has(number))
        .map(([citation]) => ({ line: index + 1, citation })),
    );
}

/** Numbers that more than one heading has. */
export function repeated(numbers: readonly string[]): readonly string[] {
  return [...new Set(numbers.filter((number, index) => numbers.indexOf(number) !== index))];
}
