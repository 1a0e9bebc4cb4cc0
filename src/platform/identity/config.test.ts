import { describe, expect, it } from "vitest";
import { isPlainLoopback } from "../../base/loopback.ts";
import { ConfigError } from "../../base/settings.ts";
import { readPlatformConfig } from "../platform-config.ts";
import { CLI_CLIENT, parseClients } from "./oauth/client.ts";

const OIDC = {
  SALLYPORT_PLATFORM_OIDC_ISSUER: "https://login.example.com",
  SALLYPORT_PLATFORM_OIDC_CLIENT_ID: "sallyport",
};
const SECRET = "s".repeat(32);

describe("how users sign in, by the settings", () => {
  it("is not at all by default: then there are keys only", () => {
    const { identity, firstAdmin } = readPlatformConfig({});
    expect(identity).toEqual({ outside: undefined, devLogin: false, clients: [CLI_CLIENT] });
    expect(firstAdmin).toBeUndefined();
  });

  it("is at the OpenID provider that is named", () => {
    const named = {
      ...OIDC,
      SALLYPORT_PLATFORM_OIDC_NAME: "Example Org",
      SALLYPORT_PLATFORM_FIRST_ADMIN: "ada@example.com",
    };
    const { identity, firstAdmin } = readPlatformConfig(named);
    expect(identity.outside).toEqual({
      issuer: "https://login.example.com",
      clientId: "sallyport",
      clientSecret: undefined,
      name: "Example Org",
    });
    expect(firstAdmin).toBe("ada@example.com");
  });

  it.each([
    [
      { ...OIDC, SALLYPORT_PLATFORM_OIDC_ISSUER: "http://login.example.com" },
      "SALLYPORT_PLATFORM_OIDC_ISSUER must be an https URL",
    ],
    [{ ...OIDC, SALLYPORT_PLATFORM_OIDC_CLIENT_ID: "" }, "SALLYPORT_PLATFORM_OIDC_CLIENT_ID must be set"],
    [{ AUTH_DEV_LOGIN: "yes" }, "AUTH_DEV_LOGIN must be true or false"],
    [{ AUTH_DEV_LOGIN: "true", SALLYPORT_PLATFORM_HOST: "0.0.0.0" }, "AUTH_DEV_LOGIN must be false"],
    [
      {
        AUTH_DEV_LOGIN: "true",
        SALLYPORT_PLATFORM_HOST: "0.0.0.0",
        SALLYPORT_PLATFORM_BASE_URL: "http://127.0.0.1:8080",
      },
      "AUTH_DEV_LOGIN must be false: every client that reaches 0.0.0.0 could sign in as any user; listen on 127.0.0.1",
    ],
    [
      { AUTH_DEV_LOGIN: "true", SALLYPORT_PLATFORM_BASE_URL: "https://api.example.com" },
      "AUTH_DEV_LOGIN must be false",
    ],
    [
      { AUTH_DEV_LOGIN: "true", SALLYPORT_PLATFORM_BASE_URL: "http://127.0.0.1.example.com" },
      "AUTH_DEV_LOGIN must be false",
    ],
    [{ SALLYPORT_PLATFORM_FIRST_ADMIN: "ada" }, "SALLYPORT_PLATFORM_FIRST_ADMIN must be an email address"],
    [{ SALLYPORT_PLATFORM_OAUTH_CLIENTS: "{" }, "SALLYPORT_PLATFORM_OAUTH_CLIENTS must be a JSON array"],
  ])("%j is refused", (environment, words) => {
    expect(() => readPlatformConfig(environment)).toThrow(ConfigError);
    expect(() => readPlatformConfig(environment)).toThrow(words);
  });

  it.each(["127.0.0.1", "::1", "localhost"])("lets anybody in for development on %s", (host) => {
    const { identity } = readPlatformConfig({ AUTH_DEV_LOGIN: "true", SALLYPORT_PLATFORM_HOST: host });
    expect(identity.devLogin).toBe(true);
  });
});

describe("programs that users may sign in to", () => {
  const web = { id: "portal", redirectUris: ["https://portal.example/back"], secret: SECRET };

  it("are confidential with a secret, public without", () => {
    const desk = { id: "desk", name: "Desk", redirectUris: ["http://127.0.0.1/cb", "http://[::1]/cb"] };
    expect(parseClients(JSON.stringify([web, desk]))).toEqual([
      { ...web, name: "portal" },
      { ...desk, secret: undefined },
    ]);
  });

  it.each([
    ["no array", web],
    ["not an object", ["portal"]],
    ["no id", [{ ...web, id: undefined }]],
    ["an odd id", [{ ...web, id: "a b" }]],
    ["the built-in one's id", [{ ...web, id: CLI_CLIENT.id }]],
    ["an id twice", [web, web]],
    ["no redirect", [{ ...web, redirectUris: [] }]],
    ["a redirect in the clear", [{ ...web, redirectUris: ["http://portal.example/back"] }]],
    ["a scheme of its own", [{ ...web, redirectUris: ["portal:back"] }]],
    ["a redirect with a fragment", [{ ...web, redirectUris: ["https://portal.example/back#x"] }]],
    ["loopback beside https", [{ ...web, redirectUris: [...web.redirectUris, "http://127.0.0.1/cb"] }]],
    ["a short secret", [{ ...web, secret: "short" }]],
  ])("are refused: %s", (_, clients) => expect(parseClients(JSON.stringify(clients))).toBeUndefined());
});

it.each([
  ["http://127.0.0.1:8080", true],
  ["http://127.8.9.1", true],
  ["http://[::1]:1/x", true],
  ["http://localhost", true],
  ["https://127.0.0.1", false],
  ["http://0.0.0.0", false],
  ["http://127.0.0.1.example.com", false],
  ["http://127.0.0.1@example.com", false],
  ["http://localhost.example.com", false],
  ["http://example.com/127.0.0.1", false],
])("%s is plain loopback: %s", (url, expected) => expect(isPlainLoopback(url)).toBe(expected));
