import type { IncomingHttpHeaders } from "node:http";
import type { RATES } from "../budgets/rate-limit.ts";
import type { Caller } from "../tenancy/principal.ts";

/** A credential that holds: whose it is, before the workspace rules. */
export interface Credential {
  /** Whose token bucket pays. */
  readonly caller: string;
  readonly rate: keyof typeof RATES;
  /** The bucket above it, which all the keys of a tenant pay into. */
  readonly tenant?: { readonly id: string; readonly rate: keyof typeof RATES };
  /**
   * The principal in the workspace that the request names; a `person` only where the route needs none.
   * @throws WORKSPACE_REQUIRED, WORKSPACE_MISMATCH, WORKSPACE_NOT_FOUND, NOT_FOUND.
   */
  inWorkspace(named: NamedWorkspace): Promise<Caller>;
  /** What a user's credential hangs on: when it is gone, what was opened with the credential ends. Keys are their own. */
  readonly proof?: Proof;
  /** False once it has been revoked, disabled or has expired: long-polls ask again and again. */
  lives(now: Date): Promise<boolean>;
}

/** A browser's session, by the hash of its cookie, or the grant that a program's tokens are of. */
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
  /** A user may leave it out. */
  readonly exempt: boolean;
}

/** What an authenticator may look at. */
export interface Presented {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * One way to prove who calls; undefined when the request does not use it. The server's list has an entry for keys, one
 * for OAuth tokens and one for browser sessions.
 * @throws a 401 when the request uses it and it does not hold; CSRF_REJECTED.
 */
export type Authenticator = (request: Presented, now: Date) => Promise<Credential | undefined>;

/** The token of `Authorization: Bearer …`. */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}
