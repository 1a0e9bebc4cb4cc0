import { expect, it, vi } from "vitest";
import type { Mail, Mailer } from "../../ports/mailer.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newTeam, type Team } from "./testing/team.ts";

/** A mail server of our own: holds each mail until the test says what becomes of it. */
class Post implements Mailer {
  readonly #handed: { readonly mail: Mail; take(): void; refuse(): void }[] = [];

  send(mail: Mail, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    this.#handed.push({ mail, take: resolve, refuse: () => reject(new Error("the mail server refused: 550")) });
    return promise;
  }

  to(address: string) {
    return this.#handed.filter(({ mail }) => mail.to === address);
  }

  async next(address: string, index = 0) {
    await vi.waitFor(() => expect(this.to(address).length).toBeGreaterThan(index), { timeout: 60_000 });
    const each = this.to(address)[index];
    if (each === undefined) throw new Error("no such mail");
    return each;
  }
}

const post = new Post();
let addresses = 0;
const someone = (): string => `someone-${addresses++}@example.com`;

const options = { mailer: post, portalUrl: "https://portal.example.com" };

onEachDatabase(
  "the courier",
  (world) => {
    const find = async (team: Team, id: string) => {
      const { items } = (await team.call("GET", "/invitations")).body;
      return items.find((each: { id: string }) => each.id === id);
    };
    const toBecome = (team: Team, id: string, deliveryStatus: string) =>
      vi.waitFor(async () => expect(await find(team, id)).toMatchObject({ deliveryStatus }), { timeout: 60_000 });

    it("sends what was asked for, and says when", async () => {
      const team = await newTeam(world);
      const email = someone();
      const made = (await team.invite(email, "workspace.viewer")).body;
      expect(made).toMatchObject({ deliveryStatus: "pending", lastSentAt: null });
      const { mail, take } = await post.next(email);
      expect(mail).toMatchObject({ to: email, subject: `Invitation to ${team.workspace.name}` });
      expect(made.inviteUrl).toMatch(/^https:\/\/portal\.example\.com\/invite\//);
      expect(mail.text).toContain(made.inviteUrl);
      expect(mail.text).toContain(`Grace invites you to join the workspace ${team.workspace.name} as viewer.`);
      take();
      await toBecome(team, made.id, "sent");
      expect((await find(team, made.id)).lastSentAt).toEqual(expect.any(String));
    });

    it("gives up what was refused, until somebody sends it again", async () => {
      const team = await newTeam(world);
      const email = someone();
      const { id } = (await team.invite(email)).body;
      (await post.next(email)).refuse();
      await toBecome(team, id, "failed");
      expect(await find(team, id)).toMatchObject({ status: "pending", lastSentAt: null });
      expect((await team.call("POST", `/invitations/${id}/resend`)).body.deliveryStatus).toBe("pending");
      (await post.next(email, 1)).take();
      await toBecome(team, id, "sent");
      expect(post.to(email)).toHaveLength(2);
    });

    it("sends anew what was asked for anew while it was sending", async () => {
      const team = await newTeam(world);
      const email = someone();
      const { id } = (await team.invite(email)).body;
      const early = await post.next(email);
      expect((await team.call("POST", `/invitations/${id}/resend`)).status).toBe(200);
      early.refuse();
      (await post.next(email, 1)).take();
      await toBecome(team, id, "sent");
    });

    it("sends nothing of what was revoked before, and gives up what nobody could send in an hour", async () => {
      const team = await newTeam(world);
      const [busy, email] = [someone(), someone()];
      const first = (await team.invite(busy)).body;
      const held = await post.next(busy);
      const waiting = (await team.invite(email)).body;
      expect((await team.call("DELETE", `/invitations/${waiting.id}`)).status).toBe(204);
      held.take();
      await toBecome(team, first.id, "sent");
      const key = await team.workspace.key("workspace.admin");
      world.clock.advance(3_600_001);
      await world.platform.sweep();
      const { items } = (await team.call("GET", "/invitations", undefined, key)).body;
      expect(items.find((each: { id: string }) => each.id === waiting.id).deliveryStatus).toBe("failed");
      expect(post.to(email)).toHaveLength(0);
    });
  },
  options,
);
