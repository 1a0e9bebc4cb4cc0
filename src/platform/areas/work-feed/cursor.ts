import { createHmac, timingSafeEqual } from "node:crypto";
import type { After } from "./store.ts";

/** Where a reader of the feed stands. */
export interface FeedCursor {
  /** Of the database: another's transaction ids mean nothing here. */
  readonly epoch: string;
  readonly managerId: string;
  /** Changes not visible in this snapshot are new; null while the open work is still being walked. */
  readonly since: string | null;
  /** Set in the middle of a walk of more than one page: the snapshot to go on from when it ends, and the last row. */
  readonly walk?: { readonly until: string; readonly after: NonNullable<After> };
}

/** Signed, because a forged snapshot would be an SQL error. */
export function writeCursor(key: Uint8Array, cursor: FeedCursor): string {
  const text = Buffer.from(JSON.stringify(cursor)).toString("base64url");
  return `${text}.${mac(key, text)}`;
}

/** Undefined for anything that this feed has not written: the reader then starts from the open work (§14.4). */
export function readCursor(key: Uint8Array, cursor: string, managerId: string): FeedCursor | undefined {
  const [text = "", given = ""] = cursor.split(".", 2);
  const expected = Buffer.from(mac(key, text));
  const actual = Buffer.from(given);
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined;
  const parsed = JSON.parse(Buffer.from(text, "base64url").toString()) as FeedCursor;
  return parsed.managerId === managerId ? parsed : undefined;
}

function mac(key: Uint8Array, text: string): string {
  return createHmac("sha256", key).update(`work-feed ${text}`).digest("base64url").slice(0, 22);
}
