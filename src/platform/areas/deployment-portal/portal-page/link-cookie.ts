import { open, seal } from "../../../kernel/sealed.ts";

/** Long enough for an installation and its questions; the link's own end comes first where it is sooner. */
export const LINK_COOKIE_MS = 12 * 3600 * 1000;
export const LINK_COOKIE = "sp_link";

const PURPOSE = "deployment-link";
/**
 * What a person may paste, and what the page takes out of its own address: a link, or the token at its end, and nothing beside.
 * The keys are of a group or of a deployment (§1.1). Of a text that is more than that, page and platform could read two links.
 */
export const TYPED_LINK = /^(?:(?:https?:\/\/[^\s#]*)?#token=)?(sp_[dg]_([0-9a-z]{12})_[0-9A-Za-z]{40})$/;
/** The longest address of a portal with its token. */
const MAX_TYPED = 2560;

/** A link's token, and the public part of it that names the link in addresses. */
export interface LinkToken {
  readonly token: string;
  readonly keyId: string;
}

/** What a person pasted: the token, or the whole link. Undefined: neither. */
export function typedToken(typed: string): LinkToken | undefined {
  const [, token, keyId] = (typed.length <= MAX_TYPED && TYPED_LINK.exec(typed.trim())) || [];
  return token === undefined || keyId === undefined ? undefined : { token, keyId };
}

/** For the browser to keep: what lies on its disk is of no use at the API, and ends here. */
export function sealLink(key: Uint8Array, token: string, now: Date): string {
  return seal(key, JSON.stringify({ purpose: PURPOSE, until: now.getTime() + LINK_COOKIE_MS, token }));
}

/** Undefined when the platform did not make the cookie, it is of another link, or it is too old. */
export function openLink(key: Uint8Array, cookie: string, keyId: string, now: Date): string | undefined {
  try {
    const { purpose, until, token } = JSON.parse(open(key, cookie));
    if (purpose !== PURPOSE || !(until > now.getTime()) || typedToken(token)?.keyId !== keyId) return undefined;
    return token;
  } catch {
    // Sealed with another key, cut short or forged: all are treated alike.
    return undefined;
  }
}
