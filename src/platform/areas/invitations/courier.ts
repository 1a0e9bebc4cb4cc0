import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log.ts";
import type { Db } from "../../database/db.ts";
import type { Waker } from "../../kernel/events/waker.ts";
import type { Mail, Mailer } from "../../ports/mailer.ts";
import { type Invitation, inviteUrlOf, type LinkConfig } from "./store.ts";

/** The name under which the courier sleeps. A request that leaves a mail to send wakes it. */
export const COURIER = "courier";

/** The longest delay after a lost wake-up. */
const LOOK_EVERY_MS = 30_000;
/**
 * When a replica stops while it sends, another one may send the mail after this time. The mail may then arrive twice.
 */
const CLAIM_MS = 120_000;

export interface CourierParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly waker: Waker;
  readonly mailer: Mailer;
  readonly config: LinkConfig;
}

/**
 * Starts the courier.
 * @returns a function that stops it. If a mail could not be sent by then, another replica sends it.
 */
export function startCourier(parts: CourierParts): () => Promise<void> {
  const ending = new AbortController();
  const carrying = carryMails(parts, ending.signal);
  return async () => {
    ending.abort();
    await carrying;
  };
}

/**
 * Sends the mails of invitations, one at a time, until `signal`. It works outside of requests, because their
 * transactions may run twice and must not wait for a mail server. A failed mail is not retried: an admin can use
 * `resend`.
 */
async function carryMails(parts: CourierParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const slept = parts.waker.sleep(COURIER, LOOK_EVERY_MS, signal);
    try {
      for (let sent = true; sent && !signal.aborted; ) sent = await carryOne(parts, signal);
    } catch (error) {
      if (!signal.aborted) parts.log.error({ err: error }, "courier failed");
    }
    await slept;
  }
}

/** False when there is nothing to send. */
async function carryOne(parts: CourierParts, signal: AbortSignal): Promise<boolean> {
  const { db, clock, log, mailer, config } = parts;
  const claimed = await claimNext(db, clock.wallNow());
  if (claimed === undefined) return false;
  const { row, until } = claimed;
  let delivered = true;
  try {
    await mailer.send(await mailOf(db, row, config), signal);
  } catch (error) {
    // The platform is stopping: another replica, or the next start, sends the mail.
    if (signal.aborted) return false;
    delivered = false;
    log.warn({ err: error, workspaceId: row.workspace_id, invitationId: row.id }, "invitation not sent");
  }
  // Matches no row when a resend has replaced the claim: its mail is still to be sent.
  await db
    .updateTable("invitations")
    .set({
      delivery_status: delivered ? "sent" : "failed",
      delivery_until: null,
      ...(delivered && { last_sent_at: clock.wallNow() }),
    })
    .where("id", "=", row.id)
    .where("delivery_until", "=", until)
    .execute();
  return true;
}

async function claimNext(db: Db, now: Date): Promise<{ readonly row: Invitation; readonly until: Date } | undefined> {
  const until = new Date(now.getTime() + CLAIM_MS);
  const row = await db
    .updateTable("invitations")
    .set({ delivery_until: until })
    .where("id", "=", (eb) =>
      eb
        .selectFrom("invitations as i")
        .select("i.id")
        .where("i.delivery_status", "=", "pending")
        .where("i.accepted_at", "is", null)
        .where("i.revoked_at", "is", null)
        .where((is) => is.or([is("i.delivery_until", "is", null), is("i.delivery_until", "<=", now)]))
        .orderBy("i.created_at")
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .executeTakeFirst();
  return row && { row, until };
}

async function mailOf(db: Db, row: Invitation, config: LinkConfig): Promise<Mail> {
  const { workspace, inviter } = await db
    .selectFrom("workspaces as w")
    .leftJoin("users as u", (join) => join.on("u.id", "=", row.created_by))
    .select(["w.name as workspace", "u.name as inviter"])
    .where("w.id", "=", row.workspace_id)
    .executeTakeFirstOrThrow();
  const by = inviter === null ? "You are invited" : `${inviter} invites you`;
  return {
    to: row.email,
    subject: `Invitation to ${workspace}`,
    text: [
      `${by} to join the workspace ${workspace} as ${row.role.replace("workspace.", "")}.`,
      "",
      inviteUrlOf(row, config),
      "",
      `Sign in as ${row.email} to accept. The invitation ends at ${row.expires_at.toISOString()}.`,
      "If you do not know what this is about, ignore it: nothing happens.",
      "",
    ].join("\n"),
  };
}
