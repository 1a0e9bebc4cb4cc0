import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

// Node reads X.509 but cannot write it. These are the few DER shapes of RFC 5280 that a certificate with a P-256 key
// needs; a session's ends and the test cluster's authority are made of them.

/** PEM texts. Keys are PKCS#8. */
export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface Issuer {
  /** As {@link distinguishedName} writes it. */
  readonly subject: Buffer;
  readonly privateKey: KeyObject;
}

export interface CertificateBody {
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly now: Date;
}

/** How long a certificate is valid: longer than anything that uses one. */
const VALID_MS = 30 * 86_400_000;
/** Clocks of machines differ. */
const BACKDATED_MS = 3_600_000;

/** @returns the certificate as PEM */
export function issueCertificate(
  { subject: issuer, privateKey }: Issuer,
  { subject, publicKey, extensions, now }: CertificateBody,
): string {
  const ecdsaWithSha256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(randomBytes(16)),
    ecdsaWithSha256,
    issuer,
    sequence(time(new Date(now.getTime() - BACKDATED_MS)), time(new Date(now.getTime() + VALID_MS))),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(
      3,
      sequence(
        ...extensions,
        extension("2.5.29.14", false, tagged(0x04, keyId(publicKey))), // subjectKeyIdentifier
        extension("2.5.29.35", false, sequence(tagged(0x80, keyId(privateKey)))), // authorityKeyIdentifier
      ),
    ),
  );
  return pem("CERTIFICATE", sequence(body, ecdsaWithSha256, bitString(sign("sha256", body, privateKey))));
}

/** What a server's or a client's own certificate says of its use; hosts are DNS names and IPv4 addresses. */
export function leafExtensions(purposes: readonly ("server" | "client")[], hosts: readonly string[]): Buffer[] {
  const oids = purposes.map((purpose) => `1.3.6.1.5.5.7.3.${purpose === "server" ? 1 : 2}`);
  return [
    extension("2.5.29.19", true, sequence()), // basicConstraints: no CA
    extension("2.5.29.15", true, keyUsage(0b1000_0000)), // digitalSignature
    extension("2.5.29.37", false, sequence(...oids.map(objectIdentifier))),
    ...(hosts.length === 0 ? [] : [extension("2.5.29.17", false, sequence(...hosts.map(alternativeName)))]),
  ];
}

export function authorityExtensions(): Buffer[] {
  return [
    extension("2.5.29.19", true, sequence(boolean(true))), // basicConstraints: CA
    extension("2.5.29.15", true, keyUsage(0b0000_0110)), // keyCertSign, cRLSign
  ];
}

export function newKeyPair(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

export function pkcs8(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** @param organizations Kubernetes reads those of a client's certificate as its groups. */
export function distinguishedName(commonName: string, organizations: readonly string[] = []): Buffer {
  const attribute = (oid: string, value: string) =>
    tagged(0x31, sequence(objectIdentifier(oid), tagged(0x0c, Buffer.from(value, "utf8"))));
  return sequence(...organizations.map((value) => attribute("2.5.4.10", value)), attribute("2.5.4.3", commonName));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** RFC 5280 §4.2.1.2, method 1. */
function keyId(key: KeyObject): Buffer {
  const publicKey = key.type === "public" ? key : createPublicKey(key);
  // An uncompressed P-256 point is the last 65 bytes of its SubjectPublicKeyInfo.
  return createHash("sha1")
    .update(publicKey.export({ type: "spki", format: "der" }).subarray(-65))
    .digest();
}

function alternativeName(host: string): Buffer {
  return /^\d+\.\d+\.\d+\.\d+$/.test(host)
    ? tagged(0x87, Buffer.from(host.split(".").map(Number)))
    : tagged(0x82, Buffer.from(host, "ascii"));
}

function extension(oid: string, critical: boolean, value: Buffer): Buffer {
  return sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), tagged(0x04, value));
}

/** Bits from the left, as X.509 numbers them; DER wants trailing zero bits left out. */
function keyUsage(bits: number): Buffer {
  const unused = Math.clz32(bits & -bits) === 32 ? 0 : 31 - Math.clz32(bits & -bits);
  return tagged(0x03, Buffer.from([unused, bits]));
}

function bitString(content: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), content]));
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

/** Positive, so a leading 1 bit needs a zero byte before it, and leading zero bytes go. */
function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const shortest = bytes.subarray(start);
  return tagged(0x02, (shortest[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), shortest]) : shortest);
}

function time(date: Date): Buffer {
  // UTCTime, valid until 2049: 20261121T095500Z → 261121095500Z.
  return tagged(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-:T]/g, "")}Z`, "ascii"));
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

function explicit(tag: number, content: Buffer): Buffer {
  return tagged(0xa0 + tag, content);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const header =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), content]);
}
