import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { element, wrap } from "./der.ts";

/**
 * Reads the only certificate request that a node may send: PKCS#10 version 0, subject `O=system:nodes,
 * CN=system:node:<name>` in this order, a P-256 key, no attributes (so no SAN), signed by that key with SHA-256. The
 * request is compared with what such a request looks like, byte by byte, and never parsed: a form that a parser reads
 * in two ways has no place here. RFC 2986; both the openssl command and the kubelet write this form.
 */
export interface NodeRequest {
  readonly nodeName: string;
  /** SHA-256 of the DER of the public key, 64 hex digits. */
  readonly publicKey: string;
}

export type Judged = { readonly request: NodeRequest } | { readonly refused: string };

const ORGANIZATION = "system:nodes";
const NAME_PREFIX = "system:node:";
const MAX_BYTES = 1024;
const SEQUENCE = 0x30;
/** SubjectPublicKeyInfo of a P-256 key, up to its point: 0x04, X and Y follow. */
const P256_HEAD = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");
const P256_BYTES = P256_HEAD.length + 65;
const NO_ATTRIBUTES = Buffer.from("a000", "hex");
const ECDSA_SHA256 = Buffer.from("300a06082a8648ce3d040302", "hex");
const VERSION_0 = Buffer.from("020100", "hex");
const OID_ORGANIZATION = Buffer.from("060355040a", "hex");
const OID_COMMON_NAME = Buffer.from("0603550403", "hex");
/** UTF8String, as openssl writes text; PrintableString, as Go does. */
const TEXT_TAGS = [0x0c, 0x13] as const;

/**
 * @param der of the request
 * @param nodeName that it must be for
 * @returns why it is refused, in words for the customer
 */
export function judgeNodeRequest(der: Buffer, nodeName: string): Judged {
  const read = readNodeRequest(der, nodeName, MAX_BYTES);
  if ("refused" in read) return read;
  if (!read.attributes.equals(NO_ATTRIBUTES)) {
    return { refused: "the certificate request has attributes, such as other names (SAN); a node's has none" };
  }
  return { request: read.request };
}

/** The same but for the attributes, which are handed out as they stand, with their tag. */
export function readNodeRequest(
  der: Buffer,
  nodeName: string,
  maxBytes: number,
): { readonly request: NodeRequest; readonly attributes: Buffer } | { readonly refused: string } {
  if (der.length > maxBytes) return { refused: `the certificate request has more than ${maxBytes} bytes` };
  const outer = element(SEQUENCE, der);
  if (outer === undefined || outer.rest.length > 0) return { refused: "the certificate request is no PKCS#10 in DER" };
  const info = element(SEQUENCE, outer.content);
  if (info === undefined) return { refused: "the certificate request is no PKCS#10 in DER" };
  const heads = TEXT_TAGS.map((tag) => Buffer.concat([VERSION_0, subject(tag, nodeName)]));
  const head = heads.find((each) => info.content.subarray(0, each.length).equals(each));
  if (head === undefined) {
    return {
      refused: `the subject of the certificate request is not exactly O=${ORGANIZATION}, CN=${NAME_PREFIX}${nodeName}`,
    };
  }
  const spki = info.content.subarray(head.length, head.length + P256_BYTES);
  if (spki.length < P256_BYTES || !spki.subarray(0, P256_HEAD.length).equals(P256_HEAD)) {
    return { refused: "the key of the certificate request is not a P-256 key" };
  }
  const signature = signatureOf(info.rest);
  const key = keyOf(spki);
  if (signature === undefined || key === undefined)
    return { refused: "the certificate request has no signature of its key" };
  const signed = outer.content.subarray(0, outer.content.length - info.rest.length);
  if (!isSigned(signed, key, signature)) {
    return { refused: "the certificate request is not signed by its own key" };
  }
  const publicKey = createHash("sha256").update(spki).digest("hex");
  return { request: { nodeName, publicKey }, attributes: info.content.subarray(head.length + P256_BYTES) };
}

function subject(tag: number, nodeName: string): Buffer {
  const part = (oid: Buffer, text: string): Buffer =>
    wrap(0x31, wrap(SEQUENCE, oid, wrap(tag, Buffer.from(text, "ascii"))));
  return wrap(SEQUENCE, part(OID_ORGANIZATION, ORGANIZATION), part(OID_COMMON_NAME, `${NAME_PREFIX}${nodeName}`));
}

/** After the algorithm a BIT STRING without unused bits. */
function signatureOf(rest: Buffer): Buffer | undefined {
  const algorithm = rest.subarray(0, ECDSA_SHA256.length);
  const [tag, length = 0, unused] = rest.subarray(ECDSA_SHA256.length);
  const signature = rest.subarray(ECDSA_SHA256.length + 3);
  const fits = algorithm.equals(ECDSA_SHA256) && tag === 0x03 && unused === 0 && length === signature.length + 1;
  return fits && length < 0x80 ? signature : undefined;
}

function keyOf(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}

function isSigned(signed: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify("sha256", signed, key, signature);
  } catch {
    return false;
  }
}
