import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { SESSION_IDLE_MS, SESSION_LIFE_MS } from "./session.ts";

onEachDatabase("a user's credential", (world) => {
  it("gives the role of the membership, at each request", async () => {
    const workspace = await world.workspace();
    const user = await world.user({ email: "Engineer@Example.com" });
    await workspace.member(user, "workspace.viewer");
    const whoami = (): Promise<{ status: number; body: unknown }> =>
      world.call("GET", "/v1/whoami", { key: user.token, query: { workspace: workspace.name } });
    expect((await whoami()).body).toEqual({
      kind: "user",
      id: user.id,
      email: "engineer@example.com",
      workspaceId: workspace.id,
      workspaceName: workspace.name,
      role: "workspace.viewer",
    });
    await workspace.member(user, "workspace.admin");
    expect((await whoami()).body).toMatchObject({ role: "workspace.admin" });
  });

  it("needs a workspace that the user belongs to", async () => {
    const user = await world.user();
    const { name } = await world.workspace();
    const code = async (query: Record<string, string>) =>
      (await world.call("GET", "/v1/whoami", { headers: user.headers, query })).body.code;
    expect(await code({})).toBe("WORKSPACE_REQUIRED");
    expect(await code({ workspace: name })).toBe("WORKSPACE_NOT_FOUND");
    expect(await code({ workspace: "no-such-workspace" })).toBe("WORKSPACE_NOT_FOUND");
  });

  it("changes nothing by its cookie alone: the page must be ours", async () => {
    const workspace = await world.workspace();
    const user = await world.user();
    await workspace.member(user, "workspace.admin");
    const create = async (headers: Record<string, string>) => {
      const body = { name: `project-${Math.random().toString(36).slice(2)}` };
      return world.call("POST", "/v1/projects", { headers, body, query: { workspace: workspace.name } });
    };
    expect((await create({ ...user.headers })).status).toBe(201);
    for (const origin of ["https://elsewhere.example", "null", ""]) {
      const answer = await create({ cookie: user.cookie, ...(origin !== "" && { origin }) });
      expect([answer.status, answer.body.code]).toEqual([403, "CSRF_REJECTED"]);
    }
  });

  it("ends a session twelve hours after its last use, and seven days after its begin", async () => {
    const workspace = await world.workspace();
    const user = await world.user();
    await workspace.member(user, "workspace.viewer");
    const query = { workspace: workspace.name };
    const code = async () => (await world.call("GET", "/v1/whoami", { headers: user.headers, query })).body.code;
    const steps = Math.floor(SESSION_LIFE_MS / (SESSION_IDLE_MS - 60_000));
    for (let step = 0; step < steps; step += 1) {
      world.clock.advance(SESSION_IDLE_MS - 60_000);
      expect(await code(), `after ${step + 1} steps`).toBeUndefined();
    }
    world.clock.advance(SESSION_IDLE_MS - 60_000);
    expect(await code()).toBe("TOKEN_EXPIRED");

    const idle = await world.user();
    world.clock.advance(SESSION_IDLE_MS);
    const answer = await world.call("GET", "/v1/whoami", { headers: idle.headers });
    expect([answer.status, answer.body.code]).toEqual([401, "TOKEN_EXPIRED"]);
  });
});

onEachDatabase("a user in two workspaces", (world) => {
  it("means another call with the same Idempotency-Key in the other one", async () => {
    const user = await world.user();
    const names: string[] = [];
    for (const workspace of [await world.workspace(), await world.workspace()]) {
      await workspace.member(user, "workspace.admin");
      const create = () =>
        world.call("POST", "/v1/projects", {
          key: user.token,
          query: { workspace: workspace.name },
          body: { name: "shop" },
          headers: { "idempotency-key": "the same" },
        });
      const first = await create();
      expect([first.status, first.body.workspaceId]).toEqual([201, workspace.id]);
      expect((await create()).headers.get("idempotency-replayed")).toBe("true");
      names.push(first.body.id);
    }
    expect(new Set(names).size).toBe(2);
  });
});
