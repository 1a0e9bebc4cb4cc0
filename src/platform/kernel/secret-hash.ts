import { hash, timingSafeEqual } from "node:crypto";

/** Compared with when nothing is stored, so that the answer takes as long as for a known secret. */
const NO_HASH = "0".repeat(64);

/** Secrets that are shown only once (keys, tokens, tickets, session cookies) are stored as this SHA-256, in hex. */
export function hashOf(secret: string): string {
  return hash("sha256", secret);
}

/** In the same time for every `secret`. @param stored undefined: there is none, and nothing matches. */
export function matchesHash(secret: string, stored: string | null | undefined): boolean {
  const isSame = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(stored ?? NO_HASH));
  return isSame && typeof stored === "string";
}
