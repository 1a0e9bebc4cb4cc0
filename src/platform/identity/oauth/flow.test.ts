import * as openid from "openid-client";
import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { begin, browserOf, codeOf, consent, discover, identity, PORTAL, SECRET, signIn } from "../testing/flow.ts";
import { CLI_CLIENT } from "./client.ts";

onEachDatabase(
  "signing a program in",
  (world) => {
    it("gives a token that calls the API as the user", async () => {
      const workspace = await world.workspace();
      const { tokens } = await signIn(world, "Ada@Example.com", { state: "xyz", nonce: "abc" });
      expect(tokens.access_token).toMatch(/^sp_at_[\w-]{43}$/);
      expect(tokens.expires_in).toBe(900);
      expect(tokens.claims()).toMatchObject({ email: "ada@example.com", email_verified: true, nonce: "abc" });
      const user = await world.user({ email: "ada@example.com" });
      expect(tokens.claims()?.sub).toBe(user.id);
      await workspace.member(user, "workspace.member");
      const answer = await world.call("GET", "/v1/whoami", {
        key: tokens.access_token,
        query: { workspace: workspace.name },
      });
      expect(answer.body).toMatchObject({ kind: "user", id: user.id, role: "workspace.member" });
      world.clock.advance(15 * 60_000);
      expect(await codeOf(world, tokens.access_token)).toBe("TOKEN_EXPIRED");
    });

    it("signs id tokens with a key of the published set, which also holds the managers'", async () => {
      const { verifier, url } = await begin(world);
      const browser = browserOf(world);
      const back = await consent(browser, await browser.get(url), "key@example.com");
      const strict = await openid.discovery(new URL(world.platform.url), CLI_CLIENT.id, undefined, openid.None(), {
        execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
      });
      const tokens = await openid.authorizationCodeGrant(strict, new URL(back.url), { pkceCodeVerifier: verifier });
      expect(tokens.claims()?.email).toBe("key@example.com");
      const { keys } = (await world.call("GET", "/.well-known/jwks.json")).body;
      expect(keys).toContainEqual(expect.objectContaining({ kty: "EC", alg: "ES256", use: "sig" }));
      for (const key of keys) expect(key).not.toHaveProperty("d");
    });

    it("tells clients where everything is, whatever host they ask for", async () => {
      const { body } = await world.call("GET", "/.well-known/oauth-authorization-server", {
        headers: { "x-forwarded-host": "elsewhere.example", "x-forwarded-proto": "https" },
      });
      const { url } = world.platform;
      expect(body).toMatchObject({
        issuer: url,
        authorization_endpoint: `${url}/auth/oauth2/authorize`,
        token_endpoint: `${url}/auth/oauth2/token`,
        revocation_endpoint: `${url}/auth/oauth2/revoke`,
        jwks_uri: `${url}/.well-known/jwks.json`,
        code_challenge_methods_supported: ["S256"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        response_types_supported: ["code"],
        scopes_supported: ["openid", "profile", "email", "offline_access"],
      });
    });

    it("keeps no code and no token, only their hashes", async () => {
      const { tokens, back } = await signIn(world, "hash@example.com");
      const code = new URL(back.url).searchParams.get("code") ?? "none";
      const rows = JSON.stringify(await world.platform.db.selectFrom("oauth_records").selectAll().execute());
      for (const secret of [tokens.access_token, tokens.refresh_token ?? "none", code]) {
        expect(rows).not.toContain(secret);
      }
    });

    it("gives a confidential client its token without PKCE and without asking the user again", async () => {
      const configuration = await discover(world, PORTAL.id, SECRET);
      const [redirect] = PORTAL.redirectUris;
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirect ?? "",
        scope: "openid",
        state: "s",
      });
      const browser = browserOf(world);
      const back = await browser.submit(await browser.get(url), { email: "portal@example.com" }, "/auth/dev-login");
      expect(back.url).toContain(`${redirect}?code=`);
      const tokens = await openid.authorizationCodeGrant(configuration, new URL(back.url), { expectedState: "s" });
      expect(await codeOf(world, tokens.access_token)).toBeUndefined();
      expect(tokens.refresh_token).toBeUndefined();
      // Signed in now: the next time nobody is asked anything.
      expect((await browser.get(url)).url).toContain(`${redirect}?code=`);
    });
  },
  { identity },
);

onEachDatabase(
  "sign-in under a flood",
  (world) => {
    it("is limited by address, as every request without a credential", async () => {
      const statuses: number[] = [];
      for (let i = 0; i < 25; i += 1) statuses.push((await world.call("POST", "/auth/logout")).status);
      expect(statuses.slice(0, 20)).toEqual(Array(20).fill(204));
      expect(statuses).toContain(429);
      const limited = await world.call("GET", "/.well-known/jwks.json");
      expect([limited.status, limited.body.code]).toEqual([429, "RATE_LIMITED"]);
      expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    });
  },
  { rateLimits: true },
);
