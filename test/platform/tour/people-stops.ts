import type { Routes } from "../../../src/contract/table.ts";
import type { GitHost } from "../../../src/platform/ports/git-host.ts";
import type { Stage, Stops } from "./stage.ts";

export const apiKeyStops: Stops<Routes["apiKeys"]> = {
  list: ({ admin, signal }) => admin.apiKeys.list({ query: { limit: 100 } }, signal),
  create: ({ admin, project, inAnHour, signal }) =>
    admin.apiKeys.create(
      {
        body: {
          description: "for a test",
          scope: { type: "project", role: "project.viewer", projectId: project },
          expiresAt: inAnHour(),
        },
      },
      signal,
    ),
  get: async (stage) => stage.person.apiKeys.get({ params: { id: await newKey(stage) } }, stage.signal),
  update: async (stage) =>
    stage.person.apiKeys.update({ params: { id: await newKey(stage) }, body: { enabled: false } }, stage.signal),
  revoke: async (stage) => stage.admin.apiKeys.revoke({ params: { id: await newKey(stage) } }, stage.signal),
  batchDelete: async (stage) => stage.admin.apiKeys.batchDelete({ body: { ids: [await newKey(stage)] } }, stage.signal),
};

async function newKey({ person, signal }: Stage): Promise<string> {
  const body = { description: null, scope: { type: "workspace", role: "workspace.viewer" } } as const;
  return (await person.apiKeys.create({ body }, signal)).keyInfo.id;
}

export const whoamiStops: Stops<Routes["whoami"]> = {
  get: ({ person, signal }) => person.whoami.get({}, signal),
};

export const workspaceStops: Stops<Routes["workspaces"]> = {
  list: ({ person, signal }) => person.workspaces.list({ query: { limit: 100 } }, signal),
  create: ({ as, user, fresh, signal }) =>
    as(user.token).workspaces.create({ body: { name: fresh(`of-${user.id.slice(4, 12)}`) } }, signal),
  get: ({ admin, workspaceId, signal }) => admin.workspaces.get({ params: { id: workspaceId } }, signal),
  patch: ({ person, workspaceId, signal }) =>
    person.workspaces.patch({ params: { id: workspaceId }, body: { logoUrl: "https://example.com/logo.png" } }, signal),
  async delete({ as, user, fresh, signal }) {
    const own = as(user.token);
    const { id } = await own.workspaces.create({ body: { name: fresh(`of-${user.id.slice(4, 12)}`) } }, signal);
    return own.workspaces.delete({ params: { id } }, signal);
  },
  getSettings: ({ admin, workspaceId, signal }) =>
    admin.workspaces.getSettings({ params: { id: workspaceId } }, signal),
  patchSettings: ({ person, workspaceId, signal }) =>
    person.workspaces.patchSettings({ params: { id: workspaceId }, body: { debugPermissionMode: "auto" } }, signal),
};

export const memberStops: Stops<Routes["members"]> = {
  list: ({ admin, workspaceId, signal }) => admin.members.list({ params: { id: workspaceId } }, signal),
  async add({ person, workspaceId, world, signal }) {
    const { email } = await world.user();
    return person.members.add({ params: { id: workspaceId }, body: { email, role: "workspace.viewer" } }, signal);
  },
  async patch(stage) {
    const params = { id: stage.workspaceId, userId: await newMember(stage) };
    return stage.person.members.patch({ params, body: { role: "workspace.member" } }, stage.signal);
  },
  async remove(stage) {
    const params = { id: stage.workspaceId, userId: await newMember(stage) };
    return stage.person.members.remove({ params }, stage.signal);
  },
};

async function newMember({ world, site }: Stage): Promise<string> {
  const user = await world.user();
  await site.workspace.member(user, "workspace.viewer");
  return user.id;
}

async function invitation({ person, workspaceId, world, fresh, signal }: Stage) {
  const email = `${fresh("guest")}-${world.database.toLowerCase()}-${workspaceId.slice(3, 11).toLowerCase()}@example.com`;
  const body = { email, role: "workspace.member" } as const;
  return person.invitations.create({ params: { id: workspaceId }, body }, signal);
}

/** The secret part of the address that the invited person opens. */
function tokenOf({ inviteUrl }: { readonly inviteUrl: string }): string {
  return inviteUrl.split("/").at(-1) ?? "";
}

export const invitationStops: Stops<Routes["invitations"]> = {
  async list(stage) {
    await invitation(stage);
    return stage.person.invitations.list({ params: { id: stage.workspaceId } }, stage.signal);
  },
  create: (stage) => invitation(stage),
  async resend(stage) {
    const { id } = await invitation(stage);
    // The platform sends a mail again once a minute at most.
    stage.world.clock.advance(61_000);
    return stage.person.invitations.resend({ params: { id: stage.workspaceId, invitationId: id } }, stage.signal);
  },
  async revoke(stage) {
    const { id } = await invitation(stage);
    return stage.person.invitations.revoke({ params: { id: stage.workspaceId, invitationId: id } }, stage.signal);
  },
  async getLink(stage) {
    await stage.person.invitations.putLink(
      { params: { id: stage.workspaceId }, body: { role: "workspace.viewer" } },
      stage.signal,
    );
    return stage.person.invitations.getLink({ params: { id: stage.workspaceId } }, stage.signal);
  },
  putLink: ({ person, workspaceId, signal }) =>
    person.invitations.putLink({ params: { id: workspaceId }, body: { role: "workspace.member" } }, signal),
  deleteLink: ({ person, workspaceId, signal }) =>
    person.invitations.deleteLink({ params: { id: workspaceId } }, signal),
  async preview(stage) {
    const token = tokenOf(await invitation(stage));
    return stage.as(stage.user.token).invitations.preview({ params: { token } }, stage.signal);
  },
  async accept(stage) {
    const { email, ...sent } = await invitation(stage);
    const guest = await stage.world.user({ email });
    return stage.as(guest.token).invitations.accept({ params: { token: tokenOf(sent) } }, stage.signal);
  },
};

export const userStops: Stops<Routes["user"]> = {
  getProfile: ({ person, signal }) => person.user.getProfile({}, signal),
  patchProfile: ({ person, signal }) => person.user.patchProfile({ body: { name: "Robin" } }, signal),
  setupProfile: ({ person, signal }) =>
    person.user.setupProfile({ body: { name: "Robin", company: "Acme", acquisitionSource: "search" } }, signal),
  listMemberships: ({ person, signal }) => person.user.listMemberships({}, signal),
};

/** The git host of these tests: every user is in one team with one repository. */
export const GIT_HOST: GitHost = {
  namespaces: async () => [{ id: 3, name: "Acme", slug: "acme", installationId: 12, type: "team" }],
  repositories: async () => [{ name: "shop", private: true, defaultBranch: "main" }],
};

export const gitNamespaceStops: Stops<Routes["gitNamespaces"]> = {
  list: ({ person, signal }) => person.gitNamespaces.list({}, signal),
  sync: ({ person, signal }) => person.gitNamespaces.sync({ body: { provider: "git-host" } }, signal),
  async listRepositories(stage) {
    await gitNamespaceStops.sync(stage);
    return stage.person.gitNamespaces.listRepositories({ params: { id: "3" } }, stage.signal);
  },
};
