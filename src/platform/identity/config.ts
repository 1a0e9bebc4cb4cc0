import { isPlainLoopback } from "../../base/loopback.ts";
import type { SettingRow, SettingTable } from "../../base/settings.ts";
import { CLI_CLIENT, type OAuthClient, parseClients } from "./oauth/client.ts";
import type { OutsideProviderConfig } from "./users/outside-provider.ts";

/** How users sign in. By default no way is configured, and only API keys work. */
export interface IdentityConfig {
  readonly outside: OutsideProviderConfig | undefined;
  /** Lets any person sign in as any user: only for a developer's own machine. */
  readonly devLogin: boolean;
  /** Programs that users may sign in to; the command line is one of them. */
  readonly clients: readonly OAuthClient[];
}

export const NO_SIGN_IN: IdentityConfig = { outside: undefined, devLogin: false, clients: [CLI_CLIENT] };

/** Included in `PLATFORM_SETTINGS`, the only table of the platform's settings. */
export const IDENTITY_SETTINGS = {
  oidcIssuer: {
    env: "SALLYPORT_PLATFORM_OIDC_ISSUER",
    default: "",
    doc: "Address of the OpenID provider that signs users in; its callback is /auth/callback under the base URL. Empty: none.",
  },
  oidcClientId: {
    env: "SALLYPORT_PLATFORM_OIDC_CLIENT_ID",
    default: "",
    doc: "Our client id at that provider.",
  },
  oidcClientSecret: {
    env: "SALLYPORT_PLATFORM_OIDC_CLIENT_SECRET",
    default: "",
    doc: "Our client secret at that provider. Empty: we are a public client there.",
  },
  oidcName: {
    env: "SALLYPORT_PLATFORM_OIDC_NAME",
    default: "your organisation",
    doc: "What the sign-in button calls that provider: `Sign in with …`.",
  },
  oauthClients: {
    env: "SALLYPORT_PLATFORM_OAUTH_CLIENTS",
    default: "[]",
    doc: "Programs beside our command line that users may sign in to, as a JSON array of `{id, name, redirectUris, secret}`; without a secret a program is public.",
  },
  firstAdmin: {
    env: "SALLYPORT_PLATFORM_FIRST_ADMIN",
    default: "",
    doc: "Email address of the user whom the first start on an empty database makes an admin of the first workspace.",
  },
  devLogin: {
    env: "AUTH_DEV_LOGIN",
    default: "false",
    doc: "true or false. True lets every visitor sign in as any user, for development; refused unless both the base URL and the address listened on are loopback.",
  },
} as const satisfies SettingTable;

/**
 * @param text the setting's value, or its default.
 * @param fail records what a setting must be.
 * @param address the address that callers see: the base URL, or the listen address.
 * @param host the listen address: with a base URL on loopback the server may still listen on all interfaces.
 */
export function readIdentity(
  text: (setting: SettingRow) => string,
  fail: (setting: SettingRow, expected: string) => void,
  address: string,
  host: string,
): IdentityConfig & { readonly firstAdmin: string | undefined } {
  const settings = IDENTITY_SETTINGS;
  const [issuer, clientId, clientSecret] = [
    text(settings.oidcIssuer),
    text(settings.oidcClientId),
    text(settings.oidcClientSecret),
  ];
  // An attacker who can change the answers of an http issuer can sign in as any user.
  if (issuer !== "" && !isSafe(issuer)) fail(settings.oidcIssuer, "an https URL");
  if (issuer !== "" && clientId === "") fail(settings.oidcClientId, "set, when there is an issuer");
  const name = text(settings.oidcName);
  const clients = parseClients(text(settings.oauthClients));
  if (clients === undefined) {
    const form = 'a JSON array of {"id", "name", "redirectUris", "secret"}; redirects https, or all on loopback';
    fail(settings.oauthClients, `${form}; secrets of 32 characters or more`);
  }
  const devLogin = text(settings.devLogin);
  if (devLogin !== "true" && devLogin !== "false") fail(settings.devLogin, "true or false");
  if (devLogin === "true" && !isPlainLoopback(address)) fail(settings.devLogin, "false: the base URL is not loopback");
  if (devLogin === "true" && !isPlainLoopback(urlOfHost(host))) {
    fail(settings.devLogin, `false: every client that reaches ${host} could sign in as any user; listen on 127.0.0.1`);
  }
  const firstAdmin = text(settings.firstAdmin);
  if (firstAdmin !== "" && !/^[^@\s]+@[^@\s]+$/.test(firstAdmin)) fail(settings.firstAdmin, "an email address");
  return {
    outside: issuer === "" ? undefined : { issuer, clientId, clientSecret: clientSecret || undefined, name },
    devLogin: devLogin === "true",
    clients: [CLI_CLIENT, ...(clients ?? [])],
    firstAdmin: firstAdmin === "" ? undefined : firstAdmin,
  };
}

/** The URL of a name or address to listen on. */
export function urlOfHost(host: string): string {
  const url = `http://${host.includes(":") ? `[${host}]` : host}`;
  return URL.canParse(url) ? url : "http://invalid";
}

function isSafe(issuer: string): boolean {
  return URL.canParse(issuer) && (issuer.startsWith("https://") || isPlainLoopback(issuer));
}
