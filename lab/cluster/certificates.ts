import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** PEM texts. Keys are PKCS#8. */
export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface LeafOptions {
  readonly commonName: string;
  /** Kubernetes reads a client certificate's organizations as groups. */
  readonly organizations?: readonly string[];
  /** DNS names and IPv4 addresses. Given: a server certificate; absent: a client certificate. */
  readonly hosts?: readonly string[];
}

/**
 * A certificate authority for one test cluster. Node reads X.509 but cannot write it, and asking for openssl on
 * every machine for three fields is too much: the few DER shapes needed are written here (RFC 5280, P-256 only).
 */
export class CertificateAuthority implements KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly #privateKey: KeyObject;
  readonly #subject: Buffer;
  readonly #keyId: Buffer;

  constructor(commonName: string) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#privateKey = privateKey;
    this.#subject = name(commonName, []);
    this.#keyId = keyId(publicKey);
    this.key = pkcs8(privateKey);
    this.certificate = this.#issue(this.#subject, publicKey, [
      extension("2.5.29.19", true, sequence(boolean(true))), // basicConstraints: CA
      extension("2.5.29.15", true, keyUsage(0b0000_0110)), // keyCertSign, cRLSign
    ]);
  }

  issue(options: LeafOptions): KeyAndCertificate {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const purpose = options.hosts === undefined ? "1.3.6.1.5.5.7.3.2" : "1.3.6.1.5.5.7.3.1"; // clientAuth, serverAuth
    const extensions = [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.15", true, keyUsage(0b1000_0000)), // digitalSignature
      extension("2.5.29.37", false, sequence(objectIdentifier(purpose))),
    ];
    if (options.hosts !== undefined)
      extensions.push(extension("2.5.29.17", false, sequence(...options.hosts.map(alternativeName))));
    const subject = name(options.commonName, options.organizations ?? []);
    return { certificate: this.#issue(subject, publicKey, extensions), key: pkcs8(privateKey) };
  }

  #issue(subject: Buffer, publicKey: KeyObject, extensions: readonly Buffer[]): string {
    const ecdsaWithSha256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));
    const now = Date.now();
    const body = sequence(
      explicit(0, integer(Buffer.from([2]))), // version 3
      integer(randomBytes(16)),
      ecdsaWithSha256,
      this.#subject,
      // From an hour ago: clocks of containers differ.
      sequence(time(new Date(now - 3_600_000)), time(new Date(now + 30 * 86_400_000))),
      subject,
      publicKey.export({ type: "spki", format: "der" }),
      explicit(
        3,
        sequence(
          ...extensions,
          extension("2.5.29.14", false, tagged(0x04, keyId(publicKey))), // subjectKeyIdentifier
          extension("2.5.29.35", false, sequence(tagged(0x80, this.#keyId))), // authorityKeyIdentifier
        ),
      ),
    );
    const signature = sign("sha256", body, this.#privateKey);
    return pem("CERTIFICATE", sequence(body, ecdsaWithSha256, bitString(signature)));
  }
}

/** The pair that signs ServiceAccount tokens. */
export function signingKeyPair(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(), privateKey: pkcs8(privateKey) };
}

function pkcs8(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
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

function name(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (oid: string, value: string) =>
    tagged(0x31, sequence(objectIdentifier(oid), tagged(0x0c, Buffer.from(value, "utf8"))));
  return sequence(...organizations.map((value) => attribute("2.5.4.10", value)), attribute("2.5.4.3", commonName));
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
