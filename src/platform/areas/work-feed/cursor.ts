import { createHmac, timingSafeEqual } from "node:crypto";
import type { After } from "./store.ts";

/** A reader's position in the feed. */
export interface FeedCursor {
  /** Id of the database: transaction ids of another database have no meaning here. */
  readonly epoch: string;
  readonly managerId: string;
  /** Changes not visible in this snapshot are new; null while the reader still pages through the open work. */
  readonly since: string | null;
  /** Set within a walk over several pages: the snapshot to continue from after the walk, and the last row. */
  readonly walk?: { readonly until: string; readonly after: NonNullable<After> };
}

/** Signed, because a forged snapshot would cause an SQL error. */
export function writeCursor(key: Uint8Array, cursor: FeedCursor): string {
  const text = Buffer.from(JSON.stringify(cursor)).toString("base64url");
  return `${text}.${mac(key, text)}`;
}

/** Undefined for a cursor that this feed did not write: the reader then starts with the open work (§14.4). */
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
