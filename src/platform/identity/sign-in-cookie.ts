import { open, seal } from "../kernel/sealed.ts";
import type { Departure } from "./outside-provider.ts";

/** A browser on its way to the outside provider and back. Sealed in its own cookie: nothing to store, nothing to fill up. */
export interface SignInUnderWay extends Departure {
  readonly returnTo: string;
}

export const SIGN_IN_COOKIE = "sp_sign_in";

/** Time to find one's password. */
export const SIGN_IN_MS = 15 * 60_000;

const PURPOSE = "sign-in";

export function sealSignIn(key: Uint8Array, underWay: SignInUnderWay, now: Date): string {
  return seal(key, JSON.stringify({ ...underWay, purpose: PURPOSE, until: now.getTime() + SIGN_IN_MS }));
}

/** Undefined when it is not ours, or too old. */
export function openSignIn(key: Uint8Array, cookie: string, now: Date): SignInUnderWay | undefined {
  try {
    const { purpose, until, state, nonce, codeVerifier, returnTo } = JSON.parse(open(key, cookie));
    if (purpose !== PURPOSE || !(until > now.getTime())) return undefined;
    return { state, nonce, codeVerifier, returnTo };
  } catch {
    // Sealed with another key, cut short or made up: to us all the same.
    return undefined;
  }
}
