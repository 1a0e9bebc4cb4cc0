import { isRecord } from "../../../base/is-record.ts";
import { DOUBLE, documentsIn as givenDocuments } from "../../kernel/given/documents.ts";

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
  /** What is read although it is likely a mistake, each with its place. */
  readonly doubts: readonly string[];
}

/** Every document of a text, each read when it is asked for; empty ones are left out. */
export function* documentsIn(file: string, text: string): Generator<ReadDocument, void> {
  for (const { number, value, fault, doubles, source, placeOf } of givenDocuments(text)) {
    const place = { file: source ?? file, document: number, lineOf: (path: readonly string[]) => placeOf(path).line };
    const doubts = doubles.map(({ line }) => `${file}:${line} ${DOUBLE}: the last one counts, as for kubectl`);
    yield { value, place, doubts, ...(fault !== undefined && { fault: `${fault.message}${templateWords(text)}` }) };
  }
}

/** A template is no YAML, or YAML of another meaning: the parser's words alone do not lead there. */
export function templateWords(text: string): string {
  return text.includes("{{") ? "; {{ is of a template: render it first, or release a chart with --helm" : "";
}

/** The objects of documents, those of lists each by itself. What is no object is passed to `refuse`. */
export function objectsOf(
  documents: Iterable<ReadDocument>,
  refuse: (place: Place, fault: string) => void,
): readonly LocatedObject[] {
  return [...documents].flatMap(({ value, place, fault }) => {
    if (fault !== undefined || !isRecord(value)) {
      refuse(place, fault ?? "is no Kubernetes object");
      return [];
    }
    if (!String(value.kind).endsWith("List") || !Array.isArray(value.items)) return { object: cleaned(value), place };
    // The API server leaves them out in a list of one kind.
    const kind = String(value.kind).slice(0, -"List".length);
    const own = kind === "" ? {} : { apiVersion: value.apiVersion, kind };
    return value.items.flatMap((item: unknown, index) => {
      const lineOf = (path: readonly string[]): number => place.lineOf(["items", String(index), ...path]);
      if (isRecord(item))
        return { object: cleaned(item.kind ? item : { ...item, ...own }), place: { ...place, lineOf } };
      refuse({ ...place, lineOf }, "is no Kubernetes object");
      return [];
    });
  });
}

/** Without the empty fields that generators write: they say nothing, and a release does not take them. */
function cleaned(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { status, metadata, ...rest } = object;
  const known = isRecord(metadata)
    ? Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isEmpty(value)))
    : metadata;
  return { ...rest, ...(metadata !== undefined && { metadata: known }), ...(!saysNothing(status) && { status }) };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object") return value === undefined || value === "" || value === 0;
  return value === null || Object.keys(value).length === 0;
}

/** A status as a generator writes it, of which each value is Go's zero: `{loadBalancer: {}}`, `{replicas: 0}`. */
function saysNothing(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return isEmpty(value) || value === false;
  return Object.values(value).every(saysNothing);
}
