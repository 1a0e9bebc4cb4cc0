import { expect, it } from "vitest";
import { onEachDatabase, type TestUser, type World } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

const DAY_MS = 86_400_000;

let made = 0;
const freshName = (): string => `people-${Date.now().toString(36)}-${made++}`;

onEachDatabase("workspaces", (world) => {
  const create = (user: TestUser, name = freshName(), more: object = {}) =>
    world.call("POST", "/v1/user/workspaces", { key: user.token, body: { name, ...more } });

  it("whoever creates one is its first admin, and finds it everywhere", async () => {
    const user = await world.user();
    const created = await create(user, undefined, { logoUrl: "https://example.com/logo.png" });
    expect([created.status, created.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ws_[0-9a-zA-Z]{24}$/),
        name: expect.any(String),
        logoUrl: "https://example.com/logo.png",
        role: "workspace.admin",
        createdAt: expect.any(String),
      },
    ]);
    const { role, ...workspace } = created.body;
    const path = `/v1/workspaces/${workspace.id}`;
    expect((await world.call("GET", path, { key: user.token })).body).toEqual(workspace);
    expect((await world.call("GET", "/v1/workspaces", { key: user.token })).body.items).toEqual([workspace]);
    const memberships = await world.call("GET", "/v1/user/memberships", { key: user.token });
    expect(memberships.body).toEqual({ items: [{ ...workspace, role }] });
    const whoami = await world.call("GET", "/v1/whoami", { key: user.token, query: { workspace: workspace.name } });
    expect(whoami.body).toMatchObject({ workspaceId: workspace.id, role: "workspace.admin" });
  });

  it("a name is taken once, whoever comes first of fifty", async () => {
    const user = await world.user();
    const name = freshName();
    const answers = await Promise.all(Array.from({ length: 50 }, () => patiently(() => create(user, name))));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of answers) if (status !== 201) expect(body.code).toBe("NAME_TAKEN");
    expect((await create(await world.user(), name)).body.code).toBe("NAME_TAKEN");
  });

  it("names that look like ids, short ones and logos that are no web address are refused", async () => {
    const user = await world.user();
    for (const [body, path] of [
      [{ name: "ws-shop" }, "body.name"],
      [{ name: "abc" }, "body.name"],
      [{ name: "Shop-1" }, "body.name"],
      [{ name: "shop", logoUrl: "javascript:alert(1)" }, "body.logoUrl"],
    ] as const) {
      const answer = await world.call("POST", "/v1/user/workspaces", { key: user.token, body });
      expect(answer.body.context?.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    }
  });

  it("lists newest first, page by page, only one's own, by part of the name", async () => {
    const user = await world.user();
    const names = [freshName(), freshName(), freshName()];
    for (const name of names) {
      world.clock.advance(5);
      expect((await create(user, name)).status).toBe(201);
    }
    await create(await world.user());
    const list = async (query: Record<string, string | number>) =>
      (await world.call("GET", "/v1/workspaces", { key: user.token, query })).body;
    const first = await list({ limit: 2 });
    expect(first.items.map(({ name }: { name: string }) => name)).toEqual([names[2], names[1]]);
    const second = await list({ limit: 2, cursor: first.nextCursor });
    expect(second).toMatchObject({ items: [{ name: names[0] }], nextCursor: null });
    expect((await list({ search: names[1]?.toUpperCase() ?? "" })).items).toMatchObject([{ name: names[1] }]);
    const other = await world.user();
    const foreign = await world.call("GET", "/v1/workspaces", {
      key: other.token,
      query: { cursor: first.nextCursor },
    });
    expect(foreign.body.items ?? []).toEqual([]);
  });

  it("a key sees its own workspace and no other; its role decides", async () => {
    const [own, other] = [await world.workspace(), await world.workspace()];
    const key = await own.key("workspace.viewer");
    expect((await world.call("GET", "/v1/workspaces", { key })).body.items).toMatchObject([{ id: own.id }]);
    expect((await world.call("GET", `/v1/workspaces/${own.id}`, { key })).body).toMatchObject({ name: own.name });
    for (const path of ["", "/settings", "/members"]) {
      const answer = await world.call("GET", `/v1/workspaces/${other.id}${path}`, { key });
      expect([answer.status, answer.body.code]).toEqual([404, "NOT_FOUND"]);
    }
    const query = { workspace: other.name };
    expect((await world.call("GET", `/v1/workspaces/${own.id}`, { key, query })).body.code).toBe("WORKSPACE_MISMATCH");
    const patch = { key, body: { logoUrl: null } };
    expect((await world.call("PATCH", `/v1/workspaces/${own.id}`, patch)).body.code).toBe("FORBIDDEN");
  });

  it("a user names it by its path; a workspace beside it must be the same", async () => {
    const [user, stranger] = [await world.user(), await world.user()];
    const [{ body: one }, { body: two }] = [await create(user), await create(user)];
    const get = (query?: Record<string, string>, key = user.token) =>
      world.call("GET", `/v1/workspaces/${one.id}`, { key, ...(query && { query }) });
    expect((await get({ workspace: one.name })).status).toBe(200);
    expect((await get({ workspace: two.name })).body.code).toBe("NOT_FOUND");
    expect((await get(undefined, stranger.token)).status).toBe(404);
  });

  it("a patch changes the logo and nothing else", async () => {
    const user = await world.user();
    const { body: made } = await create(user);
    const patch = (body: object) => world.call("PATCH", `/v1/workspaces/${made.id}`, { key: user.token, body });
    expect((await patch({ logoUrl: "https://example.com/a.svg" })).body.logoUrl).toBe("https://example.com/a.svg");
    expect((await patch({})).body.logoUrl).toBe("https://example.com/a.svg");
    expect((await patch({ logoUrl: null })).body).toMatchObject({ logoUrl: null, name: made.name });
    expect((await patch({ name: "another" })).body.code).toBe("VALIDATION_ERROR");
  });

  it("settings begin with their defaults and the workspace's own time, and say when they changed", async () => {
    const user = await world.user();
    const { body: made } = await create(user);
    const path = `/v1/workspaces/${made.id}/settings`;
    const read = async () => (await world.call("GET", path, { key: user.token })).body;
    const patch = async (body: object) => (await world.call("PATCH", path, { key: user.token, body })).body;
    const fresh = { workspaceId: made.id, enabled: true, debugPermissionMode: "auto" };
    expect(await read()).toEqual({ ...fresh, createdAt: made.createdAt, updatedAt: made.createdAt });
    expect(await patch({})).toMatchObject({ updatedAt: made.createdAt });
    world.clock.advance(1000);
    const asked = await patch({ debugPermissionMode: "ask" });
    expect(asked).toMatchObject({ enabled: true, debugPermissionMode: "ask", createdAt: made.createdAt });
    expect(Date.parse(asked.updatedAt)).toBeGreaterThan(Date.parse(made.createdAt));
    expect(await patch({ enabled: false })).toMatchObject({ enabled: false, debugPermissionMode: "ask" });
    expect(await read()).toMatchObject({ enabled: false, debugPermissionMode: "ask" });
    expect(await patch({ debugPermissionMode: "never" })).toMatchObject({ code: "VALIDATION_ERROR" });
  });

  it("only an empty workspace is deleted, by a user, and whoever held a key or a token is told", async () => {
    const site = await newSite(world);
    const user = await world.user();
    await site.workspace.member(user, "workspace.admin");
    const path = `/v1/workspaces/${site.workspace.id}`;
    const as = (key: string) => ({ key });
    const invited = await world.call("POST", `${path}/invitations`, {
      ...as(user.token),
      body: { email: "somebody@example.com", role: "workspace.viewer" },
    });
    const link = await world.call("PUT", `${path}/invite-link`, {
      ...as(user.token),
      body: { role: "workspace.viewer" },
    });
    const remove = (key: string) => world.call("DELETE", path, as(key));
    expect((await remove(site.admin)).body.code).toBe("FORBIDDEN");
    expect((await remove(user.token)).body.code).toBe("WORKSPACE_NOT_EMPTY");
    expect((await world.call("DELETE", `/v1/projects/${site.project.id}`, as(site.admin))).status).toBe(204);
    expect((await remove(user.token)).status).toBe(204);
    expect((await remove(user.token)).status).toBe(404);
    for (const key of [site.admin, site.member, site.manager.key]) {
      expect((await world.call("GET", "/v1/whoami", as(key))).body.code).toBe("API_KEY_REVOKED");
    }
    const query = { workspace: site.workspace.name };
    expect((await world.call("GET", "/v1/whoami", { ...as(user.token), query })).body.code).toBe("WORKSPACE_NOT_FOUND");
    expect((await world.call("GET", "/v1/workspaces", as(user.token))).body.items).toEqual([]);
    for (const { body } of [invited, link]) {
      const token = body.inviteUrl.split("/").at(-1);
      const shown = await world.call("GET", `/v1/invitations/${token}`, as(user.token));
      expect(shown.body.state).toBe("revoked");
      const accepted = await world.call("POST", `/v1/user/invitations/${token}/accept`, as(user.token));
      expect(accepted.status).toBeGreaterThanOrEqual(400);
    }
    expect((await create(user, site.workspace.name)).status, "its name is free").toBe(201);

    const codeOf = async (key: string) => {
      await world.platform.sweep();
      return (await world.call("GET", "/v1/whoami", as(key))).body.code;
    };
    world.clock.advance(399 * DAY_MS);
    expect(await codeOf(site.admin)).toBe("API_KEY_REVOKED");
    world.clock.advance(2 * DAY_MS);
    expect(await codeOf(site.admin)).toBe("API_KEY_INVALID");
    const { db } = world.platform;
    const record = db.selectFrom("workspaces").select("id").where("id", "=", site.workspace.id);
    expect(await record.execute(), "its record is gone with them").toEqual([]);
  });
});

/** A lost race is the caller's to repeat (§0.1). */
async function patiently(call: () => ReturnType<World["call"]>): ReturnType<World["call"]> {
  for (;;) {
    const answer = await call();
    if (answer.body?.code !== "CONFLICT") return answer;
  }
}
