import { type Document, isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from "yaml";
import { jsonValuesIn } from "./json-values.ts";
import { NodeProblem, Repeats, valueIn } from "./node-values.ts";
import { linesIn, type Piece, piecesOf, refusedIn, sourceOf } from "./pieces.ts";

/** Both count from 1. */
export interface PlaceInText {
  readonly line: number;
  readonly column: number;
}

/** Of what `doubles` names. */
export const DOUBLE = "is a key that its map has already";

/** A document of a text that a person gave. */
export interface GivenDocument {
  /** From 1 on. */
  readonly number: number;
  /** Undefined with a fault. */
  readonly value: unknown;
  readonly fault: (PlaceInText & { readonly message: string }) | undefined;
  /** Keys that a map has twice: the last one counts, and kubectl says nothing. */
  readonly doubles: readonly PlaceInText[];
  /** What helm writes before it: the template that it is from. */
  readonly source: string | undefined;
  /** Of what a path leads to, or of the nearest thing above it that was written. */
  placeOf(path: readonly string[]): PlaceInText;
  /** A scalar as it is written, without quotes. Undefined: there is none at this path. */
  textAt(path: readonly string[]): string | undefined;
}

/**
 * Every document of a text as kubectl reads it: YAML 1.1 between lines of `---`, and JSON objects one after the other. Empty ones are
 * left out. Each is read when it is asked for.
 */
export function* documentsIn(text: string): Generator<GivenDocument, void> {
  const repeats = new Repeats();
  let number = 0;
  for (const piece of piecesOf(text)) {
    const { values, end } = jsonValuesIn(piece.text);
    let lines = piece.lines;
    let counted = 0;
    for (const { value, start, end: behind } of values) {
      number += 1;
      lines += linesIn(piece.text.slice(counted, start));
      counted = start;
      const own = { text: piece.text.slice(start, behind), lines };
      // Only what is wrong asks where it is.
      let found: Lookup | undefined;
      const lookup = (): Lookup => (found ??= new Lookup(new Parsed(own), 0));
      const placeOf = (path: readonly string[]): PlaceInText => lookup().placeOf(path);
      const textAt = (path: readonly string[]): string | undefined => lookup().textAt(path);
      yield { number, value, fault: undefined, doubles: [], source: undefined, placeOf, textAt };
    }
    const rest = { text: piece.text.slice(end), lines: piece.lines + linesIn(piece.text.slice(0, end)) };
    if (values.length > 0 && rest.text.trim() === "") continue;
    for (const document of yamlIn(rest, repeats)) {
      number += 1;
      if (document !== undefined) yield { number, ...document };
    }
  }
}

/** Undefined: an empty one. */
function* yamlIn(piece: Piece, repeats: Repeats): Generator<Omit<GivenDocument, "number"> | undefined> {
  const refused = refusedIn(piece);
  if (refused !== undefined) {
    yield { ...faulty({ line: refused.line, column: 1 }, refused.message), source: undefined };
    return;
  }
  const parsed = new Parsed(piece);
  if (parsed.documents.length === 0) yield undefined;
  for (const [index, document] of parsed.documents.entries()) {
    const source = index === 0 ? sourceOf(piece) : undefined;
    try {
      const [error] = document.errors;
      if (error !== undefined) throw new NodeProblem(error.pos[0], error.message);
      const { value, doubles } = valueIn(document, parsed.text, repeats);
      const lookup = new Lookup(parsed, index);
      const found = { placeOf: lookup.placeOf.bind(lookup), textAt: lookup.textAt.bind(lookup) };
      const twice = doubles.map((offset) => parsed.placeAt(offset));
      yield value === null ? undefined : { value, fault: undefined, doubles: twice, source, ...found };
    } catch (error) {
      const place = error instanceof NodeProblem ? parsed.placeAt(error.offset) : { line: piece.lines + 1, column: 1 };
      yield { ...faulty(place, reasonOf(error)), source };
    }
  }
}

function faulty(place: PlaceInText, message: string): Omit<GivenDocument, "number" | "source"> {
  const found = { placeOf: () => place, textAt: () => undefined };
  return { value: undefined, fault: { ...place, message }, doubles: [], ...found };
}

class Parsed {
  readonly text: string;
  readonly documents: readonly Document[];
  readonly #before: number;
  readonly #lines = new LineCounter();

  constructor(piece: Piece) {
    this.text = piece.text;
    this.#before = piece.lines;
    const all = parseAllDocuments(this.text, {
      // What a scalar is says kubectl's reader, not this one's schema.
      ...{ version: "1.1", schema: "failsafe", merge: false, resolveKnownTags: false, uniqueKeys: false },
      ...{ strict: false, prettyErrors: false, logLevel: "error", lineCounter: this.#lines },
    });
    this.documents = Array.isArray(all) ? all : [];
  }

  placeAt(offset: number): PlaceInText {
    const { line, col } = this.#lines.linePos(offset);
    return { line: this.#before + line, column: col };
  }
}

class Lookup {
  readonly #parsed: Parsed;
  readonly #root: Node | null;

  constructor(parsed: Parsed, index: number) {
    this.#parsed = parsed;
    this.#root = parsed.documents[index]?.contents ?? null;
  }

  placeOf(path: readonly string[]): PlaceInText {
    return this.#parsed.placeAt(this.#find(path).offset);
  }

  textAt(path: readonly string[]): string | undefined {
    const { node, isWhole } = this.#find(path);
    return isWhole && isScalar(node) ? node.source : undefined;
  }

  #find(path: readonly string[]): { readonly node: unknown; readonly offset: number; readonly isWhole: boolean } {
    let node: unknown = this.#root;
    let offset = this.#root?.range?.[0] ?? 0;
    for (const name of path) {
      if (isMap(node)) {
        const pair = node.items.findLast(
          (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === name,
        );
        if (pair === undefined) return { node, offset, isWhole: false };
        offset = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
        node = pair.value;
      } else if (isSeq(node)) {
        const item: unknown = node.items[Number(name)];
        if (!isNode(item)) return { node, offset, isWhole: false };
        offset = item.range?.[0] ?? offset;
        node = item;
      } else return { node, offset, isWhole: false };
    }
    return { node, offset, isWhole: true };
  }
}

/** What else is at a place that the parser does not expect. */
const HINTS: readonly (readonly [words: RegExp, hint: string])[] = [
  [/^Missing closing ['"]|sufficiently indented/, "; each further line of it is indented further than its key"],
  [/^Block collections are not allowed/, "; a lone - belongs in quotes there"],
  [/tab/i, "; YAML is indented with spaces"],
];

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The parser and the reader go down by calls.
  if (error.message.startsWith("Maximum call stack")) return "is nested too deep";
  return `${error.message}${HINTS.find(([words]) => words.test(error.message))?.[1] ?? ""}`;
}
