import { open, seal } from "../../kernel/sealed.ts";
import type { Departure } from "./outside-provider.ts";

/**
 * A sign-in that is going on at the outside provider. It is sealed in its own cookie, so that unfinished sign-ins take
 * no storage.
 */
export interface SignInUnderWay extends Departure {
  readonly returnTo: string;
}

export const SIGN_IN_COOKIE = "sp_sign_in";

/** Long enough to look up a password. */
export const SIGN_IN_MS = 15 * 60_000;

const PURPOSE = "sign-in";

export function sealSignIn(key: Uint8Array, underWay: SignInUnderWay, now: Date): string {
  return seal(key, JSON.stringify({ ...underWay, purpose: PURPOSE, until: now.getTime() + SIGN_IN_MS }));
}

/** Undefined when the platform did not make the cookie, or it is too old. */
export function openSignIn(key: Uint8Array, cookie: string, now: Date): SignInUnderWay | undefined {
  try {
    const { purpose, until, state, nonce, codeVerifier, returnTo } = JSON.parse(open(key, cookie));
    if (purpose !== PURPOSE || !(until > now.getTime())) return undefined;
    return { state, nonce, codeVerifier, returnTo };
  } catch {
    // Sealed with another key, cut short or forged: all are treated alike.
    return undefined;
  }
}
