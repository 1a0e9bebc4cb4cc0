import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";

/** The types of records in a session's audit file. */
export const AUDIT_TYPES = ["open", "request", "denied", "stream", "attach", "detach", "close"] as const;
export type AuditType = (typeof AUDIT_TYPES)[number];

/** Where a chain stands: what the next line must name. */
export interface ChainEnd {
  /** Lines so far. */
  readonly records: number;
  /** SHA-256 of the last line, hex; before the first one, what it must name. */
  readonly head: string;
}

export interface AuditReport {
  readonly records: number;
  readonly head: string;
  /** Whether the last record is the session's end. */
  readonly isClosed: boolean;
  /** Records after the one that was told: a tunnel that died could not tell of them. 0 without a head. */
  readonly beyond: number;
  /** Empty: the file is whole. At most {@link MOST_PROBLEMS}. */
  readonly problems: readonly { readonly line: number; readonly words: string }[];
}

const MOST_PROBLEMS = 20;
const VERSION = 1;

/** The chain of a session before its first record: bound to this very object of the cluster, and to what was asked for. */
export function chainStart(uid: string, spec: object): ChainEnd {
  return { records: 0, head: sha256(`${uid}\0${canonicalize(spec) ?? ""}`) };
}

/** The next line, without its line feed, and where the chain stands after it. */
export function chainLine(
  { records, head }: ChainEnd,
  at: Date,
  type: AuditType,
  fields: Readonly<Record<string, unknown>>,
): { readonly line: string; readonly end: ChainEnd } {
  const record = { ...fields, v: VERSION, seq: records, at: at.toISOString(), prev: head, type };
  // Through JSON once, so that what has no place in it (undefined) is left out the same way as when it is read.
  const line = canonicalize(JSON.parse(JSON.stringify(record))) ?? "";
  return { line, end: { records: records + 1, head: sha256(line) } };
}

/** The beginning of a file whose records follow from each other. */
export interface IntactPart {
  /** Where the chain stands there; undefined: the file has no record. */
  readonly end: ChainEnd | undefined;
  readonly bytes: number;
  /** Whether its last record is an end of the session. */
  readonly isClosed: boolean;
  /** What its first record names as the one before: it says of which session the file is. */
  readonly begins: string | undefined;
  /** The tunnel that began or went on with the file last. */
  readonly writer: string | undefined;
  /** Whether the line that was told stands where it was told. */
  readonly holds: boolean;
}

/** @param told where the cluster has the chain; it must stand in the file. */
export function intactPart(text: Buffer, told?: ChainEnd): IntactPart {
  let end: ChainEnd | undefined;
  let [isClosed, holds] = [false, told === undefined || told.records === 0];
  let [begins, writer]: (string | undefined)[] = [];
  let from = 0;
  for (let cut = text.indexOf(10); cut !== -1; cut = text.indexOf(10, from)) {
    const bytes = text.subarray(from, cut);
    const line = bytes.toString("utf8");
    const record = isUtf8(bytes) ? recordOf(line) : undefined;
    if (record === undefined || record.seq !== (end?.records ?? 0)) break;
    if (record.prev !== (end === undefined ? startOf(record) : end.head)) break;
    end = { records: record.seq + 1, head: sha256(line) };
    begins ??= record.prev;
    if (record.type === "open" && typeof record.instance === "string") writer = record.instance;
    if (end.records === told?.records) holds = end.head === told.head;
    isClosed = record.type === "close";
    from = cut + 1;
  }
  return { end, bytes: from, isClosed, begins, writer, holds };
}

/**
 * Finds every edit, gap, swap and cut of an audit file.
 *
 * @param head what the cluster or the platform says that the last line's SHA-256 is; without it a cut at the end is found
 *   only by the missing record of the session's end. A file that has this line and goes on is not damaged: see `beyond`.
 */
export function verifyAudit(text: Buffer, head?: string): AuditReport {
  const problems: { line: number; words: string }[] = [];
  const found = (line: number, words: string): void => {
    if (problems.length < MOST_PROBLEMS) problems.push({ line, words });
  };
  // Other bytes would be read as the same text as the replacement character's own.
  if (!isUtf8(text)) found(1, "or one after it has bytes that are no text");
  const lines = text.toString("utf8").split("\n");
  if (lines.pop() !== "") found(lines.length + 1, "the last line is torn");
  const heads: string[] = [];
  let prev: string | undefined;
  let last: AuditRecord | undefined;
  lines.forEach((line, seq) => {
    const record = recordOf(line);
    if (record === undefined) found(seq + 1, "is no record as the tunnel writes them");
    else {
      if (record.seq !== seq)
        found(seq + 1, `has number ${record.seq} instead of ${seq}: records are missing or moved`);
      const start = seq === 0 ? startOf(record) : prev;
      if (record.prev !== start) found(seq + 1, "does not follow from the line before: one of them was changed");
      const missing = missingBefore(record, heads);
      if (missing !== undefined) found(seq + 1, `${missing} records before this are missing or changed`);
    }
    last = record;
    prev = sha256(line);
    heads.push(prev);
  });
  if (prev === undefined) found(1, "the file has no record");
  const isClosed = last?.type === "close";
  if (head === undefined && !isClosed) found(lines.length, "the record of the session's end is missing");
  const at = head === undefined ? lines.length - 1 : heads.lastIndexOf(head);
  if (head !== undefined && at === -1)
    found(lines.length, "is not the last record that was told: the end is missing or was changed");
  const beyond = at === -1 ? 0 : lines.length - 1 - at;
  return { records: lines.length, head: prev ?? "", isClosed, beyond, problems };
}

interface AuditRecord {
  readonly seq: number;
  readonly prev: string;
  readonly type: AuditType;
  readonly uid?: unknown;
  readonly spec?: unknown;
  readonly instance?: unknown;
  readonly before?: unknown;
}

/** Undefined for a line that the tunnel would not have written, byte for byte. */
function recordOf(line: string): AuditRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && canonicalize(value) === line ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is AuditRecord {
  if (typeof value !== "object" || value === null) return false;
  const { v, seq, prev, type } = value as Readonly<Record<string, unknown>>;
  if (v !== VERSION || typeof seq !== "number" || typeof prev !== "string") return false;
  return AUDIT_TYPES.some((each) => each === type);
}

/** A tunnel that goes on with a session says where the cluster had its chain: that line must be in this file. */
function missingBefore({ type, before }: AuditRecord, heads: readonly string[]): number | undefined {
  if (type !== "open" || typeof before !== "object" || before === null) return undefined;
  const { records, head } = before as Readonly<Record<string, unknown>>;
  if (typeof records !== "number" || records === 0) return undefined;
  return heads[records - 1] === head ? undefined : records;
}

function startOf({ uid, spec }: AuditRecord): string | undefined {
  if (typeof uid !== "string" || typeof spec !== "object" || spec === null) return undefined;
  return chainStart(uid, spec).head;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
