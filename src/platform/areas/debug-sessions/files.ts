import type { DebugSession } from "../../../contract/debug-sessions/debug-sessions.ts";
import type { Db } from "../../database/db.ts";
import type { DebugSessionRow } from "../../database/tables/debug-sessions.ts";
import type { Budgets } from "../../kernel/budgets/budgets.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";

/** The caller that reads a session, and where its files are stored. */
export interface Reader {
  readonly db: Db;
  readonly config: Pick<CallConfig, "objects">;
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
 * Signed addresses of a session's files. An address works without a credential, so only the manager gets the addresses
 * for uploads.
 */
export async function filesOf(
  row: DebugSessionRow,
  { config: { objects }, principal, now }: Reader,
  writable: ReadonlySet<string>,
): Promise<SessionFiles> {
  if (objects === undefined) return {};
  const soon = new Date(now.getTime() + ADDRESS_MS);
  const last = writesEndAt(row);
  const signed = FILES.map(async (name) => {
    const key = keyOf(row, name);
    const terms = { contentType: FILE_CONTENT_TYPE, now, maxBytes: MAX_FILE_BYTES, holder: principal.id };
    const readUrl = await objects.downloadUrl(key, { contentType: FILE_CONTENT_TYPE, now, expiresAt: soon });
    const writes = writable.has(key);
    const writeUrl = writes ? await objects.uploadUrl(key, { ...terms, expiresAt: last < soon ? last : soon }) : "";
    return [name, { readUrl, writeUrl }] as const;
  });
  try {
    return Object.fromEntries(await Promise.all(signed));
  } catch {
    // The store's credentials are missing, so nothing can be signed. Stopping a session must work without them.
    return {};
  }
}

/**
 * The keys of files that the caller may still upload. Only a manager may, until a day after the session's end, each
 * file once, and none when the customer's budget of bytes is used up.
 */
export async function writableFiles(
  rows: readonly DebugSessionRow[],
  { db, config, principal, now, budgets }: Reader,
): Promise<ReadonlySet<string>> {
  const open = rows.filter((row) => now < writesEndAt(row));
  if (config.objects === undefined || principal.role !== "manager.runtime" || open.length === 0) return new Set();
  const ids = open.map(({ id }) => id);
  const owners = await db
    .selectFrom("debug_sessions as s")
    .innerJoin("deployments as d", "d.id", "s.deployment_id")
    .select(["s.id", "d.deployment_group_id"])
    .where("s.id", "in", ids)
    .execute();
  const groupOf = new Map(owners.map(({ id, deployment_group_id }) => [id, deployment_group_id]));
  const held = await heldBytes(db, [...new Set(groupOf.values())]);
  const stored = await db
    .selectFrom("session_files")
    .select(["session_id", "name"])
    .where("session_id", "in", ids)
    .where("stored", "=", true)
    .execute();
  const written = new Set(stored.map(({ session_id, name }) => `${session_id}/${name}`));
  const withRoom = open.filter(({ id }) =>
    budgets.hasRoom("group-session-file-bytes", held.get(groupOf.get(id) ?? "") ?? 0),
  );
  return new Set(
    withRoom.flatMap((row) =>
      FILES.filter((name) => !written.has(`${row.id}/${name}`)).map((name) => keyOf(row, name)),
    ),
  );
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
