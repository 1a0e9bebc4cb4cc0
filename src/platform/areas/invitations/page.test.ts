import { expect, it } from "vitest";
import { identity } from "../../identity/testing/flow.ts";
import { type Seen, TestBrowser } from "../../identity/testing/test-browser.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newTeam, tokenOf } from "./testing/team.ts";

onEachDatabase(
  "the page of an invitation",
  (world) => {
    const signIn = (browser: TestBrowser, page: Seen, email: string) =>
      browser.submit(page, { email, name: "" }, "/auth/dev-login");
    const pathOf = (invitation: { inviteUrl: string }) => `/invite/${tokenOf(invitation)}`;

    it("signs the invited in, tells where it leads, and lets them join", async () => {
      const team = await newTeam(world);
      const invitation = (await team.invite("page@example.com", "workspace.viewer")).body;
      const browser = new TestBrowser();
      const entry = await browser.get(invitation.inviteUrl);
      expect(new URL(entry.url).pathname).toBe("/auth/sign-in");
      const page = await signIn(browser, entry, "Page@Example.com");
      expect(page.url).toBe(invitation.inviteUrl);
      expect(page.text).toContain("Grace");
      expect(page.text).toContain(`Join ${team.workspace.name}`);
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      const joined = await browser.submit(page, {}, pathOf(invitation));
      expect([joined.status, joined.text]).toEqual([200, expect.stringContaining(`You are in ${team.workspace.name}`)]);
      const members = (await team.call("GET", "/members")).body.items;
      expect(members).toContainEqual(expect.objectContaining({ email: "page@example.com", role: "workspace.viewer" }));
      const again = await browser.submit(page, {}, pathOf(invitation));
      expect([again.status, again.text]).toEqual([409, expect.stringContaining("This invitation cannot be used")]);
      expect((await browser.get(invitation.inviteUrl)).text).toContain("It has been accepted already.");
    });

    it("lets nobody else in, and lets them come as somebody else", async () => {
      const team = await newTeam(world);
      const invitation = (await team.invite("right@example.com")).body;
      const browser = new TestBrowser();
      const page = await signIn(browser, await browser.get(invitation.inviteUrl), "wrong@example.com");
      expect(page.text).not.toContain("right@example.com");
      const refused = await browser.submit(page, {}, pathOf(invitation));
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("Not for this address")]);
      const out = await browser.submit(refused, {}, "/auth/logout");
      const right = await signIn(browser, out, "right@example.com");
      expect((await browser.submit(right, {}, pathOf(invitation))).text).toContain("You are in");
    });

    it("knows links, and says when there is no such invitation", async () => {
      const team = await newTeam(world);
      const link = (await team.call("PUT", "/invite-link", { role: "workspace.member" })).body;
      const browser = new TestBrowser();
      const page = await signIn(browser, await browser.get(link.inviteUrl), "anybody@example.com");
      expect((await browser.submit(page, {}, pathOf(link))).text).toContain("as member");
      await team.call("DELETE", "/invite-link");
      expect((await browser.get(link.inviteUrl)).text).toContain("It was revoked.");
      const unknown = await browser.get(`${world.platform.url}/invite/${"x".repeat(43)}`);
      expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining("There is no such invitation.")]);
    });

    it("accepts nothing that another site sends, and shows names as text", async () => {
      const team = await newTeam(world);
      await world.call("PATCH", "/v1/user/profile", { key: team.admin.token, body: { name: "<b>Grace</b>" } });
      const user = await world.user();
      const invitation = (await team.invite(user.email)).body;
      const { cookie } = user;
      const shown = await fetch(invitation.inviteUrl, { headers: { cookie } });
      expect(await shown.text()).toContain("&#60;b&#62;Grace");
      for (const origin of ["https://elsewhere.example", undefined]) {
        const headers = { cookie, ...(origin !== undefined && { origin }) };
        const answer = await fetch(invitation.inviteUrl, { method: "POST", headers });
        expect(answer.status).toBe(403);
      }
      expect((await team.call("GET", "/members")).body.items).toHaveLength(1);
    });
  },
  { identity },
);
