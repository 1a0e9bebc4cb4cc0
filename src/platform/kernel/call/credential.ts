import type { IncomingHttpHeaders } from "node:http";
import type { RATES } from "../budgets/rate-limit.ts";
import type { Caller } from "../tenancy/principal.ts";

/** A valid credential, before the workspace rules are applied. */
export interface Credential {
  /** Key of the token bucket that pays for the request. */
  readonly caller: string;
  readonly rate: keyof typeof RATES;
  /** The tenant's bucket, which all keys of the tenant share and which pays too. */
  readonly tenant?: { readonly id: string; readonly rate: keyof typeof RATES };
  /**
   * The caller in the workspace that the request names. A `person` only on routes that need no workspace.
   * @throws WORKSPACE_REQUIRED, WORKSPACE_MISMATCH, WORKSPACE_NOT_FOUND, NOT_FOUND.
   */
  inWorkspace(named: NamedWorkspace): Promise<Caller>;
  /**
   * The session or grant that a user's credential belongs to. When it is deleted, everything opened with it ends. Keys
   * have none: the key itself is checked.
   */
  readonly proof?: Proof;
  /** False once the credential has been revoked, disabled or has expired. Long-polls call it repeatedly. */
  lives(now: Date): Promise<boolean>;
}

/** A browser session, by the hash of its cookie, or the OAuth grant that a program's tokens belong to. */
export interface Proof {
  readonly kind: "session" | "grant";
  readonly id: string;
}

/** How a request names its workspace (§0.5). */
export interface NamedWorkspace {
  /** The `workspace` parameter, if given. */
  readonly name: string | undefined;
  /** `path.id` of the routes whose path names the workspace. */
  readonly id: string | undefined;
  /** True on routes where a user may omit the workspace. */
  readonly exempt: boolean;
}

/** What an authenticator may look at. */
export interface Presented {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * One way to authenticate a request; undefined when the request does not use that way. The server lists one for API
 * keys, one for OAuth tokens and one for browser sessions.
 * @throws a 401 when the request uses it and the credential is not valid; CSRF_REJECTED.
 */
export type Authenticator = (request: Presented, now: Date) => Promise<Credential | undefined>;

/** The token of `Authorization: Bearer …`. */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}
