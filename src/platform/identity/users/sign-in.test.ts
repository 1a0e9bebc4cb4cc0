import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startPlatform } from "../../server.ts";
import { inMemory } from "../../testing/empty-database.ts";
import { call, onEachDatabase } from "../../testing/harness.ts";
import { CLI_CLIENT } from "../oauth/client.ts";
import { identity } from "../testing/flow.ts";
import { OutsideProviderUnderTest, type Person } from "../testing/outside.ts";
import { TestBrowser } from "../testing/test-browser.ts";
import { SESSION_COOKIE } from "./session.ts";

const CLIENT = { id: "sallyport", secret: "t".repeat(40) };

const outside = await OutsideProviderUnderTest.start();
afterAll(() => outside.close());
const logged: string[] = [];
const atOutside = {
  identity: {
    outside: { issuer: outside.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, name: "Example Org" },
    devLogin: false,
    clients: [CLI_CLIENT],
  },
  log: pino({ level: "debug" }, { write: (line: string) => void logged.push(line) }),
};

for (const [where, claimsInIdToken] of [
  ["in the id token", true],
  ["only at the userinfo endpoint", false],
] as const) {
  onEachDatabase(
    `signing in at an outside provider that says who it is ${where}`,
    (world) => {
      beforeAll(() => {
        outside.serve({ ...CLIENT, redirectUri: `${world.platform.url}/auth/callback`, claimsInIdToken });
        logged.length = 0;
      });

      async function visit(person: Person, browser = new TestBrowser()) {
        outside.person = person;
        const page = await browser.get(
          `${world.platform.url}/auth/login?returnTo=${encodeURIComponent("/auth/sign-in?x=1")}`,
        );
        return { page, browser, cookie: browser.cookie(world.platform.url, SESSION_COOKIE) };
      }

      const verified = (sub: string, email: string) => ({ sub, email, email_verified: true, name: "Ada Lovelace" });

      it("makes the user at the first sign-in, and finds it at the next", async () => {
        const picture = "https://pictures.example/ada.png";
        const first = await visit({ ...verified("ada", "Ada@Example.com"), picture });
        expect(first.page.url).toBe(`${world.platform.url}/auth/sign-in?x=1`);
        expect(first.page.text).toContain("ada@example.com");
        const profile = () =>
          call(world.platform.url, "GET", "/v1/user/profile", {
            headers: { cookie: `${SESSION_COOKIE}=${first.cookie}` },
          });
        const { body } = await profile();
        expect(body).toMatchObject({ email: "ada@example.com", name: "Ada Lovelace", image: picture });
        // The subject decides: at the provider an address may change.
        await visit(verified("ada", "ada.king@example.com"));
        expect(await world.platform.db.selectFrom("users").select("id").execute()).toEqual([{ id: body.id }]);
      });

      it("finds who was made a member beforehand", async () => {
        const { id } = await world.platform.bootstrap.workspace("known");
        const now = world.clock.wallNow();
        const user = { id: `usr_${"a".repeat(28)}`, email: "grace@example.com", name: "grace", created_at: now };
        await world.platform.db.insertInto("users").values(user).execute();
        const member = { workspace_id: id, user_id: user.id, role: "workspace.admin" as const, created_at: now };
        await world.platform.db.insertInto("workspace_members").values(member).execute();
        const { cookie } = await visit(verified("grace", "grace@example.com"));
        const headers = { cookie: `${SESSION_COOKIE}=${cookie}` };
        const query = { workspace: "known" };
        expect((await call(world.platform.url, "GET", "/v1/whoami", { headers, query })).body.role).toBe(
          "workspace.admin",
        );
      });

      it.each([
        ["an address that is not verified", { sub: "m1", email: "m1@example.com", email_verified: false }],
        ["an address of which nothing is said", { sub: "m2", email: "m2@example.com" }],
        ["no address", { sub: "m3" }],
        [
          "an address that has passed to another subject",
          { sub: "m4", email: "ada@example.com", email_verified: true },
        ],
      ])("refuses %s", async (_, person) => {
        const { page, cookie } = await visit(person);
        expect([page.status, cookie]).toEqual([400, undefined]);
        expect(page.text).toContain("You are not signed in");
        const users = await world.platform.db.selectFrom("users").select("email").execute();
        expect(users.map(({ email }) => email)).not.toContain(`${person.sub}@example.com`);
      });

      it("takes an answer once, in the browser that asked, and not long after", async () => {
        outside.person = verified("once", "once@example.com");
        const stopped = () => new TestBrowser((url) => url.pathname === "/auth/callback");
        const browser = stopped();
        const { url } = await browser.get(`${world.platform.url}/auth/login`);
        const stranger = await new TestBrowser().get(url);
        expect([stranger.status, stranger.text]).toEqual([400, expect.stringContaining("not begun in this browser")]);
        const forged = new URL(url);
        forged.searchParams.set("state", "forged");
        expect((await browser.get(forged)).status).toBe(400);
        // That attempt is over, the right answer comes too late now.
        expect((await browser.get(url)).text).toContain("not begun in this browser");

        const slow = stopped();
        const late = await slow.get(`${world.platform.url}/auth/login`);
        world.clock.advance(15 * 60_000);
        expect((await slow.get(late.url)).text).toContain("took too long");
        expect(slow.cookie(world.platform.url, SESSION_COOKIE)).toBeUndefined();

        const log = logged.join("");
        expect(log).toContain("sign-in refused");
        for (const visited of [url, late.url]) {
          for (const name of ["code", "state"]) expect(log).not.toContain(new URL(visited).searchParams.get(name));
        }
        expect(log).not.toContain("once@example.com");
      });

      it("says it when the provider refuses", async () => {
        const browser = new TestBrowser((url) => url.origin === outside.issuer);
        const { url } = await browser.get(`${world.platform.url}/auth/login`);
        const state = new URL(url).searchParams.get("state");
        const page = await browser.get(
          `${world.platform.url}/auth/callback?error=access_denied&state=${state}&iss=${outside.issuer}`,
        );
        expect([page.status, page.text]).toEqual([400, expect.stringContaining("the provider refused: access_denied")]);
      });

      it("shows its name on the sign-in page, and no other way", async () => {
        const { text, headers } = await new TestBrowser().get(`${world.platform.url}/auth/sign-in`);
        expect(text).toContain("Sign in with Example Org");
        expect(text).not.toContain("dev-login");
        expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
        const dev = await call(world.platform.url, "POST", "/auth/dev-login", { body: { email: "a@example.com" } });
        expect([dev.status, dev.body.code]).toEqual([404, "ROUTE_NOT_FOUND"]);
      });
    },
    atOutside,
  );
}

it("answers 503 while the outside provider is away, and asks it again the next time", async () => {
  const provider = { issuer: "http://127.0.0.1:1", clientId: "x", clientSecret: undefined, name: "Away" };
  const identity = { outside: provider, devLogin: false, clients: [CLI_CLIENT] };
  const platform = await startPlatform({ database: await inMemory(), identity });
  try {
    for (let i = 0; i < 2; i += 1) {
      const answer = await call(platform.url, "GET", "/auth/login");
      expect([answer.status, answer.body.code]).toEqual([503, "SERVICE_UNAVAILABLE"]);
    }
  } finally {
    await platform.close();
  }
});

it("sends cookies over https only, and signs nobody in without proof, where the address is not loopback", async () => {
  const options = { database: await inMemory(), baseUrl: "https://sallyport.example", identity };
  const platform = await startPlatform(options);
  try {
    const dev = await call(platform.url, "POST", "/auth/dev-login", { body: { email: "a@example.com" } });
    expect([dev.status, dev.body.code]).toEqual([404, "ROUTE_NOT_FOUND"]);
    const out = await call(platform.url, "POST", "/auth/logout");
    expect(out.headers.get("set-cookie")).toMatch(/^sp_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax; Secure$/);
  } finally {
    await platform.close();
  }
});

onEachDatabase(
  "signing in for development",
  (world) => {
    const dev = (body: unknown, headers = {}) => world.call("POST", "/auth/dev-login", { body, headers });

    it("gives a session", async () => {
      const answer = await dev({ email: "Dev@Example.com", name: "Dev" });
      expect(answer.status).toBe(200);
      expect(answer.body.user).toMatchObject({ email: "dev@example.com", name: "Dev", image: null });
      const cookie = answer.headers.get("set-cookie") ?? "";
      expect(cookie).toMatch(/^sp_session=\w{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/);
      const headers = { cookie: cookie.split(";")[0] ?? "", origin: world.platform.url };
      const profile = await world.call("GET", "/v1/user/profile", { headers });
      expect(profile.body.id).toBe(answer.body.user.id);
      const page = await fetch(new URL("/auth/sign-in", world.platform.url), { headers });
      expect(await page.text()).toContain("dev@example.com");

      const foreign = await world.call("POST", "/auth/logout", {
        headers: { ...headers, origin: "https://elsewhere.example" },
      });
      expect([foreign.status, foreign.body.code]).toEqual([403, "CSRF_REJECTED"]);
      expect((await world.call("POST", "/auth/logout", { headers })).status).toBe(204);
      expect((await world.call("GET", "/v1/user/profile", { headers })).body.code).toBe("TOKEN_EXPIRED");
    });

    it("is refused to pages of other sites, and to what is no address", async () => {
      expect((await dev({ email: "a@example.com" }, { origin: "https://elsewhere.example" })).body.code).toBe(
        "CSRF_REJECTED",
      );
      for (const body of [{}, { email: "nobody" }, { email: "a@example.com", admin: true }, [], '"text"']) {
        expect((await dev(body)).body.code).toBe("VALIDATION_ERROR");
      }
      expect((await dev("{", {})).body.code).toBe("MALFORMED_JSON");
    });

    it.each(["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example", "javascript:alert(1)"])(
      "never leads to %s",
      async (returnTo) => {
        for (const path of ["/auth/login", "/auth/sign-in"]) {
          const answer = await world.call("GET", path, { query: { returnTo } });
          expect([answer.status, answer.body.code], path).toEqual([400, "VALIDATION_ERROR"]);
        }
        const form = { email: "a@example.com", returnTo };
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        const answer = await dev(new URLSearchParams(form).toString(), headers);
        expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_ERROR"]);
      },
    );

    it("leads to its own page where no provider is configured", async () => {
      const answer = await world.call("GET", "/auth/login", { query: { returnTo: "/docs" } });
      expect([answer.status, answer.headers.get("location")]).toEqual([302, "/auth/sign-in?returnTo=%2Fdocs"]);
      expect((await world.call("GET", "/auth/callback")).body.code).toBe("ROUTE_NOT_FOUND");
    });
  },
  { identity },
);
