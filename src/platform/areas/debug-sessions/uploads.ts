import type { Db } from "../../database/db.ts";
import { holderOfKey } from "../../identity/api-keys/authenticate.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { PlatformError } from "../../kernel/errors.ts";
import type { KeptUpload, UploadRule } from "../../objects/upload-rule.ts";
import { heldBytes, sessionFileOf, writesEndAt } from "./files.ts";
import { sessionsOf } from "./store.ts";

/** The least that a file takes on the disk, and counts in its budget. */
const LEAST_BYTES = 4096;

/**
 * The rule for uploads of session files: the manager's key must still be valid and reach the session, which may have
 * ended at most a day ago. The file counts in the budget of the session's deployment group and is written once.
 */
export const sessionUpload: UploadRule = async (engine, { key, holder }) => {
  const { db, clock, budgets, metrics } = engine;
  const now = clock.wallNow();
  const { sessionId, name } = sessionFileOf(key);
  const principal = await holderOfKey(db, holder, now);
  const session = await sessionsOf(db, principal)
    .select("d.deployment_group_id")
    .where("s.id", "=", sessionId)
    .executeTakeFirst();
  if (session === undefined || now >= writesEndAt(session)) {
    throw new PlatformError("FORBIDDEN", { message: "the debug session's files cannot be written any more" });
  }
  const groupId = session.deployment_group_id;
  const transact = <T>(work: (db: Db) => Promise<T>): Promise<T> => {
    const signal = new AbortController().signal;
    return inTransaction(db, { readOnly: false, signal, onRetry: () => metrics.transactionRetried() }, work);
  };
  const put = (db: Db, bytes: number, stored: boolean) =>
    db
      .insertInto("session_files")
      .values({ session_id: sessionId, name, deployment_group_id: groupId, bytes, stored })
      .onConflict((row) => row.columns(["session_id", "name"]).doUpdateSet({ bytes, stored }))
      .execute();
  const kept: KeptUpload = {
    reserve: (bytes) =>
      transact(async (db) => {
        const found = await db
          .selectFrom("session_files")
          .select("stored")
          .where("session_id", "=", sessionId)
          .where("name", "=", name)
          .executeTakeFirst();
        if (found?.stored === true) throw new PlatformError("FILE_EXISTS");
        await put(db, Math.max(bytes, LEAST_BYTES), false);
        const held = await heldBytes(db, [groupId]);
        budgets.require("group-session-file-bytes", groupId, held.get(groupId) ?? 0);
      }),
    stored: (bytes) => transact(async (db) => void (await put(db, Math.max(bytes, LEAST_BYTES), true))),
    broken: () =>
      transact(async (db) => {
        const ours = db.deleteFrom("session_files").where("session_id", "=", sessionId).where("name", "=", name);
        await ours.where("stored", "=", false).execute();
      }),
  };
  return { seat: ["group-uploads", groupId], kept };
};
