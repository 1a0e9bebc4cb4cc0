import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

/** What a signed URL of the platform allows. */
export interface Permit {
  readonly method: "GET" | "PUT";
  readonly key: string;
  readonly contentType: string;
  /** For an upload; 0 for a download. */
  readonly maxBytes: number;
  readonly expiresAt: Date;
  /** The API key that the address was handed out to, where the upload needs it to be valid; else empty. */
  readonly holder: string;
}

/** The key that signs URLs, derived from the sealing key, which cannot be computed from it. */
export function urlKey(sealingKey: Uint8Array): Uint8Array {
  return Buffer.from(hkdfSync("sha256", sealingKey, "", "sallyport object urls", 32));
}

/** Path and query of the URL, below the base URL. */
export function signedPath(secret: Uint8Array, permit: Permit): string {
  const query = new URLSearchParams({
    type: permit.contentType,
    ...(permit.method === "PUT" && { max: String(permit.maxBytes) }),
    expires: String(permit.expiresAt.getTime()),
    ...(permit.holder !== "" && { holder: permit.holder }),
    signature: signature(secret, permit),
  });
  return `/objects/${permit.key}?${query}`;
}

/** Reads a URL's permit and checks its signature. The caller must check whether it has expired. */
export function readPermit(
  secret: Uint8Array,
  method: Permit["method"],
  key: string,
  query: URLSearchParams,
): Permit | undefined {
  const permit = {
    method,
    key,
    contentType: query.get("type") ?? "",
    maxBytes: Number(query.get("max") ?? 0),
    expiresAt: new Date(Number(query.get("expires") ?? Number.NaN)),
    holder: query.get("holder") ?? "",
  };
  if (!Number.isSafeInteger(permit.maxBytes) || Number.isNaN(permit.expiresAt.getTime())) return undefined;
  return isSame(signature(secret, permit), query.get("signature") ?? "") ? permit : undefined;
}

/** Signature in a package's link. It names one package and does not expire; the link alone is the permission. */
export function linkSignature(secret: Uint8Array, name: string): string {
  return hmac(secret, ["link", name]);
}

export function isLinkSignature(secret: Uint8Array, name: string, given: string): boolean {
  return isSame(linkSignature(secret, name), given);
}

function signature(secret: Uint8Array, { method, key, contentType, maxBytes, expiresAt, holder }: Permit): string {
  return hmac(secret, ["url", method, key, contentType, maxBytes, expiresAt.getTime(), holder]);
}

/** Signed as JSON, so that different lists of parts never give the same text. */
function hmac(secret: Uint8Array, parts: readonly (string | number)[]): string {
  return createHmac("sha256", secret).update(JSON.stringify(parts)).digest("base64url");
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
