import { INVITATION_MS } from "../../../contract/workspaces/invitations.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import type { InvitationRow } from "../../database/tables/invitations.ts";
import { isMember, normalEmail } from "../../identity/users/store.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import { invalidTransition, notFound, PlatformError } from "../../kernel/errors.ts";
import { ALPHANUMERIC, newId, randomText } from "../../kernel/ids.ts";
import { seal } from "../../kernel/sealed.ts";
import { hashOf } from "../../kernel/secret-hash.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { COURIER } from "./courier.ts";
import { BY_HAND, NEXT, statusOf } from "./state.ts";
import { type Invitation, invitationsOf, pendingOf, updateInvitation } from "./store.ts";

/** Limits how often the platform sends mail to an address whose owner has not asked for it. */
const RESEND_EVERY_MS = 60_000;

type Context = Pick<Call, "db" | "now" | "workspaceId" | "principal" | "config" | "wake" | "budgets">;

/** @throws ALREADY_MEMBER, INVITATION_EXISTS; VALIDATION_ERROR beyond one hundred pending ones. */
export async function invite(call: Context, address: string, role: WorkspaceRole): Promise<Invitation> {
  const { db, now, workspaceId } = call;
  const email = normalEmail(address);
  if (await isMember(db, workspaceId, email)) throw new PlatformError("ALREADY_MEMBER");
  const pending = await pendingOf(db, workspaceId, now).execute();
  if (pending.some((row) => row.email === email)) throw new PlatformError("INVITATION_EXISTS");
  call.budgets.require("workspace-invitations", workspaceId, pending.length + 1);
  const row = {
    id: newId("winv"),
    workspace_id: workspaceId,
    email,
    role,
    ...mintToken(call.config),
    created_by: inviterOf(call.principal),
    created_at: now,
    expires_at: new Date(now.getTime() + INVITATION_MS),
    accepted_at: null,
    revoked_at: null,
    ...toDeliver(call),
    last_sent_at: null,
    resent_at: null,
  } satisfies InvitationRow;
  await db.insertInto("invitations").values(row).execute();
  return row;
}

/** Extends the same token by seven days. @throws INVALID_STATE_TRANSITION; RATE_LIMITED within a minute. */
export async function resend(call: Context, id: string): Promise<Invitation> {
  const { db, now } = call;
  const row = await getInvitation(call, id);
  refuseEnded(row, "pending", now);
  const waitMs = row.resent_at === null ? 0 : row.resent_at.getTime() + RESEND_EVERY_MS - now.getTime();
  if (waitMs > 0) {
    const message = "an invitation is sent again at most once a minute";
    throw new PlatformError("RATE_LIMITED", { message, retryAfterSeconds: Math.ceil(waitMs / 1000) });
  }
  const expires_at = new Date(now.getTime() + INVITATION_MS);
  return updateInvitation(db, row.id, { expires_at, resent_at: now, ...toDeliver(call) });
}

/** Revoking a revoked invitation changes nothing. @throws INVALID_STATE_TRANSITION when it was accepted. */
export async function revokeInvitation(call: Context, id: string): Promise<void> {
  const row = await getInvitation(call, id);
  if (row.revoked_at !== null) return;
  refuseEnded(row, "revoked", call.now);
  await updateInvitation(call.db, row.id, { revoked_at: call.now });
}

async function getInvitation({ db, workspaceId }: Context, id: string): Promise<Invitation> {
  const row = await invitationsOf(db, workspaceId).where("i.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("invitation");
  return row;
}

function refuseEnded(row: Invitation, to: "pending" | "revoked", now: Date): void {
  const from = statusOf(row, now);
  if (!NEXT[from].includes(to)) throw invalidTransition(from, to, NEXT[from]);
}

/** The courier sends pending mails. Without a mail server nothing is sent and nothing has failed: the address is passed on by hand. */
function toDeliver({ config, wake }: Context): Pick<InvitationRow, "delivery_status" | "delivery_until"> {
  if (!config.sendsMail) return { delivery_status: "pending", delivery_until: BY_HAND };
  wake(COURIER);
  return { delivery_status: "pending", delivery_until: null };
}

/**
 * A token that is enough to accept: 256 random bits as 43 letters and digits, because a command line takes what begins with
 * a dash for an option. Stored as its hash, and sealed.
 */
export function mintToken({ sealingKey }: Pick<CallConfig, "sealingKey">) {
  const token = randomText(43, ALPHANUMERIC);
  return { token_hash: hashOf(token), sealed_token: seal(sealingKey, token) };
}

export function inviterOf(principal: Principal): string | null {
  return principal.kind === "user" ? principal.id : null;
}
