/** A program that users may sign in to. Known by configuration only: there is no registration. */
export interface OAuthClient {
  readonly id: string;
  /** What the consent page calls it. */
  readonly name: string;
  /** Compared exactly; on a loopback address with any port. */
  readonly redirectUris: readonly string[];
  /** Undefined: a public client, which must use PKCE. */
  readonly secret: string | undefined;
}

/** The command line. Its redirect goes to a port that it opens on the user's own machine. */
export const CLI_CLIENT: OAuthClient = {
  id: "sallyport-cli",
  name: "Sallyport CLI",
  redirectUris: ["http://127.0.0.1/callback", "http://[::1]/callback", "http://localhost/callback"],
  secret: undefined,
};

/**
 * The configured clients, written as JSON: `[{"id": …, "name": …, "redirectUris": […], "secret": …}]`, `secret` only for
 * confidential ones.
 * @returns undefined when it is not that. A secret is never quoted.
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

/** RFC 6749 leaves the form of ids open; these are safe in every place where one stands. */
const CLIENT_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Shorter ones could be guessed. */
const MIN_SECRET_LENGTH = 32;

function toClient(value: unknown): OAuthClient | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, name = id, redirectUris, secret } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || !CLIENT_ID.test(id) || typeof name !== "string") return undefined;
  if (secret !== undefined && (typeof secret !== "string" || secret.length < MIN_SECRET_LENGTH)) return undefined;
  if (!Array.isArray(redirectUris) || redirectUris.length === 0 || !redirectUris.every(isRedirectUri)) return undefined;
  // The rule for ports differs, so one client is all on loopback or not at all.
  if (new Set(redirectUris.map(isLoopback)).size > 1) return undefined;
  return { id, name, redirectUris, secret };
}

/** A code must not cross a network in the clear. */
function isRedirectUri(value: unknown): value is string {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hash } = new URL(value);
  return hash === "" && (protocol === "https:" || isLoopback(value));
}

/** An http address that only this machine can answer. */
export function isLoopback(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return (
    protocol === "http:" && (/^127(\.\d{1,3}){3}$/.test(hostname) || hostname === "[::1]" || hostname === "localhost")
  );
}
