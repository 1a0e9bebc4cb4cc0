import * as openid from "openid-client";
import { systemClock } from "../base/clock.ts";
import { isLoopbackHost } from "../base/loopback.ts";
import { withoutPackets } from "../base/without-packets.ts";
import { baseOf, defaultTransport } from "./options.ts";
import { readWhole, type Transport } from "./transport.ts";

/** What a user's sign-in gives. Both are secrets. */
export interface UserTokens {
  /** Lives minutes. */
  readonly access: string;
  /** Lives days, and is another one after each use. */
  readonly refresh: string;
}

export interface UserSignInOptions {
  /** The address by which the platform names itself. */
  readonly baseUrl: string;
  /** A public client that the platform knows. */
  readonly clientId: string;
}

/** A sign-in whose page the user must open in a browser. */
export interface SignInUnderWay {
  /** Where the user goes on, with a browser. */
  readonly url: URL;
  /** @param callback the whole address to which the browser came back. @throws SignInError */
  finish(callback: URL, signal: AbortSignal): Promise<UserTokens>;
}

/** Why a sign-in, a refresh or a revocation failed. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  /**
   * `over`: the tokens are revoked, used twice or too old: sign in again. `refused`: by the user or the platform.
   * `unreachable`: no answer that makes sense.
   */
  readonly kind: "over" | "refused" | "unreachable";

  constructor(message: string, options: ErrorOptions & { readonly kind: SignInError["kind"] }) {
    super(message, options);
    this.kind = options.kind;
  }
}

const SCOPE = "openid profile email offline_access";
const TIMEOUT_SECONDS = 30;
/** Of an answer: some hundred times what one has. */
const MAX_BYTES = 1_048_576;

/** Signs a user in to the platform: authorisation code with PKCE (RFC 6749, 7636, 8252), refresh and revocation. */
export class UserSignIn {
  readonly #base: URL;
  readonly #clientId: string;
  readonly #transport: Transport;

  /** @throws Error when the base URL is unusable. */
  constructor({ baseUrl, clientId }: UserSignInOptions) {
    this.#base = baseOf(baseUrl);
    this.#clientId = clientId;
    this.#transport = defaultTransport(this.#base, systemClock);
  }

  /** @param redirectUri on a loopback address: where the caller listens. @throws SignInError */
  async begin(redirectUri: string, signal: AbortSignal): Promise<SignInUnderWay> {
    const configuration = await this.#discovered(signal);
    const [state, pkceCodeVerifier] = [openid.randomState(), openid.randomPKCECodeVerifier()];
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    });
    const checks = { expectedState: state, pkceCodeVerifier };
    return {
      url,
      finish: (callback, until) =>
        this.#tokens(until, (bound) => openid.authorizationCodeGrant(bound, callback, checks)),
    };
  }

  /** @throws SignInError: `over` when the user must sign in again. */
  async refresh({ refresh }: UserTokens, signal: AbortSignal): Promise<UserTokens> {
    return this.#tokens(signal, (configuration) => openid.refreshTokenGrant(configuration, refresh));
  }

  /** Ends the tokens everywhere. @throws SignInError */
  async revoke({ refresh }: UserTokens, signal: AbortSignal): Promise<void> {
    const configuration = await this.#discovered(signal);
    await explained(signal, () => openid.tokenRevocation(configuration, refresh, { token_type_hint: "refresh_token" }));
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #tokens(
    signal: AbortSignal,
    ask: (configuration: openid.Configuration) => ReturnType<typeof openid.refreshTokenGrant>,
  ): Promise<UserTokens> {
    const configuration = await this.#discovered(signal);
    const { access_token: access, refresh_token: refresh } = await explained(signal, () => ask(configuration));
    if (refresh === undefined) throw new SignInError("the platform gave no refresh token", { kind: "refused" });
    return { access, refresh };
  }

  /** The library's `fetch`: it asks for no redirect to be followed. */
  async #fetched(
    url: string,
    { method, headers, body }: Omit<openid.CustomFetchOptions, "signal">,
    signal: AbortSignal,
  ): Promise<Response> {
    const form = body === undefined || body === null ? undefined : String(body);
    const answer = await this.#transport.send({ method, url: new URL(url), headers, body: form }, signal);
    const text = await readWhole(answer.body, MAX_BYTES);
    if (text === undefined) throw new Error(`its answer has more than ${MAX_BYTES} bytes`);
    const type = answer.headers["content-type"];
    return new Response(text === "" ? null : text, {
      status: answer.status,
      headers: typeof type === "string" ? { "content-type": type } : {},
    });
  }

  /** Not cached: one command asks once or twice. */
  #discovered(signal: AbortSignal): Promise<openid.Configuration> {
    const options: openid.DiscoveryRequestOptions = {
      algorithm: "oauth2",
      timeout: TIMEOUT_SECONDS,
      execute: isLoopbackHost(this.#base.hostname) ? [openid.allowInsecureRequests] : [],
      [openid.customFetch]: (url, { signal: limit, ...request }) =>
        this.#fetched(url, request, limit === undefined ? signal : AbortSignal.any([signal, limit])),
    };
    return explained(signal, () => openid.discovery(this.#base, this.#clientId, undefined, openid.None(), options));
  }
}

/** The library's failures in three kinds. What was sent is never quoted. */
async function explained<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    withoutPackets(error);
    if (error instanceof openid.AuthorizationResponseError) {
      throw new SignInError(`the sign-in was refused: ${wordsOf(error)}`, { kind: "refused", cause: error });
    }
    if (error instanceof openid.ResponseBodyError) {
      if (error.error === "invalid_grant") throw new SignInError("the sign-in is over", { kind: "over", cause: error });
      throw new SignInError(`the platform refused: ${wordsOf(error)}`, { kind: "refused", cause: error });
    }
    const reason = error instanceof Error ? error.message : "no reason given";
    throw new SignInError(`the platform's sign-in does not answer as it should: ${reason}`, {
      kind: "unreachable",
      cause: error,
    });
  }
}

function wordsOf({
  error,
  error_description: text,
}: {
  error: string;
  error_description?: string | undefined;
}): string {
  return text ?? error;
}
