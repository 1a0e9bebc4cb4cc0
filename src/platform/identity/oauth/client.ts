import { isPlainLoopback } from "../../../base/loopback.ts";
/** A program that users may sign in to. Clients come from the configuration only; there is no registration. */
export interface OAuthClient {
  readonly id: string;
  /** The name on the consent page. */
  readonly name: string;
  /** Compared exactly; for a loopback address any port is accepted. */
  readonly redirectUris: readonly string[];
  /** Undefined: a public client, which must use PKCE. */
  readonly secret: string | undefined;
}

/** The command line. Its redirect goes to a port that it opens on the user's machine. */
export const CLI_CLIENT: OAuthClient = {
  id: "sallyport-cli",
  name: "Sallyport CLI",
  redirectUris: ["http://127.0.0.1/callback", "http://[::1]/callback", "http://localhost/callback"],
  secret: undefined,
};

/**
 * Reads the configured clients, written as JSON: `[{"id": …, "name": …, "redirectUris": […], "secret": …}]`, `secret`
 * only for confidential ones.
 * @returns undefined when the text is not of that form. Error messages never quote a secret.
 */
export function parseClients(text: string): readonly OAuthClient[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed)) return undefined;
  const clients = parsed.map(toClient);
  const sound = clients.filter((client) => client !== undefined);
  const ids = new Set([CLI_CLIENT.id, ...sound.map(({ id }) => id)]);
  return sound.length === clients.length && ids.size === clients.length + 1 ? sound : undefined;
}

/** RFC 6749 leaves the form of ids open; these characters are safe wherever an id appears. */
const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Shorter secrets could be guessed. */
const MIN_SECRET_LENGTH = 32;

function toClient(value: unknown): OAuthClient | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, name = id, redirectUris, secret } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || !CLIENT_ID.test(id) || typeof name !== "string") return undefined;
  if (secret !== undefined && (typeof secret !== "string" || secret.length < MIN_SECRET_LENGTH)) return undefined;
  if (!Array.isArray(redirectUris) || redirectUris.length === 0 || !redirectUris.every(isRedirectUri)) return undefined;
  // The rule for ports differs, so either all or none of a client's redirect URIs are on loopback.
  if (new Set(redirectUris.map(isPlainLoopback)).size > 1) return undefined;
  return { id, name, redirectUris, secret };
}

/** Accepts https and loopback only: a code must not cross a network unencrypted. */
function isRedirectUri(value: unknown): value is string {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hash } = new URL(value);
  return hash === "" && (protocol === "https:" || isPlainLoopback(value));
}
