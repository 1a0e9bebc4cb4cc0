import * as openid from "openid-client";
import { describe, expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { begin, browserOf, consent, identity, post, REDIRECT, SPA, signIn, TOKEN } from "../testing/flow.ts";
import type { TestBrowser } from "../testing/test-browser.ts";

onEachDatabase(
  "an authorisation request",
  (world) => {
    describe("refuses an authorisation request", () => {
      const asked = async (change: Record<string, string | undefined>, headers: Record<string, string> = {}) => {
        const { url } = await begin(world);
        for (const [name, value] of Object.entries(change)) {
          if (value === undefined) url.searchParams.delete(name);
          else url.searchParams.set(name, value);
        }
        return fetch(url, { redirect: "manual", headers });
      };

      it.each([
        ["plain", { code_challenge_method: "plain" }, "invalid_request"],
        ["no method, which would mean plain", { code_challenge_method: undefined }, "invalid_request"],
        ["no challenge", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
        ["a token at once", { response_type: "token" }, "unsupported_response_type"],
        ["an id token at once", { response_type: "code id_token", nonce: "n" }, "unsupported_response_type"],
        ["no user to ask", { prompt: "none" }, "login_required"],
      ])("%s", async (_, change, error) => {
        const answer = await asked({ state: "s1", ...change });
        expect(answer.status).toBe(302);
        const back = new URL(answer.headers.get("location") ?? "");
        // Only a response type with a token in it comes back in the fragment.
        const told = back.search === "" ? new URLSearchParams(back.hash.slice(1)) : back.searchParams;
        expect([back.origin + back.pathname, told.get("error"), told.get("state")]).toEqual([REDIRECT, error, "s1"]);
      });

      it.each([
        ["an unknown client", { client_id: "nobody" }],
        ["no client", { client_id: undefined }],
        ["another site", { redirect_uri: "https://elsewhere.example/callback" }],
        ["another path", { redirect_uri: "http://127.0.0.1:45123/elsewhere" }],
        ["another host", { redirect_uri: "http://127.0.0.2:45123/callback" }],
        ["a user before the host", { redirect_uri: "http://127.0.0.1@elsewhere.example/callback" }],
        ["no address", { redirect_uri: undefined }],
      ])("and does not send the browser away: %s", async (_, change) => {
        const answer = await asked(change);
        expect(answer.status).toBe(400);
        expect(answer.headers.get("location")).toBeNull();
        expect(((await answer.json()) as { error: string }).error).toMatch(/^invalid_(client|request|redirect_uri)$/);
        const page = await asked(change, { accept: "text/html" });
        expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
        expect(await page.text()).toContain("The sign-in cannot go on");
      });
    });

    describe("without a page (prompt=none)", () => {
      const signedIn = async (email: string) => {
        const browser = browserOf(world);
        await consent(browser, await browser.get((await begin(world)).url), email);
        return browser;
      };
      const asked = async (browser: TestBrowser, more: Record<string, string> = {}) => {
        const [redirect_uri = ""] = SPA.redirectUris;
        const { url, verifier } = await begin(world, { prompt: "none", state: "s", redirect_uri, ...more });
        if (more.redirect_uri === undefined) url.searchParams.set("client_id", SPA.id);
        const back = new URL((await browser.get(url)).url).searchParams;
        expect(back.get("state")).toBe("s");
        return { error: back.get("error"), code: back.get("code"), verifier, redirect_uri };
      };

      const tokens = async (browser: TestBrowser) => {
        const { code, verifier, redirect_uri } = await asked(browser);
        const form = { grant_type: "authorization_code", client_id: SPA.id, code: code ?? "", redirect_uri };
        const { status, body } = await post(world, TOKEN, { ...form, code_verifier: verifier });
        expect([status, body.refresh_token]).toEqual([200, undefined]);
        return body;
      };

      it("gives a client with a site of its own a code for whoever is signed in", async () => {
        const { access_token: key } = await tokens(await signedIn("silent@example.com"));
        expect((await world.call("GET", "/v1/user/profile", { key })).body.email).toBe("silent@example.com");
      });

      it("says what the user would have to be asked", async () => {
        expect((await asked(browserOf(world))).error).toBe("login_required");
        const browser = await signedIn("asked@example.com");
        expect((await asked(browser, { redirect_uri: REDIRECT })).error).toBe("consent_required");
        world.clock.advance(2_000);
        expect((await asked(browser, { max_age: "1" })).error).toBe("login_required");
        const { id_token: own } = await tokens(browser);
        expect((await asked(browser, { id_token_hint: own })).error).toBeNull();
        const { id_token: other } = await tokens(await signedIn("other@example.com"));
        expect((await asked(browser, { id_token_hint: other })).error).toBe("login_required");
        expect((await asked(browser, { prompt: "none login" })).error).toBe("invalid_request");
        world.clock.advance(12 * 3_600_000);
        expect((await asked(browser)).error).toBe("login_required");
      });

      it("is not what a client's own parameter makes it", async () => {
        const browser = browserOf(world);
        const page = await browser.get((await begin(world, { sp_silent: "true" })).url);
        expect(page.text).toContain("Sign in for development");
      });
    });

    describe("of another user than the hinted one", () => {
      const emailOf = async ({ access_token: key }: { readonly access_token: string }) =>
        (await world.call("GET", "/v1/user/profile", { key })).body.email;
      /** By the real clock, which is the library's. */
      const signedInBefore = () =>
        world.platform.db
          .updateTable("sessions")
          .set({ created_at: new Date(Date.now() - 60_000) })
          .execute();

      it("asks who it is, and answers only as the hinted one", async () => {
        const { tokens: hinted } = await signIn(world, "hinted@example.com");
        const { browser } = await signIn(world, "present@example.com");
        await signedInBefore();
        const { url, configuration, verifier } = await begin(world, { id_token_hint: hinted.id_token ?? "" });
        const page = await browser.get(url);
        expect(page.text).toContain("Sign in for development");
        const back = await consent(browser, page, "hinted@example.com");
        const tokens = await openid.authorizationCodeGrant(configuration, new URL(back.url), {
          pkceCodeVerifier: verifier,
        });
        expect(await emailOf(tokens)).toBe("hinted@example.com");
      });

      it("is login_required once another one has signed in", async () => {
        const { tokens: hinted } = await signIn(world, "wanted@example.com");
        const { browser } = await signIn(world, "other@example.com");
        await signedInBefore();
        const { url } = await begin(world, { id_token_hint: hinted.id_token ?? "", state: "s" });
        const page = await browser.get(url);
        const back = new URL((await browser.submit(page, { email: "third@example.com" }, "/auth/dev-login")).url);
        const { error, state, code } = Object.fromEntries(back.searchParams);
        expect({ origin: back.origin, error, state, code }).toEqual({
          origin: new URL(REDIRECT).origin,
          error: "login_required",
          state: "s",
          code: undefined,
        });
      });

      it("is no matter when it is the same one", async () => {
        const { tokens, browser } = await signIn(world, "same@example.com");
        const { url } = await begin(world, { id_token_hint: tokens.id_token ?? "" });
        expect((await browser.get(url)).text).toContain("Let Sallyport CLI in?");
      });
    });

    describe("the consent page", () => {
      it("can be refused", async () => {
        const { url } = await begin(world, { state: "s" });
        const browser = browserOf(world);
        const asked = await browser.submit(await browser.get(url), { email: "no@example.com" }, "/auth/dev-login");
        const back = new URL((await browser.submit(asked, { decision: "deny" })).url);
        expect([back.searchParams.get("error"), back.searchParams.get("state")]).toEqual(["access_denied", "s"]);
      });

      it("takes no yes from another site, nor for another user than it showed", async () => {
        const { url } = await begin(world);
        const browser = browserOf(world);
        const asked = await browser.submit(await browser.get(url), { email: "yes@example.com" }, "/auth/dev-login");
        const forged = { ...asked, url: asked.url.replace("127.0.0.1", "localhost") };
        const attempt = await browser.submit(
          { ...forged, text: asked.text.replaceAll('action="/', `action="${world.platform.url}/`) },
          { decision: "allow" },
        );
        expect([attempt.status, JSON.parse(attempt.text).code]).toEqual([403, "CSRF_REJECTED"]);
        const again = await browser.submit(asked, { decision: "allow", user: "usr_somebody" });
        expect(again.text).toContain("yes@example.com");
        expect((await browser.submit(again, { decision: "allow" })).url).toContain(`${REDIRECT}?code=`);
      });

      it("belongs to the browser in which it was begun", async () => {
        const { url } = await begin(world);
        const page = await browserOf(world).get(url);
        const elsewhere = await browserOf(world).get(page.url);
        expect([elsewhere.status, elsewhere.text]).toEqual([400, expect.stringContaining("another browser")]);
      });

      it("asks who it is again when the client wants that", async () => {
        const browser = browserOf(world);
        const first = await begin(world);
        await consent(browser, await browser.get(first.url), "again@example.com");
        expect((await browser.get((await begin(world)).url)).text).toContain("Let Sallyport CLI in?");
        world.clock.advance(2_000);
        expect((await browser.get((await begin(world, { max_age: "1" })).url)).text).toContain(
          "Sign in for development",
        );
        expect((await browser.get((await begin(world, { max_age: "3600" })).url)).text).toContain(
          "Let Sallyport CLI in?",
        );
      });

      it("escapes what others wrote", async () => {
        const { url } = await begin(world);
        const browser = browserOf(world);
        const page = await browser.submit(
          await browser.get(url),
          { email: "o'neil&co@example.com" },
          "/auth/dev-login",
        );
        expect(page.text).toContain('<span class="who">o&#39;neil&#38;co@example.com</span>');
      });
    });
  },
  { identity },
);
