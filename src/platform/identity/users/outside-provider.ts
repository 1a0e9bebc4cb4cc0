import * as openid from "openid-client";
import { isPlainLoopback } from "../../../base/loopback.ts";
import { PlatformError } from "../../kernel/errors.ts";

/** The OpenID provider that authenticates the users. */
export interface OutsideProviderConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Its name on the sign-in button. */
  readonly name: string;
}

/** What the platform must remember while the user is at the provider. */
export interface Departure {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The user who came back, as the provider's signed token says. */
export interface Arrival {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly name: string | undefined;
  readonly image: string | undefined;
}

/** What the user brought back from the provider does not authenticate a user. `message` may be shown. */
export class ArrivalError extends Error {
  override readonly name = "ArrivalError";
}

const SCOPE = "openid email profile";
/** Discovery, keys and tokens are small. A provider that takes longer counts as down. */
const TIMEOUT_SECONDS = 10;

/**
 * Signs users in at an outside OpenID provider: code flow with PKCE, state and nonce. Accepts only verified addresses.
 */
export class OutsideProvider {
  readonly #config: OutsideProviderConfig;
  readonly #redirectUri: () => string;
  #discovered: Promise<openid.Configuration> | undefined;

  /** @param redirectUri the callback; read at each sign-in, because the address may change with the port. */
  constructor(config: OutsideProviderConfig, redirectUri: () => string) {
    this.#config = config;
    this.#redirectUri = redirectUri;
  }

  get name(): string {
    return this.#config.name;
  }

  /** @throws SERVICE_UNAVAILABLE while the provider cannot be reached. */
  async depart(): Promise<{ readonly url: URL; readonly departure: Departure }> {
    const configuration = await this.#configuration();
    const departure = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      codeVerifier: openid.randomPKCECodeVerifier(),
    };
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri(),
      scope: SCOPE,
      state: departure.state,
      nonce: departure.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(departure.codeVerifier),
      code_challenge_method: "S256",
    });
    return { url, departure };
  }

  /**
   * @param search the query that the user brought back.
   * @throws ArrivalError when it authenticates no user, or the address is not verified; SERVICE_UNAVAILABLE.
   */
  async arrive(search: string, { state, nonce, codeVerifier }: Departure): Promise<Arrival> {
    const configuration = await this.#configuration();
    const url = new URL(this.#redirectUri());
    url.search = search;
    const checks = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    };
    const claims = await this.#claims(configuration, url, checks);
    const { iss, sub, email, email_verified, name, picture } = claims;
    if (typeof iss !== "string" || typeof sub !== "string") throw new ArrivalError("the provider named no user");
    if (typeof email !== "string" || !email.includes("@")) throw new ArrivalError("the provider gave no email address");
    if (email_verified !== true) throw new ArrivalError("the provider has not verified this email address");
    return { issuer: iss, subject: sub, email, name: textOf(name, 100), image: httpsOf(picture) };
  }

  /** The claims of the id token, completed by the provider's userinfo when only that has the address. */
  async #claims(
    configuration: openid.Configuration,
    url: URL,
    checks: openid.AuthorizationCodeGrantChecks,
  ): Promise<Readonly<Record<string, unknown>>> {
    try {
      const tokens = await openid.authorizationCodeGrant(configuration, url, checks);
      const claims = tokens.claims();
      if (claims === undefined) throw new ArrivalError("the provider sent no id token");
      if (claims.email !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
      return { ...(await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
    } catch (error) {
      if (error instanceof ArrivalError) throw error;
      throw new ArrivalError(reasonOf(error), { cause: error });
    }
  }

  async #configuration(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.#config;
    this.#discovered ??= openid.discovery(
      new URL(issuer),
      clientId,
      undefined,
      clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret),
      { timeout: TIMEOUT_SECONDS, execute: isPlainLoopback(issuer) ? [openid.allowInsecureRequests] : [] },
    );
    try {
      return await this.#discovered;
    } catch (error) {
      // Forget the failed discovery, so that the next sign-in tries again.
      this.#discovered = undefined;
      throw new PlatformError("SERVICE_UNAVAILABLE", {
        message: "the identity provider cannot be reached",
        cause: error,
      });
    }
  }
}

/** Quotes the provider only for errors of the protocol: other errors may contain what was sent to it. */
function reasonOf(error: unknown): string {
  if (error instanceof openid.AuthorizationResponseError) return `the provider refused: ${error.error.slice(0, 128)}`;
  return "the provider's answer does not belong to this sign-in";
}

function textOf(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, "").trim();
  return text === "" ? undefined : text.slice(0, maxLength);
}

function httpsOf(value: unknown): string | undefined {
  const isAddress = typeof value === "string" && value.length <= 2048 && URL.canParse(value);
  return isAddress && value.startsWith("https://") ? value : undefined;
}
