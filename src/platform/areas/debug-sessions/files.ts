import type { DebugSession } from "../../../contract/debug-sessions.ts";
import type { CallConfig } from "../../config.ts";
import type { Db } from "../../database.ts";
import type { Principal } from "../../kernel/principal.ts";
import type { ObjectStore } from "../../objects/object-store.ts";
import type { DebugSessionRow } from "./store.ts";

/** Who reads a session, and where its files lie. */
export interface Reader {
  readonly config: Pick<CallConfig, "objects">;
  readonly principal: Principal;
  readonly now: Date;
}

type SessionFiles = DebugSession["presignedUrls"];

/** What a manager may keep of a session; the contract leaves the names to us (§6). */
const FILES = ["audit", "recording"] as const;
/** Managers write what they like: nobody is to take it for a page. */
const FILE_CONTENT_TYPE = "application/octet-stream";
const MAX_FILE_BYTES = 100 * 1024 ** 2;

const READ_MS = 15 * 60_000;
/** What a tunnel leaves behind is sent after its end. */
const WRITE_AFTER_END_MS = 3_600_000;

/** Addresses of a session's files. Whoever has one needs no credential, so only the manager gets those that write. */
export async function filesOf(row: DebugSessionRow, { config, principal, now }: Reader): Promise<SessionFiles> {
  const { objects } = config;
  if (objects === undefined) return {};
  const writes = principal.role === "manager.runtime";
  const signed = FILES.map(async (name) => {
    const key = `debug-sessions/${row.project_id}/${row.id}/${name}`;
    const expiresAt = new Date(now.getTime() + READ_MS);
    const readUrl = await objects.downloadUrl(key, { contentType: FILE_CONTENT_TYPE, now, expiresAt });
    return [name, { readUrl, writeUrl: writes ? await writeUrl(objects, key, row) : "" }] as const;
  });
  try {
    return Object.fromEntries(await Promise.all(signed));
  } catch {
    // Without the store's credentials there is nothing to sign with; to stop a session must not depend on them.
    return {};
  }
}

/** Signed as of the session's beginning: the same at each read, it ends with the session and not with the reading. */
function writeUrl(objects: ObjectStore, key: string, row: DebugSessionRow): Promise<string> {
  return objects.uploadUrl(key, {
    contentType: FILE_CONTENT_TYPE,
    maxBytes: MAX_FILE_BYTES,
    now: row.created_at,
    expiresAt: new Date(row.expires_at.getTime() + WRITE_AFTER_END_MS),
  });
}

/** Of keys of session files: those of sessions that are still on record. */
export async function namedSessionFiles(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const idOf = (key: string): string => key.split("/")[2] ?? "";
  const rows = await db.selectFrom("debug_sessions").select("id").where("id", "in", keys.map(idOf)).execute();
  const ids = new Set(rows.map(({ id }) => id));
  return new Set(keys.filter((key) => ids.has(idOf(key))));
}
