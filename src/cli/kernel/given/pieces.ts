/** A piece of a text, from one line of `---` to the next. */
export interface Piece {
  readonly text: string;
  /** How many lines are before it. */
  readonly lines: number;
}

/** As kubectl divides a text: at each line that begins so, also behind a byte order mark. */
const SEPARATOR = /^\uFEFF?---(?=[ \t\n]|$)/gm;
const MARK = "\uFEFF";
/** It is read in one go, in which no signal is heard; a release has far less. */
const MAX_PIECE = 4 * 1024 * 1024;
/** A line break of YAML 1.1 that no editor shows as one. */
const NEXT_LINE = "\u0085";

export function* piecesOf(text: string): Generator<Piece, void> {
  // A carriage return ends a line also alone.
  const plain = text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
  const ends = plain.matchAll(SEPARATOR).map(({ index }) => index);
  let from = 0;
  let lines = 0;
  for (const end of [...ends, plain.length]) {
    const piece = plain.slice(from, end);
    if (from > 0 || piece.trim() !== "") yield withoutMarks({ text: piece, lines });
    lines += linesIn(piece);
    from = end;
  }
}

/** Without the line of `---`, unless the document begins in it, and without the byte order mark of a file. */
function withoutMarks({ text, lines }: Piece): Piece {
  const [first = ""] = text.split("\n", 1);
  const isSeparator = /^\uFEFF?---[ \t]*(#.*)?$/.test(first);
  const rest = isSeparator ? text.slice(first.length + 1) : text;
  return { text: rest.startsWith(MARK) ? rest.slice(MARK.length) : rest, lines: lines + (isSeparator ? 1 : 0) };
}

/** What kubectl refuses as well, or takes for a part of a name. */
export function refusedIn({ text, lines }: Piece): { readonly line: number; readonly message: string } | undefined {
  if (text.length > MAX_PIECE) {
    return { line: lines + 1, message: `one document of YAML has at most ${MAX_PIECE} characters` };
  }
  const marked = text.indexOf(`\n${MARK}`);
  if (marked >= 0) {
    const line = lines + linesIn(text.slice(0, marked + 1)) + 1;
    return { line, message: "a byte order mark in a document: a line of --- belongs between two files" };
  }
  const next = text.indexOf(NEXT_LINE);
  if (next >= 0) {
    return { line: lines + linesIn(text.slice(0, next)) + 1, message: "has the character U+0085, which ends a line" };
  }
  const lead = leadOf(text);
  if (!text.startsWith("%", lead)) return undefined;
  const line = lines + linesIn(text.slice(0, lead)) + 1;
  return { line, message: "directives such as %YAML are not read: leave it out" };
}

/** helm writes before each document from which template it is. */
export function sourceOf({ text }: Piece): string | undefined {
  return /^# Source: (\S+)$/m.exec(text.slice(0, leadOf(text)))?.[1];
}

/** Where the first line begins that is neither empty nor a comment. */
function leadOf(text: string): number {
  let at = 0;
  while (at < text.length && BLANK_LINE.test(text.slice(at, at + MAX_INDENT))) {
    const end = text.indexOf("\n", at);
    at = end < 0 ? text.length : end + 1;
  }
  return at;
}

const MAX_INDENT = 200;
const BLANK_LINE = /^[ \t]*(#|\n|$)/;

export function linesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
