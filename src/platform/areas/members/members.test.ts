import { expect, it } from "vitest";
import type { WorkspaceRole } from "../../database/tables/identity.ts";
import { type Answer, onEachDatabase, type TestUser } from "../../testing/harness.ts";

onEachDatabase("members", (world) => {
  /** A workspace with one admin who calls. */
  async function newTeam() {
    const workspace = await world.workspace();
    const admin = await world.user();
    await workspace.member(admin, "workspace.admin");
    const path = `/v1/workspaces/${workspace.id}/members`;
    const call = (method: string, rest = "", body?: object, key = admin.token) =>
      world.call(method, `${path}${rest}`, { key, ...(body !== undefined && { body }) });
    const join = async (role: WorkspaceRole, user?: TestUser): Promise<TestUser> => {
      const joining = user ?? (await world.user());
      world.clock.advance(5);
      await workspace.member(joining, role);
      return joining;
    };
    return { workspace, admin, call, join };
  }
  /** A lost race is the caller's to repeat (§0.1). */
  const patiently = async <A extends { body: { code?: string } }>(call: () => Promise<A>): Promise<A> => {
    for (;;) {
      const answer = await call();
      if (answer.body?.code !== "CONFLICT") return answer;
    }
  };

  it("adding tells nothing of the address: with an account or without one the answer is the same invitation", async () => {
    const { call } = await newTeam();
    const user = await world.user({ email: "Ada.Example@Example.com", name: "Ada" });
    const shape = ({ status, body }: Answer) => [
      status,
      { ...body, id: "", email: "", createdAt: "", expiresAt: "", inviteUrl: "" },
    ];
    const known = await call("POST", "", { email: "ADA.example@EXAMPLE.com", role: "workspace.member" });
    const unknown = await call("POST", "", { email: "nobody@example.com", role: "workspace.member" });
    expect([known.status, known.body.email]).toEqual([201, "ada.example@example.com"]);
    expect(shape(unknown)).toEqual(shape(known));
    // Nothing shows before the user itself has agreed.
    expect((await call("GET")).body.items).toHaveLength(1);
    const token = known.body.inviteUrl.split("/").at(-1);
    const accepted = await world.call("POST", `/v1/user/invitations/${token}/accept`, { key: user.token });
    expect(accepted.body).toMatchObject({ outcome: "joined", role: "workspace.member" });
    expect((await call("GET")).body.items.map(({ name }: { name: string }) => name)).toContain("Ada");
    const member = await call("POST", "", { email: "ada.example@example.com", role: "workspace.admin" });
    expect([member.status, member.body.code]).toEqual([409, "ALREADY_MEMBER"]);
    const twice = await call("POST", "", { email: "nobody@example.com", role: "workspace.viewer" });
    expect([twice.status, twice.body.code]).toEqual([409, "INVITATION_EXISTS"]);
    for (const wrong of [
      { email: "no address", role: "workspace.viewer" },
      { email: "a@example.com", role: "project.viewer" },
    ]) {
      expect((await call("POST", "", wrong)).body.code).toBe("VALIDATION_ERROR");
    }
  });

  it("every member reads the list, the first to join first; others and keys of projects do not", async () => {
    const { call, join, admin, workspace } = await newTeam();
    const viewer = await join("workspace.viewer");
    const member = await join("workspace.member");
    for (const { token } of [admin, viewer, member]) {
      const { body } = await call("GET", "", undefined, token);
      expect(body.items.map(({ userId }: { userId: string }) => userId)).toEqual([admin.id, viewer.id, member.id]);
    }
    expect((await call("GET", "", undefined, await workspace.key("workspace.viewer"))).body.items).toHaveLength(3);
    expect((await call("GET", "", undefined, (await world.user()).token)).status).toBe(404);
    const body = { email: admin.email, role: "workspace.viewer" };
    expect((await call("POST", "", body, member.token)).body.code).toBe("FORBIDDEN");
  });

  it("a role holds from the next request on", async () => {
    const { call, join, workspace } = await newTeam();
    const user = await join("workspace.viewer");
    const create = (name: string) =>
      world.call("POST", "/v1/projects", { key: user.token, query: { workspace: workspace.name }, body: { name } });
    expect((await create("early")).body.code).toBe("FORBIDDEN");
    const changed = await call("PATCH", `/${user.id}`, { role: "workspace.member" });
    expect(changed.body).toMatchObject({ userId: user.id, role: "workspace.member" });
    expect((await create("later")).status).toBe(201);
    expect((await call("PATCH", `/usr_${"0".repeat(28)}`, { role: "workspace.member" })).body.code).toBe("NOT_FOUND");
  });

  it("whoever is removed is out at once; the keys that they made stay", async () => {
    const { call, join, workspace } = await newTeam();
    const user = await join("workspace.member");
    const query = { workspace: workspace.name };
    const project = await world.call("POST", "/v1/projects", { key: user.token, query, body: { name: "shop" } });
    const scope = { type: "project", role: "project.viewer", projectId: project.body.id };
    const minted = await world.call("POST", "/v1/api-keys", {
      key: user.token,
      query,
      body: { description: null, scope },
    });
    expect(minted.status, JSON.stringify(minted.body)).toBe(201);
    expect((await call("DELETE", `/${user.id}`)).status).toBe(204);
    expect((await call("DELETE", `/${user.id}`)).body.code).toBe("NOT_FOUND");
    const listed = await world.call("GET", "/v1/projects", { key: user.token, query });
    expect(listed.body.code).toBe("WORKSPACE_NOT_FOUND");
    expect((await world.call("GET", "/v1/projects", { key: minted.body.apiKey })).status).toBe(200);
  });

  it("a member of any role removes itself, and nobody else unless it is an admin", async () => {
    const { call, join, admin, workspace } = await newTeam();
    const [viewer, member] = [await join("workspace.viewer"), await join("workspace.member")];
    const other = await call("DELETE", `/${viewer.id}`, undefined, member.token);
    expect([other.status, other.body.code]).toEqual([403, "FORBIDDEN"]);
    expect((await call("DELETE", `/${viewer.id}`, undefined, viewer.token)).status).toBe(204);
    expect((await call("DELETE", `/${member.id}`, undefined, await workspace.key("workspace.admin"))).status).toBe(204);
    const stranger = await world.user();
    expect((await call("DELETE", `/${admin.id}`, undefined, stranger.token)).status).toBe(404);
    expect((await call("DELETE", `/${admin.id}`, undefined, await workspace.key("workspace.member"))).status).toBe(403);
  });

  it("the last admin can neither go nor step down", async () => {
    const { call, join, admin } = await newTeam();
    await join("workspace.member");
    for (const answer of [
      await call("DELETE", `/${admin.id}`),
      await call("PATCH", `/${admin.id}`, { role: "workspace.viewer" }),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([400, "LAST_ADMIN"]);
    }
    expect((await call("PATCH", `/${admin.id}`, { role: "workspace.admin" })).status).toBe(200);
    await join("workspace.admin");
    expect((await call("PATCH", `/${admin.id}`, { role: "workspace.viewer" })).status).toBe(200);
  });

  it("fifty admins who leave or step down at once leave one", async () => {
    const { call, join, workspace, admin } = await newTeam();
    const admins = [admin];
    for (let count = 1; count < 50; count += 1) admins.push(await join("workspace.admin"));
    const answers = await Promise.all(
      admins.map(({ id, token }, index) =>
        patiently(() =>
          index % 2 === 0
            ? call("DELETE", `/${id}`, undefined, token)
            : call("PATCH", `/${id}`, { role: "workspace.viewer" }, token),
        ),
      ),
    );
    const refused = answers.filter(({ body }) => body?.code === "LAST_ADMIN");
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(49);
    expect(refused).toHaveLength(1);
    const left = await world.platform.db
      .selectFrom("workspace_members")
      .select("role")
      .where("workspace_id", "=", workspace.id)
      .where("role", "=", "workspace.admin")
      .execute();
    expect(left).toHaveLength(1);
  });
});
