import { createHash, timingSafeEqual, X509Certificate } from "node:crypto";
import { TLSSocket } from "node:tls";
import {
  distinguishedName,
  issueCertificate,
  type KeyAndCertificate,
  leafExtensions,
  newKeyPair,
  pkcs8,
} from "./x509.ts";

/** One end of a debug session: its key, a certificate signed by itself, and what the other end compares. */
export interface SessionKey extends KeyAndCertificate {
  /** SHA-256 of the public key (SPKI), base64url, 43 characters: contract's KeyPin. */
  readonly pin: string;
}

/**
 * A fresh P-256 key, in memory. The certificate serves both as a server's and as a client's.
 *
 * @param hosts of a server that clients find by address; the ends of a session compare pins instead.
 */
export function newSessionKey(commonName: string, now: Date, hosts: readonly string[] = []): SessionKey {
  const { privateKey, publicKey } = newKeyPair();
  const subject = distinguishedName(commonName);
  const extensions = leafExtensions(["server", "client"], hosts);
  const certificate = issueCertificate({ subject, privateKey }, { subject, publicKey, extensions, now });
  return { key: pkcs8(privateKey), certificate, pin: pinOf(new X509Certificate(certificate).raw) };
}

/**
 * The pin of a certificate in DER, as `getPeerCertificate().raw` gives it.
 * @throws Error when it is no certificate
 */
export function pinOf(der: Buffer): string {
  const spki = new X509Certificate(der).publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(spki).digest("base64url");
}

/** Takes the same time whether pins differ at their first character or at their last. */
export function samePin(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Whether the other end of a TLS connection has the key of `pin`. False also where that cannot be told: it showed no
 * certificate, or one that cannot be read, or the connection is gone.
 */
export function hasPin(socket: unknown, pin: string): boolean {
  try {
    return socket instanceof TLSSocket && samePin(pinOf(socket.getPeerCertificate().raw), pin);
  } catch {
    return false;
  }
}
