import * as openid from "openid-client";
import type { World } from "../../testing/harness.ts";
import { CLI_CLIENT } from "../oauth/client.ts";
import { type Seen, TestBrowser } from "./test-browser.ts";

export const REDIRECT = "http://127.0.0.1:45123/callback";
export const SECRET = "s".repeat(40);
export const PORTAL = { id: "portal", name: "Portal", redirectUris: ["https://portal.example/back"], secret: SECRET };
export const SPA = { id: "spa", name: "Spa", redirectUris: ["https://spa.example/back"], secret: undefined };
export const identity = { outside: undefined, devLogin: true, clients: [CLI_CLIENT, PORTAL, SPA] };

/** Where the platform is. */
interface Site {
  readonly platform: { readonly url: string };
}

/** A client library that knows nothing of us but the issuer. */
export function discover(world: Site, clientId = CLI_CLIENT.id, secret?: string): Promise<openid.Configuration> {
  const authentication = secret === undefined ? openid.None() : openid.ClientSecretBasic(secret);
  return openid.discovery(new URL(world.platform.url), clientId, undefined, authentication, {
    execute: [openid.allowInsecureRequests],
    algorithm: "oauth2",
  });
}

export interface Flow {
  readonly configuration: openid.Configuration;
  readonly verifier: string;
  readonly url: URL;
}

export async function begin(world: Site, more: Record<string, string> = {}): Promise<Flow> {
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

export function browserOf(world: World): TestBrowser {
  return new TestBrowser((url) => url.origin !== world.platform.url);
}

/** Signs in for development, and says yes. */
export async function consent(browser: TestBrowser, page: Seen, email: string): Promise<Seen> {
  const asked = page.text.includes("/auth/dev-login") ? await browser.submit(page, { email }, "/auth/dev-login") : page;
  return browser.submit(asked, { decision: "allow" });
}

export async function signIn(world: World, email: string, more: Record<string, string> = {}) {
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

/** The token endpoint as any program calls it. */
export async function post(
  world: World,
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const response = await fetch(new URL(path, world.platform.url), {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(form),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

export const TOKEN = "/auth/oauth2/token";
export const cli = { client_id: CLI_CLIENT.id };

/** A code that was not used yet. */
export async function freshCode(world: World, email: string, more: Record<string, string> = {}) {
  const { verifier, url } = await begin(world, more);
  const browser = browserOf(world);
  const back = await consent(browser, await browser.get(url), email);
  const code = new URL(back.url).searchParams.get("code") ?? "";
  return { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: verifier, ...cli };
}

export async function codeOf(world: World, key: string): Promise<string | undefined> {
  return (await world.call("GET", "/v1/user/profile", { key })).body.code;
}
