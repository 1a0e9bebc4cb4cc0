import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { Db } from "../../database/db.ts";
import type { DebugSessionRow } from "../../database/tables/debug-sessions.ts";
import type { Budgets } from "../../kernel/budgets/budgets.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { isInvolved } from "./store.ts";

/** The caller that reads a session, and where its files are stored. */
export interface Reader {
  readonly db: Db;
  readonly config: Pick<CallConfig, "objects" | "baseUrl">;
  readonly budgets: Budgets;
  readonly principal: Principal;
  readonly now: Date;
}

type SessionFiles = DebugSession["presignedUrls"];

/** The files that a manager may store for a session; the contract leaves the names to the platform (§6). */
const FILES = ["audit", "recording"] as const;
/** Not a type that browsers render: a manager's file must not be shown as a page. */
const FILE_CONTENT_TYPE = "application/octet-stream";
const MAX_FILE_BYTES = 100 * 1024 ** 2;

const ADDRESS_MS = 15 * 60_000;
/** A manager sends a session's files after its end, and tries again for a day while it cannot reach the platform. */
const WRITE_AFTER_END_MS = 24 * 3_600_000;

/** Counted from the actual end of the session, which may be earlier than planned. */
export function writesEndAt({ ended_at, expires_at }: Pick<DebugSessionRow, "ended_at" | "expires_at">): Date {
  return new Date((ended_at ?? expires_at).getTime() + WRITE_AFTER_END_MS);
}

function keyOf(row: DebugSessionRow, name: string): string {
  return `debug-sessions/${row.project_id}/${row.id}/${name}`;
}

export function sessionFileOf(key: string): { readonly sessionId: string; readonly name: string } {
  const [, , sessionId = "", name = ""] = key.split("/");
  return { sessionId, name };
}

/**
 * Signed addresses of a session's files, for the answer that is about this session alone. An address works without a
 * credential, so only the manager gets those for uploads, and only who may attach the recording's: a terminal shows more
 * than the audit tells.
 */
export async function filesOf(row: DebugSessionRow, reader: Reader): Promise<SessionFiles> {
  const { principal, now } = reader;
  const { objects } = reader.config;
  if (objects === undefined) return {};
  const soon = new Date(now.getTime() + ADDRESS_MS);
  const last = writesEndAt(row);
  const expiresAt = last < soon ? last : soon;
  const writable = await writableFiles(row, reader);
  const readable = FILES.filter((name) => name === "audit" || isInvolved(row, principal));
  // Both are addresses always (§6): of what the caller may not do, one that the platform serves to nobody.
  const refused = `${reader.config.baseUrl}/v1/debug-sessions/${row.id}/not-signed`;
  const signed = FILES.map(async (name) => {
    const key = keyOf(row, name);
    const terms = { contentType: FILE_CONTENT_TYPE, now };
    const upload = { ...terms, expiresAt, maxBytes: MAX_FILE_BYTES, holder: principal.id };
    const readUrl = readable.includes(name) ? await objects.downloadUrl(key, { ...terms, expiresAt: soon }) : refused;
    const writeUrl = writable.includes(name) ? await objects.uploadUrl(key, upload) : refused;
    return [name, { readUrl, writeUrl }] as const;
  });
  try {
    return Object.fromEntries(await Promise.all(signed));
  } catch {
    // The store's credentials are missing, so nothing can be signed. Reading a session must work without them.
    return {};
  }
}

/**
 * The files that the caller may still upload. Only a manager may, until a day after the session's end, each file once,
 * and none when the customer's budget of bytes is used up.
 */
async function writableFiles(
  row: DebugSessionRow,
  { db, principal, now, budgets }: Reader,
): Promise<readonly string[]> {
  if (principal.role !== "manager.runtime" || now >= writesEndAt(row)) return [];
  const { deployment_group_id: group } = await db
    .selectFrom("deployments")
    .select("deployment_group_id")
    .where("id", "=", row.deployment_id)
    .executeTakeFirstOrThrow();
  const held = await heldBytes(db, [group]);
  if (!budgets.hasRoom("group-session-file-bytes", held.get(group) ?? 0)) return [];
  const stored = await db
    .selectFrom("session_files")
    .select("name")
    .where("session_id", "=", row.id)
    .where("stored", "=", true)
    .execute();
  return FILES.filter((name) => !stored.some((each) => each.name === name));
}

/** Bytes of the files of these groups' sessions, including uploads in progress. A group without files has no entry. */
export async function heldBytes(db: Db, groupIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom("session_files")
    .select((eb) => ["deployment_group_id", eb.fn.sum<string>("bytes").as("held")])
    .where("deployment_group_id", "in", groupIds)
    .groupBy("deployment_group_id")
    .execute();
  return new Map(rows.map(({ deployment_group_id, held }) => [deployment_group_id, Number(held)]));
}

/** The given keys whose session still has a record. */
export async function namedSessionFiles(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const sought = keys.map((key) => sessionFileOf(key).sessionId);
  const rows = await db.selectFrom("debug_sessions").select("id").where("id", "in", sought).execute();
  const ids = new Set(rows.map(({ id }) => id));
  return new Set(keys.filter((key) => ids.has(sessionFileOf(key).sessionId)));
}
