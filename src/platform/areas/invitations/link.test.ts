import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newTeam, tokenOf } from "./testing/team.ts";

const DAY_MS = 86_400_000;

onEachDatabase("invite links", (world) => {
  it("there is none, then one of 30 days that stays the same, until it is revoked", async () => {
    const team = await newTeam(world);
    const read = async () => (await team.call("GET", "/invite-link")).body;
    const put = (role: string) => team.call("PUT", "/invite-link", { role });
    expect(await read()).toBeNull();
    const made = await put("workspace.viewer");
    expect([made.status, made.body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^wil_[0-9a-zA-Z]{40}$/),
        role: "workspace.viewer",
        expiresAt: expect.any(String),
        createdAt: expect.any(String),
        useCount: 0,
        lastUsedAt: null,
        inviteUrl: expect.stringMatching(/\/invite\/[\w-]{43}$/),
      },
    ]);
    expect(Date.parse(made.body.expiresAt) - Date.parse(made.body.createdAt)).toBe(30 * DAY_MS);
    world.clock.advance(1000);
    expect((await put("workspace.viewer")).body).toEqual(made.body);
    expect(await read()).toEqual(made.body);
    expect((await team.call("DELETE", "/invite-link")).status).toBe(204);
    expect(await read()).toBeNull();
    expect((await team.call("DELETE", "/invite-link")).status).toBe(204);
  });

  it("a link of another role takes the place of the one before, whose holders are out", async () => {
    const team = await newTeam(world);
    const user = await world.user();
    const put = async (role: string) => (await team.call("PUT", "/invite-link", { role })).body;
    const [first, second] = [await put("workspace.viewer"), await put("workspace.member")];
    expect(second.id).not.toBe(first.id);
    expect((await team.accept(user, tokenOf(first))).body).toMatchObject({ context: { state: "revoked" } });
    expect((await team.preview(user, tokenOf(first))).body).toMatchObject({ kind: "link", state: "revoked" });
    expect((await team.accept(user, tokenOf(second))).body).toMatchObject({
      outcome: "joined",
      role: "workspace.member",
    });
  });

  it("anybody joins by it; only those who join are counted", async () => {
    const team = await newTeam(world);
    const link = (await team.call("PUT", "/invite-link", { role: "workspace.viewer" })).body;
    const [one, two] = [await world.user(), await world.user()];
    const shown = (await team.preview(one, tokenOf(link))).body;
    expect(shown).toMatchObject({ kind: "link", state: "active", emailHint: null, inviter: { name: "Grace" } });
    expect((await team.accept(one, tokenOf(link))).body.outcome).toBe("joined");
    expect((await team.accept(one, tokenOf(link))).body.outcome).toBe("already-member");
    expect((await team.accept(team.admin, tokenOf(link))).body).toMatchObject({
      outcome: "already-member",
      role: "workspace.admin",
    });
    expect((await team.accept(two, tokenOf(link))).body.outcome).toBe("joined");
    const after = (await team.call("GET", "/invite-link")).body;
    expect(after).toMatchObject({ useCount: 2, lastUsedAt: expect.any(String) });
  });

  it("after 30 days it is gone, and shows as expired to whoever still holds it", async () => {
    const team = await newTeam(world);
    const key = await team.workspace.key("workspace.admin");
    const put = async () => (await team.call("PUT", "/invite-link", { role: "workspace.viewer" }, key)).body;
    const old = await put();
    world.clock.advance(30 * DAY_MS);
    expect((await team.call("GET", "/invite-link", undefined, key)).body).toBeNull();
    const fresh = await put();
    expect(fresh.id).not.toBe(old.id);
    expect((await team.call("DELETE", "/invite-link", undefined, key)).status).toBe(204);
    const user = await world.user();
    expect((await team.preview(user, tokenOf(old))).body.state).toBe("expired");
    expect((await team.accept(user, tokenOf(old))).body.context).toEqual({ state: "expired" });
    expect((await team.preview(user, tokenOf(fresh))).body.state).toBe("revoked");
  });

  it("fifty who join at once are all in, and all counted", async () => {
    const team = await newTeam(world);
    const link = (await team.call("PUT", "/invite-link", { role: "workspace.viewer" })).body;
    const users = await Promise.all(Array.from({ length: 50 }, () => world.user()));
    const outcomes = await Promise.all(
      users.map(async (user) => {
        for (;;) {
          const { body } = await team.accept(user, tokenOf(link));
          if (body.code !== "CONFLICT") return body.outcome;
        }
      }),
    );
    expect(new Set(outcomes)).toEqual(new Set(["joined"]));
    expect((await team.call("GET", "/invite-link")).body.useCount).toBe(50);
    expect((await team.call("GET", "/members")).body.items).toHaveLength(51);
  });

  it("fifty who put different roles at once leave one live link", async () => {
    const team = await newTeam(world);
    const roles = ["workspace.viewer", "workspace.member", "workspace.admin"];
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        for (;;) {
          const answer = await team.call("PUT", "/invite-link", { role: roles[index % 3] });
          if (answer.body.code !== "CONFLICT") return answer;
        }
      }),
    );
    for (const { status } of answers) expect(status).toBe(200);
    const live = await world.platform.db
      .selectFrom("invite_links")
      .select("id")
      .where("workspace_id", "=", team.workspace.id)
      .where("revoked_at", "is", null)
      .execute();
    expect(live).toEqual([{ id: (await team.call("GET", "/invite-link")).body.id }]);
  });
});
