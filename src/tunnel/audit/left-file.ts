import { readFile } from "node:fs/promises";
import { type ChainEnd, intactPart } from "../../debug-link/audit-chain.ts";
import type { SpoolFiles } from "../spool/spool-share.ts";

/** Where the session's object has the chain, and which tunnel wrote that there. */
export interface Told extends ChainEnd {
  readonly instance: string;
}

/** What is known of a session's audit before its file is looked at. */
export interface Known {
  /** Of a chain without a line; undefined: the session's object is not at hand. */
  readonly start?: ChainEnd | undefined;
  /** Undefined: nothing was told yet. */
  readonly told?: Told | undefined;
}

/** The file in the spool is not the one that the tunnel wrote. */
export class AuditMismatch extends Error {
  override readonly name = "AuditMismatch";
}

/** What a process that ended has left of a session's audit. */
export interface LeftFile {
  /** Undefined: no whole record. */
  readonly end: ChainEnd | undefined;
  readonly isClosed: boolean;
  /** Whole records, and what a write that was cut off has left behind them. */
  readonly bytes: number;
  readonly tornBytes: number;
}

const LINE_FEED = 10;

/**
 * Compares the file with what the cluster was told before the session goes on with it: a file that was changed in
 * between would otherwise become a part of the chain. A file of an earlier tunnel, after which another one with a spool
 * of its own had the session, is put away: the record that the next file begins with names what is missing in it.
 *
 * @returns undefined: there is no file to go on with.
 * @throws AuditMismatch, and the file is set aside, when it is not as the tunnel left it; Error for a file that is there
 *   and cannot be read: taken for an empty one, it would get a second beginning.
 */
export async function leftFile(name: string, { start, told }: Known, spool: SpoolFiles): Promise<LeftFile | undefined> {
  const text = await contentOf(spool.path(name));
  if (text.length === 0) return undefined;
  const { end, bytes, isClosed, begins, writer, holds } = intactPart(text, told);
  const asideFor = (why: string): never => {
    spool.setAside(name);
    throw new AuditMismatch(`the audit file ${name} ${why}`);
  };
  // A write that was cut off leaves a part of a line, and no line feed.
  if (text.includes(LINE_FEED, bytes)) return asideFor(`was changed after its record ${end?.records ?? 0}`);
  if (end !== undefined && start !== undefined && begins !== start.head) return asideFor("is of another session");
  if (end !== undefined && !holds) {
    if (writer === told?.instance) return asideFor("does not hold the records that the cluster was told of");
    spool.done(name);
    return undefined;
  }
  return { end, isClosed, bytes, tornBytes: text.length - bytes };
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}
