import type { IncomingHttpHeaders } from "node:http";
import type { Selectable } from "kysely";
import type { Db } from "../../database/db.ts";
import type { UserRow } from "../../database/tables/identity.ts";
import type { Credential, NamedWorkspace, Proof } from "../../kernel/call/credential.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/tenancy/principal.ts";

type Whose = Pick<Selectable<UserRow>, "id" | "email" | "name" | "image">;

/**
 * A user's credential, for every way of authentication. The role is read at each request, so a change applies to the
 * next.
 */
export function userCredential(db: Db, user: Whose, proof: Proof, lives: Credential["lives"]): Credential {
  return { caller: user.id, rate: "standard", proof, lives, inWorkspace: (named) => inWorkspace(db, user, named) };
}

/** Records, at the first request of the command line, that the user has it (§21). */
export async function noticeCli(
  db: Db,
  user: Pick<Selectable<UserRow>, "id" | "cli_connected">,
  headers: IncomingHttpHeaders,
): Promise<void> {
  if (user.cli_connected || headers["user-agent"]?.startsWith("sallyport-cli/") !== true) return;
  await db.updateTable("users").set({ cli_connected: true }).where("id", "=", user.id).execute();
}

async function inWorkspace(db: Db, user: Whose, named: NamedWorkspace): Promise<Caller> {
  const { id, email, name, image } = user;
  if (named.name === undefined && named.id === undefined) {
    if (!named.exempt) throw new PlatformError("WORKSPACE_REQUIRED");
    return { kind: "person", id, email, name, image };
  }
  const membership = await db
    .selectFrom("workspace_members as m")
    .innerJoin("workspaces as w", "w.id", "m.workspace_id")
    .select(["w.id", "w.name", "m.role"])
    .where("m.user_id", "=", id)
    .$if(named.name !== undefined, (query) => query.where("w.name", "=", named.name ?? ""))
    .$if(named.id !== undefined, (query) => query.where("w.id", "=", named.id ?? ""))
    .executeTakeFirst();
  if (membership === undefined)
    throw named.id === undefined ? new PlatformError("WORKSPACE_NOT_FOUND") : notFound("workspace");
  const { id: workspaceId, name: workspaceName, role } = membership;
  return { kind: "user", id, email, name, image, workspaceId, workspaceName, role };
}
