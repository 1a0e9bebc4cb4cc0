import type { Answer, TestUser, TestWorkspace, World } from "../../../testing/harness.ts";

/** A workspace and an admin who invites. */
export interface Team {
  readonly workspace: TestWorkspace;
  readonly admin: TestUser;
  /** Below `/v1/workspaces/{id}`, as the admin. */
  call(method: string, path: string, body?: object, key?: string): Promise<Answer>;
  invite(email: string, role?: string): Promise<Answer>;
  /** By the token of an `inviteUrl`. */
  preview(user: TestUser, token: string): Promise<Answer>;
  accept(user: TestUser, token: string): Promise<Answer>;
}

export async function newTeam(world: World): Promise<Team> {
  const workspace = await world.workspace();
  const admin = await world.user({ name: "Grace" });
  await workspace.member(admin, "workspace.admin");
  const call: Team["call"] = (method, path, body, key = admin.token) =>
    world.call(method, `/v1/workspaces/${workspace.id}${path}`, { key, ...(body !== undefined && { body }) });
  return {
    workspace,
    admin,
    call,
    invite: (email, role = "workspace.member") => call("POST", "/invitations", { email, role }),
    preview: (user, token) => world.call("GET", `/v1/invitations/${token}`, { key: user.token }),
    accept: (user, token) => world.call("POST", `/v1/user/invitations/${token}/accept`, { key: user.token }),
  };
}

/** The secret at the end of an `inviteUrl`. */
export function tokenOf({ inviteUrl }: { readonly inviteUrl: string }): string {
  return inviteUrl.slice(inviteUrl.lastIndexOf("/") + 1);
}
