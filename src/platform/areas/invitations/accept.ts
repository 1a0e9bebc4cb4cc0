import type { AcceptedInvitation, InvitationPreview } from "../../../contract/workspaces/invitations.ts";
import type { Db } from "../../database/db.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import { findRole, putMember } from "../../identity/users/store.ts";
import type { Call } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { hashOf } from "../../kernel/secret-hash.ts";
import type { Person, User } from "../../kernel/tenancy/principal.ts";
import { previewStateOf } from "./state.ts";

type Context = Pick<Call, "db" | "now">;

/** The invitation or link of a token, with the names for its page. */
interface Opened {
  readonly kind: "email" | "link";
  readonly id: string;
  /** Null for links, which any user may accept. */
  readonly email: string | null;
  readonly role: WorkspaceRole;
  readonly accepted_at: Date | null;
  readonly revoked_at: Date | null;
  readonly expires_at: Date;
  readonly workspace_id: string;
  readonly workspace_name: string;
  readonly logo_url: string | null;
  readonly inviter_name: string | null;
  readonly inviter_image: string | null;
}

/** @throws NOT_FOUND. Ended invitations are shown too, with their state. */
export async function preview({ db, now }: Context, token: string): Promise<InvitationPreview> {
  const opened = await openToken(db, token);
  const { inviter_name: name, inviter_image: image } = opened;
  return {
    kind: opened.kind,
    workspace: { id: opened.workspace_id, name: opened.workspace_name, logoUrl: opened.logo_url },
    inviter: name === null ? null : { name, image },
    role: opened.role,
    expiresAt: opened.expires_at.toISOString(),
    state: previewStateOf(opened, now),
    emailHint: opened.email === null ? null : hintOf(opened.email),
  };
}

/** @throws NOT_FOUND, INVITATION_EMAIL_MISMATCH, INVITATION_UNAVAILABLE. */
export async function accept({ db, now }: Context, user: User | Person, token: string): Promise<AcceptedInvitation> {
  const opened = await openToken(db, token);
  if (opened.email !== null && opened.email !== user.email) throw new PlatformError("INVITATION_EMAIL_MISMATCH");
  const state = previewStateOf(opened, now);
  if (state !== "active") {
    throw new PlatformError("INVITATION_UNAVAILABLE", { message: `the invitation is ${state}`, context: { state } });
  }
  const before = await findRole(db, opened.workspace_id, user.id);
  if (opened.kind === "email") {
    await db.updateTable("invitations").set({ accepted_at: now }).where("id", "=", opened.id).execute();
  }
  if (before === undefined) {
    await putMember(db, opened.workspace_id, user.id, opened.role, now);
    if (opened.kind === "link") await countUse(db, opened.id, now);
  }
  return {
    outcome: before === undefined ? "joined" : "already-member",
    workspaceId: opened.workspace_id,
    workspaceName: opened.workspace_name,
    role: before ?? opened.role,
  };
}

async function countUse(db: Db, id: string, now: Date): Promise<void> {
  await db
    .updateTable("invite_links")
    .set((eb) => ({ use_count: eb("use_count", "+", 1), last_used_at: now }))
    .where("id", "=", id)
    .execute();
}

async function openToken(db: Db, token: string): Promise<Opened> {
  const hash = hashOf(token);
  const opened = (await invitationBy(db, hash)) ?? (await linkBy(db, hash));
  if (opened === undefined) throw notFound("invitation");
  return opened;
}

async function invitationBy(db: Db, hash: string): Promise<Opened | undefined> {
  const row = await db
    .selectFrom("invitations as t")
    .innerJoin("workspaces as w", "w.id", "t.workspace_id")
    .leftJoin("users as u", "u.id", "t.created_by")
    .select(["t.id", "t.email", "t.role", "t.accepted_at", "t.revoked_at", "t.expires_at", "t.workspace_id"])
    .select(["w.name as workspace_name", "w.logo_url", "u.name as inviter_name", "u.image as inviter_image"])
    .where("t.token_hash", "=", hash)
    .executeTakeFirst();
  return row && { kind: "email", ...row };
}

async function linkBy(db: Db, hash: string): Promise<Opened | undefined> {
  const row = await db
    .selectFrom("invite_links as t")
    .innerJoin("workspaces as w", "w.id", "t.workspace_id")
    .leftJoin("users as u", "u.id", "t.created_by")
    .select(["t.id", "t.role", "t.revoked_at", "t.expires_at", "t.workspace_id"])
    .select(["w.name as workspace_name", "w.logo_url", "u.name as inviter_name", "u.image as inviter_image"])
    .where("t.token_hash", "=", hash)
    .executeTakeFirst();
  return row && { kind: "link", email: null, accepted_at: null, ...row };
}

/** `j***@example.com`: users recognise their own address, but do not learn another one. */
function hintOf(email: string): string {
  const [first = ""] = email;
  return `${first}***@${email.slice(email.lastIndexOf("@") + 1)}`;
}
