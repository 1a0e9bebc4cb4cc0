import { type Document, isNode, isScalar, LineCounter, parseAllDocuments, type Tags } from "yaml";
import { isRecord } from "../../../base/is-record.ts";

/** Where something was read, in the words of an error. */
export interface Place {
  readonly file: string;
  /** From 1 on, of a file that has several. */
  readonly document: number;
  /** The line of what a path leads to, or of the nearest thing above it that was written. */
  lineOf(path: readonly string[]): number;
}

/** A Kubernetes object as a file has it. */
export interface LocatedObject {
  readonly object: Readonly<Record<string, unknown>>;
  readonly place: Place;
}

/** A document, and what is wrong with it. */
interface ReadDocument {
  readonly value: unknown;
  readonly place: Place;
  readonly fault?: string;
}

/** kubectl reads neither times nor numbers to the base 60; 0644 is a number to the base 8 for it, and `yes` is true. */
function likeKubectl(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === "string") return tag !== "timestamp";
    return tag.tag !== "tag:yaml.org,2002:timestamp" && !("format" in tag && tag.format === "TIME");
  });
}

/** Every document of a text that is YAML or JSON, as kubectl reads it; empty ones are left out. */
export function documentsIn(file: string, text: string): readonly ReadDocument[] {
  const lineCounter = new LineCounter();
  const all = parseAllDocuments(text, { version: "1.1", customTags: likeKubectl, lineCounter, logLevel: "error" });
  const documents: readonly Document[] = Array.isArray(all) ? all : [];
  return documents.flatMap((document, index) => {
    const { contents } = document;
    if (document.errors.length === 0 && (contents === null || (isScalar(contents) && contents.value === null)))
      return [];
    const [error] = document.errors;
    const place = placeOf(sourceOf(document) ?? file, index + 1, document, lineCounter);
    if (error !== undefined) {
      const line = error.linePos?.[0].line ?? 1;
      const fault = `${firstLine(error.message)}${templateWords(text)}`;
      return { value: undefined, place: { ...place, lineOf: () => line }, fault };
    }
    try {
      return { value: document.toJS({ maxAliasCount: 100 }) as unknown, place };
    } catch (thrown) {
      return { value: undefined, place, fault: firstLine(thrown instanceof Error ? thrown.message : String(thrown)) };
    }
  });
}

/** A template is no YAML, or YAML of another meaning: the parser's words alone do not lead there. */
export function templateWords(text: string): string {
  return text.includes("{{") ? "; {{ is of a template: render it first, or release a chart with --helm" : "";
}

function firstLine(text: string): string {
  if (text.startsWith("Maximum call stack size")) return "is nested too deep";
  return (text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

/** helm writes before each document from which template it is. */
function sourceOf({ commentBefore, contents }: Document): string | undefined {
  const comments = [commentBefore, isNode(contents) ? contents.commentBefore : undefined].join("\n");
  return /^ ?Source: (\S+)$/m.exec(comments)?.[1];
}

function placeOf(file: string, number: number, document: Document, lines: LineCounter): Place {
  return {
    file,
    document: number,
    lineOf(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range != null) return lines.linePos(node.range[0]).line;
      }
      return lines.linePos(document.contents?.range?.[0] ?? 0).line;
    },
  };
}

/** The objects of documents, those of lists each by itself. What is no object is passed to `refuse`. */
export function objectsOf(
  documents: readonly ReadDocument[],
  refuse: (place: Place, fault: string) => void,
): readonly LocatedObject[] {
  return documents.flatMap(({ value, place, fault }) => {
    if (fault !== undefined || !isRecord(value)) {
      refuse(place, fault ?? "is no Kubernetes object");
      return [];
    }
    if (!String(value.kind).endsWith("List") || !Array.isArray(value.items)) return { object: cleaned(value), place };
    return value.items.flatMap((item: unknown, index) => {
      const own = { ...place, lineOf: (path: readonly string[]) => place.lineOf(["items", String(index), ...path]) };
      if (isRecord(item)) return { object: cleaned(item), place: own };
      refuse(own, "is no Kubernetes object");
      return [];
    });
  });
}

/** Without the empty fields that generators write: they say nothing, and a release does not take them. */
function cleaned(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { status, metadata, ...rest } = object;
  const keepsStatus =
    status !== undefined && status !== null && !(isRecord(status) && Object.keys(status).length === 0);
  const known = isRecord(metadata)
    ? Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null))
    : metadata;
  return { ...rest, ...(metadata !== undefined && { metadata: known }), ...(keepsStatus && { status }) };
}
