import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";

const ANSWERS = { name: "Ada", company: "Engines", acquisitionSource: "forum", useCases: "On call.\nOften." } as const;

onEachDatabase("the user's own", (world) => {
  const call = (user: { token: string }, method: string, path: string, body?: object) =>
    world.call(method, path, { key: user.token, ...(body !== undefined && { body }) });

  it("a profile begins with what the sign-in knows", async () => {
    const user = await world.user({ email: "Ada@Example.com", name: "Ada L." });
    expect((await call(user, "GET", "/v1/user/profile")).body).toEqual({
      id: user.id,
      email: "ada@example.com",
      name: "Ada L.",
      image: null,
      gitHostUsername: null,
      cliConnected: false,
      company: null,
      acquisitionSource: null,
      acquisitionSourceDetail: null,
      useCases: null,
      profileSetupCompletedAt: null,
      profileSetupVersion: null,
    });
  });

  it("a patch changes the name and nothing else", async () => {
    const user = await world.user();
    expect((await call(user, "PATCH", "/v1/user/profile", { name: "Grace" })).body.name).toBe("Grace");
    expect((await call(user, "PATCH", "/v1/user/profile", {})).body).toMatchObject({
      name: "Grace",
      email: user.email,
    });
    for (const body of [{ name: "" }, { name: "x".repeat(101) }, { name: "a\u202eb" }, { email: "a@example.com" }]) {
      expect((await call(user, "PATCH", "/v1/user/profile", body)).body.code).toBe("VALIDATION_ERROR");
    }
  });

  it("the setup is completed once; later answers win", async () => {
    const user = await world.user();
    const setUp = (answers: object) => call(user, "POST", "/v1/user/profile/setup", answers);
    const done = await setUp(ANSWERS);
    expect([done.status, done.body]).toMatchObject([
      200,
      {
        ...ANSWERS,
        acquisitionSourceDetail: null,
        profileSetupVersion: 1,
        profileSetupCompletedAt: expect.any(String),
      },
    ]);
    world.clock.advance(60_000);
    const { useCases: _, ...less } = ANSWERS;
    const again = await setUp({
      ...less,
      company: "Looms",
      acquisitionSource: "other",
      acquisitionSourceDetail: "a book",
    });
    expect(again.body).toMatchObject({
      company: "Looms",
      acquisitionSource: "other",
      acquisitionSourceDetail: "a book",
      useCases: null,
      profileSetupCompletedAt: done.body.profileSetupCompletedAt,
    });
    const bare = await setUp({ ...ANSWERS, acquisitionSource: "other" });
    expect([bare.status, bare.body.context.issues[0].path]).toEqual([400, "body.acquisitionSourceDetail"]);
  });

  it("memberships are told by name, with the role in each", async () => {
    const user = await world.user();
    const create = async (name: string) =>
      expect((await call(user, "POST", "/v1/user/workspaces", { name })).status).toBe(201);
    const unique = `-${Date.now().toString(36)}-${world.database.toLowerCase()}`;
    await create(`zulu${unique}`);
    await create(`alpha${unique}`);
    const shared = await world.workspace();
    await shared.member(user, "workspace.viewer");
    const { items } = (await call(user, "GET", "/v1/user/memberships")).body;
    expect(items.map(({ name, role }: { name: string; role: string }) => [name, role])).toEqual([
      [`alpha${unique}`, "workspace.admin"],
      [shared.name, "workspace.viewer"],
      [`zulu${unique}`, "workspace.admin"],
    ]);
  });

  it("is no key's", async () => {
    const key = await (await world.workspace()).key("workspace.admin");
    for (const [method, path, body] of [
      ["GET", "/v1/user/profile"],
      ["PATCH", "/v1/user/profile", {}],
      ["POST", "/v1/user/profile/setup", ANSWERS],
      ["GET", "/v1/user/memberships"],
      ["POST", "/v1/user/workspaces", { name: "a-workspace" }],
      ["GET", "/v1/user/git-namespaces"],
      ["POST", "/v1/user/git-namespaces/sync", { provider: "git-host" }],
      ["GET", "/v1/user/git-namespaces/7/repositories"],
    ] as const) {
      const answer = await world.call(method, path, { key, ...(body !== undefined && { body }) });
      expect([answer.status, answer.body.code], path).toEqual([403, "FORBIDDEN"]);
    }
  });

  it("the command line is noticed at its first request, for good", async () => {
    const user = await world.user();
    const connected = async (agent: string) => {
      const headers = { "user-agent": agent };
      return (await world.call("GET", "/v1/user/profile", { key: user.token, headers })).body.cliConnected;
    };
    expect(await connected("curl/8.0 sallyport-cli/1.0.0")).toBe(false);
    expect(await connected("sallyport-cli/1.0.0")).toBe(true);
    expect(await connected("curl/8.0")).toBe(true);
  });
});
