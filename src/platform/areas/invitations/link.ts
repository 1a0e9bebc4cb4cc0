import { INVITE_LINK_MS } from "../../../contract/workspaces/invitations.ts";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import type { InviteLinkRow } from "../../database/tables/invitations.ts";
import type { Call } from "../../kernel/call/call.ts";
import { newId } from "../../kernel/ids.ts";
import { inviterOf, mintToken } from "./service.ts";
import { findLiveLink, type InviteLink } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "workspaceId" | "principal" | "config">;

/** Returns the live link if it has that role. Otherwise creates a new one, and the old one becomes invalid. */
export async function putLink(call: Context, role: WorkspaceRole): Promise<InviteLink> {
  const { db, now, workspaceId } = call;
  const live = await findLiveLink(db, workspaceId, now);
  if (live?.role === role) return live;
  await revokeLink(call);
  const row = {
    id: newId("wil"),
    workspace_id: workspaceId,
    role,
    ...mintToken(call.config),
    created_by: inviterOf(call.principal),
    created_at: now,
    expires_at: new Date(now.getTime() + INVITE_LINK_MS),
    revoked_at: null,
    use_count: 0,
    last_used_at: null,
  } satisfies InviteLinkRow;
  await db.insertInto("invite_links").values(row).execute();
  return row;
}

/** Expired links stay expired. */
export async function revokeLink({ db, now, workspaceId }: Context): Promise<void> {
  await db
    .updateTable("invite_links")
    .set({ revoked_at: now })
    .where("workspace_id", "=", workspaceId)
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .execute();
}
