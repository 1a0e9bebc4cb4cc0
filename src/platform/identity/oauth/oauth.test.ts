import * as openid from "openid-client";
import { expect, it } from "vitest";
import { onEachDatabase, type World } from "../../testing/harness.ts";
import { type Seen, TestBrowser } from "../testing/test-browser.ts";
import { CLI_CLIENT } from "./client.ts";

const REDIRECT = "http://127.0.0.1:45123/callback";
const SECRET = "s".repeat(40);
const PORTAL = { id: "portal", name: "Portal", redirectUris: ["https://portal.example/back"], secret: SECRET };
const SPA = { id: "spa", name: "Spa", redirectUris: ["https://spa.example/back"], secret: undefined };
const identity = { outside: undefined, devLogin: true, clients: [CLI_CLIENT, PORTAL, SPA] };

/** A client library that knows nothing of us but the issuer. */
function discover(world: World, clientId = CLI_CLIENT.id, secret?: string): Promise<openid.Configuration> {
  const authentication = secret === undefined ? openid.None() : openid.ClientSecretBasic(secret);
  return openid.discovery(new URL(world.platform.url), clientId, undefined, authentication, {
    execute: [openid.allowInsecureRequests],
    algorithm: "oauth2",
  });
}

interface Flow {
  readonly configuration: openid.Configuration;
  readonly verifier: string;
  readonly url: URL;
}

async function begin(world: World, more: Record<string, string> = {}): Promise<Flow> {
  const configuration = await discover(world);
  const verifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT,
    scope: "openid profile email offline_access",
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...more,
  });
  return { configuration, verifier, url };
}

function browserOf(world: World): TestBrowser {
  return new TestBrowser((url) => url.origin !== world.platform.url);
}

/** Signs in for development, and says yes. */
async function consent(browser: TestBrowser, page: Seen, email: string): Promise<Seen> {
  const asked = page.text.includes("/auth/dev-login") ? await browser.submit(page, { email }, "/auth/dev-login") : page;
  return browser.submit(asked, { decision: "allow" });
}

async function signIn(world: World, email: string, more: Record<string, string> = {}) {
  const { configuration, verifier, url } = await begin(world, more);
  const browser = browserOf(world);
  const back = await consent(browser, await browser.get(url), email);
  const tokens = await openid.authorizationCodeGrant(configuration, new URL(back.url), {
    pkceCodeVerifier: verifier,
    ...(more.state !== undefined && { expectedState: more.state }),
    ...(more.nonce !== undefined && { expectedNonce: more.nonce }),
  });
  return { configuration, verifier, browser, back, tokens };
}

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
    });
  },
  { identity },
);
