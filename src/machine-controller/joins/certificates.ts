import { createHash, X509Certificate } from "node:crypto";

/** @returns the SHA-256 of a certificate's public key, 64 hex digits, and its end; undefined when it is none. */
export function certificateOf(pem: string): { readonly publicKey: string; readonly notAfter: Date } | undefined {
  try {
    const certificate = new X509Certificate(pem);
    const spki = certificate.publicKey.export({ type: "spki", format: "der" });
    return { publicKey: createHash("sha256").update(spki).digest("hex"), notAfter: new Date(certificate.validTo) };
  } catch {
    return undefined;
  }
}

/** The DER in a PEM that is stored as base64, which is how the API server has a request. */
export function derOf(base64Pem: string): Buffer {
  const pem = Buffer.from(base64Pem, "base64").toString("latin1");
  const body = pem.match(
    /^-----BEGIN CERTIFICATE REQUEST-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/,
  );
  return Buffer.from(body?.[1]?.replace(/\s/g, "") ?? "", "base64");
}
