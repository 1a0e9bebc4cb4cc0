import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newTeam, tokenOf } from "./testing/team.ts";

const DAY_MS = 86_400_000;

let addresses = 0;
const someone = (): string => `someone-${addresses++}@example.com`;

onEachDatabase("invitations", (world) => {
  it("an invitation has the address in lower case, seven days, and a link that can be read again", async () => {
    const team = await newTeam(world);
    const made = await team.invite("Ada.Lovelace@Example.com");
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^winv_[0-9a-zA-Z]{32}$/),
        email: "ada.lovelace@example.com",
        role: "workspace.member",
        status: "pending",
        deliveryStatus: "pending",
        expiresAt: expect.any(String),
        lastSentAt: null,
        createdAt: expect.any(String),
        inviteUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/invite\/[\w-]{43}$/),
      },
    ]);
    expect(Date.parse(made.body.expiresAt) - Date.parse(made.body.createdAt)).toBe(7 * DAY_MS);
    world.clock.advance(5);
    const second = await team.invite(someone());
    expect((await team.call("GET", "/invitations")).body).toEqual({ items: [second.body, made.body] });
  });

  it("keeps tokens as hashes and sealed, never as they are", async () => {
    const team = await newTeam(world);
    const invite = {
      key: team.admin.token,
      headers: { "idempotency-key": "once" },
      body: { email: someone(), role: "workspace.viewer" },
    };
    const path = `/v1/workspaces/${team.workspace.id}/invitations`;
    const { body: invitation } = await world.call("POST", path, invite);
    const replayed = await world.call("POST", path, invite);
    expect([replayed.status, replayed.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(replayed.body).toEqual(invitation);
    const link = (await team.call("PUT", "/invite-link", { role: "workspace.viewer" })).body;
    const { db } = world.platform;
    const stored = JSON.stringify([
      await db.selectFrom("invitations").selectAll().execute(),
      await db.selectFrom("invite_links").selectAll().execute(),
      await db.selectFrom("idempotency").selectAll().execute(),
    ]);
    for (const each of [invitation, link]) expect(stored).not.toContain(tokenOf(each));
  });

  it("a member is not invited, nor an address that is invited already, in whatever spelling", async () => {
    const team = await newTeam(world);
    const refused = async (email: string) => {
      const { status, body } = await team.invite(email);
      return [status, body.code];
    };
    expect(await refused(team.admin.email.toUpperCase())).toEqual([409, "ALREADY_MEMBER"]);
    const email = someone();
    expect((await team.invite(email)).status).toBe(201);
    expect(await refused(email.toUpperCase())).toEqual([409, "INVITATION_EXISTS"]);
    const key = await team.workspace.key("workspace.admin");
    world.clock.advance(7 * DAY_MS);
    const [old] = (await team.call("GET", "/invitations", undefined, key)).body.items;
    expect(old.status).toBe("expired");
    const body = { email, role: "workspace.member" };
    expect((await team.call("POST", "/invitations", body, key)).status, "the old one has ended").toBe(201);
  });

  it("fifty who invite one address at once make one invitation", async () => {
    const team = await newTeam(world);
    const key = await team.workspace.key("workspace.admin");
    const email = someone();
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        for (;;) {
          const spelling = index % 2 === 0 ? email : email.toUpperCase();
          const answer = await team.call("POST", "/invitations", { email: spelling, role: "workspace.viewer" }, key);
          if (answer.body.code !== "CONFLICT") return answer;
        }
      }),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === "INVITATION_EXISTS")).toHaveLength(49);
  });

  it("at most a hundred are pending", async () => {
    const team = await newTeam(world);
    const key = await team.workspace.key("workspace.admin");
    const invite = () => team.call("POST", "/invitations", { email: someone(), role: "workspace.viewer" }, key);
    for (let count = 0; count < 100; count += 1) expect((await invite()).status).toBe(201);
    expect([(await invite()).status, (await invite()).body.code]).toEqual([400, "VALIDATION_ERROR"]);
    const [{ id }] = (await team.call("GET", "/invitations", undefined, key)).body.items;
    expect((await team.call("DELETE", `/invitations/${id}`, undefined, key)).status).toBe(204);
    expect((await invite()).status).toBe(201);
  });

  it("a preview tells where it leads, and of the address only a hint", async () => {
    const team = await newTeam(world);
    const invitation = (await team.invite("ada.lovelace@example.com")).body;
    const reader = await world.user();
    const shown = await team.preview(reader, tokenOf(invitation));
    expect([shown.status, shown.body]).toEqual([
      200,
      {
        kind: "email",
        workspace: { id: team.workspace.id, name: team.workspace.name, logoUrl: null },
        inviter: { name: "Grace", image: null },
        role: "workspace.member",
        expiresAt: invitation.expiresAt,
        state: "active",
        emailHint: "a***@example.com",
      },
    ]);
    const key = await team.workspace.key("workspace.admin");
    const byKey = await team.call("POST", "/invitations", { email: someone(), role: "workspace.viewer" }, key);
    expect((await team.preview(reader, tokenOf(byKey.body))).body.inviter).toBeNull();
    expect((await team.preview(reader, "unknown")).body).toMatchObject({
      code: "NOT_FOUND",
      context: { resource: "invitation" },
    });
    for (const [method, path] of [
      ["GET", `/v1/invitations/${tokenOf(invitation)}`],
      ["POST", `/v1/user/invitations/${tokenOf(invitation)}/accept`],
    ] as const) {
      expect((await world.call(method, path, { key })).body.code).toBe("FORBIDDEN");
    }
  });

  it("only whoever has the address accepts, once, and is in", async () => {
    const team = await newTeam(world);
    const [invited, other] = [await world.user(), await world.user()];
    const invitation = (await team.invite(invited.email.toUpperCase())).body;
    const token = tokenOf(invitation);
    const mismatch = await team.accept(other, token);
    expect([mismatch.status, mismatch.body.code]).toEqual([403, "INVITATION_EMAIL_MISMATCH"]);
    const joined = await team.accept(invited, token);
    expect([joined.status, joined.body]).toEqual([
      200,
      {
        outcome: "joined",
        workspaceId: team.workspace.id,
        workspaceName: team.workspace.name,
        role: "workspace.member",
      },
    ]);
    const members = (await team.call("GET", "/members", undefined, invited.token)).body.items;
    expect(members).toContainEqual(expect.objectContaining({ userId: invited.id, role: "workspace.member" }));
    const again = await team.accept(invited, token);
    expect([again.status, again.body.code, again.body.context]).toEqual([
      409,
      "INVITATION_UNAVAILABLE",
      { state: "accepted" },
    ]);
    expect((await team.preview(other, token)).body.state).toBe("accepted");
    for (const [method, path] of [
      ["POST", "/resend"],
      ["DELETE", ""],
    ] as const) {
      const ended = await team.call(method, `/invitations/${invitation.id}${path}`);
      expect(ended.body).toMatchObject({
        code: "INVALID_STATE_TRANSITION",
        context: { from: "accepted", allowed: [] },
      });
    }
  });

  it("an invited member keeps its role, and the invitation is accepted", async () => {
    const team = await newTeam(world);
    const user = await world.user();
    const invitation = (await team.invite(user.email, "workspace.admin")).body;
    await team.workspace.member(user, "workspace.viewer");
    expect((await team.accept(user, tokenOf(invitation))).body).toMatchObject({
      outcome: "already-member",
      role: "workspace.viewer",
    });
    expect((await team.call("GET", "/invitations")).body.items).toMatchObject([{ status: "accepted" }]);
  });

  it("revoked is final, can be said twice, and frees the address", async () => {
    const team = await newTeam(world);
    const user = await world.user();
    const { id, ...invitation } = (await team.invite(user.email)).body;
    const revoke = () => team.call("DELETE", `/invitations/${id}`);
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 204]);
    const accepted = await team.accept(user, tokenOf(invitation));
    expect([accepted.body.code, accepted.body.context]).toEqual(["INVITATION_UNAVAILABLE", { state: "revoked" }]);
    expect((await team.call("POST", `/invitations/${id}/resend`)).body.context).toEqual({
      from: "revoked",
      to: "pending",
      allowed: [],
    });
    expect((await team.invite(user.email)).status).toBe(201);
  });

  it("resend starts the seven days anew with the same token, at most once a minute", async () => {
    const team = await newTeam(world);
    const user = await world.user();
    const first = (await team.invite(user.email)).body;
    world.clock.advance(8 * DAY_MS);
    // Its session and its token have ended by now.
    const admin = await world.user({ email: team.admin.email });
    const resend = () => team.call("POST", `/invitations/${first.id}/resend`, undefined, admin.token);
    const second = await resend();
    expect([second.status, second.body]).toEqual([
      200,
      { ...first, status: "pending", expiresAt: second.body.expiresAt },
    ]);
    expect(Date.parse(second.body.expiresAt)).toBeGreaterThan(Date.parse(first.expiresAt) + 7 * DAY_MS);
    const tooSoon = await resend();
    expect([tooSoon.status, tooSoon.body.code]).toEqual([429, "RATE_LIMITED"]);
    const waitSeconds = Number(tooSoon.headers.get("retry-after"));
    expect(waitSeconds).toBeGreaterThan(0);
    expect(waitSeconds).toBeLessThanOrEqual(60);
    world.clock.advance(waitSeconds * 1000);
    expect((await resend()).status).toBe(200);
    const later = await world.user({ email: user.email });
    expect((await team.accept(later, tokenOf(first))).body.outcome).toBe("joined");
  });

  it("nobody else's invitation is known", async () => {
    const [team, other] = [await newTeam(world), await newTeam(world)];
    const { id } = (await other.invite(someone())).body;
    for (const name of [id, "winv_unknown", "x".repeat(128)]) {
      expect((await team.call("POST", `/invitations/${name}/resend`)).body.code).toBe("NOT_FOUND");
      expect((await team.call("DELETE", `/invitations/${name}`)).body.code).toBe("NOT_FOUND");
    }
    const member = await world.user();
    await team.workspace.member(member, "workspace.member");
    for (const path of ["/invitations", "/invite-link"]) {
      expect((await team.call("GET", path, undefined, member.token)).body.code).toBe("FORBIDDEN");
      expect((await team.call("GET", path, undefined, other.admin.token)).status).toBe(404);
    }
  });

  it("without a mail server nothing has failed, however long ago", async () => {
    const team = await newTeam(world);
    const { id } = (await team.invite(someone())).body;
    world.clock.advance(61_000);
    expect((await team.call("POST", `/invitations/${id}/resend`)).body.deliveryStatus).toBe("pending");
    world.clock.advance(2 * 3_600_000);
    await world.platform.sweep();
    const key = await team.workspace.key("workspace.admin");
    const { items } = (await team.call("GET", "/invitations", undefined, key)).body;
    expect(items).toMatchObject([{ id, deliveryStatus: "pending" }]);
  });

  it("the record goes 400 days after its end", async () => {
    const team = await newTeam(world);
    const key = await team.workspace.key("workspace.admin");
    const [kept, gone] = [(await team.invite(someone())).body, (await team.invite(someone())).body];
    await team.call("DELETE", `/invitations/${gone.id}`);
    await team.call("PUT", "/invite-link", { role: "workspace.viewer" });
    await team.call("DELETE", "/invite-link");
    const ids = async () => {
      await world.platform.sweep();
      const { items } = (await team.call("GET", "/invitations", undefined, key)).body;
      return items.map(({ id }: { id: string }) => id).sort();
    };
    world.clock.advance(399 * DAY_MS);
    expect(await ids()).toEqual([kept.id, gone.id].sort());
    world.clock.advance(2 * DAY_MS);
    expect(await ids()).toEqual([kept.id]);
    world.clock.advance(7 * DAY_MS);
    expect(await ids()).toEqual([]);
    const links = world.platform.db.selectFrom("invite_links").select("id");
    expect(await links.where("workspace_id", "=", team.workspace.id).execute()).toEqual([]);
  });
});
