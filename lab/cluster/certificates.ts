import type { KeyObject } from "node:crypto";
import {
  authorityExtensions,
  distinguishedName,
  issueCertificate,
  type KeyAndCertificate,
  leafExtensions,
  newKeyPair,
  pkcs8,
} from "../../src/debug-link/x509.ts";

export type { KeyAndCertificate };

export interface LeafOptions {
  readonly commonName: string;
  /** Kubernetes reads a client certificate's organizations as groups. */
  readonly organizations?: readonly string[];
  /** DNS names and IPv4 addresses. Given: a server certificate; absent: a client certificate. */
  readonly hosts?: readonly string[];
  /** A server that is a client too: etcd asks itself. */
  readonly isClientToo?: boolean;
  /** When it was made; it is good for 30 days. @default now */
  readonly now?: Date;
}

/**
 * A certificate authority for one test cluster. Asking for openssl on every machine for three fields is too much: the
 * certificates are written by src/debug-link/x509.ts.
 */
export class CertificateAuthority implements KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly #privateKey: KeyObject;
  readonly #subject: Buffer;

  constructor(commonName: string) {
    const { privateKey, publicKey } = newKeyPair();
    this.#privateKey = privateKey;
    this.#subject = distinguishedName(commonName);
    this.key = pkcs8(privateKey);
    this.certificate = this.#issue(this.#subject, publicKey, authorityExtensions());
  }

  issue({ commonName, organizations, hosts, isClientToo = false, now }: LeafOptions): KeyAndCertificate {
    const { privateKey, publicKey } = newKeyPair();
    const purposes =
      hosts === undefined ? (["client"] as const) : (["server", ...(isClientToo ? ["client" as const] : [])] as const);
    const extensions = leafExtensions(purposes, hosts ?? []);
    const certificate = this.#issue(distinguishedName(commonName, organizations), publicKey, extensions, now);
    return { certificate, key: pkcs8(privateKey) };
  }

  #issue(subject: Buffer, publicKey: KeyObject, extensions: readonly Buffer[], now = new Date()): string {
    const issuer = { subject: this.#subject, privateKey: this.#privateKey };
    return issueCertificate(issuer, { subject, publicKey, extensions, now });
  }
}

/** The pair that signs ServiceAccount tokens. */
export function signingKeyPair(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = newKeyPair();
  return { publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(), privateKey: pkcs8(privateKey) };
}
