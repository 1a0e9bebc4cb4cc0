import { SocketAddress } from "node:net";
import { element } from "./der.ts";
import { type NodeRequest, readNodeRequest } from "./node-request.ts";

/**
 * Reads the certificate request with which a kubelet asks to serve (kubernetes.io/kubelet-serving): a node's request
 * (node-request.ts) with one attribute, extensionRequest, of one extension, subjectAltName, not critical, of DNS names
 * and IP addresses. Each layer must have exactly this one thing in the only form that DER has for it; every other byte
 * refuses the request. This is what Go's crypto/x509 writes for a kubelet.
 */
export interface ServingRequest extends NodeRequest {
  readonly dnsNames: readonly string[];
  /** As `sameAddress` writes them. */
  readonly addresses: readonly string[];
}

const MAX_BYTES = 4096;
const MAX_NAMES = 64;
const EXTENSION_REQUEST = Buffer.from("06092a864886f70d01090e", "hex");
const SUBJECT_ALT_NAME = Buffer.from("0603551d11", "hex");
const NOTHING = Buffer.alloc(0);
/** From the attributes down to the names: the tag of each layer, and what its content begins with. */
const LAYERS: readonly (readonly [tag: number, head: Buffer])[] = [
  [0xa0, NOTHING],
  [0x30, EXTENSION_REQUEST],
  [0x31, NOTHING],
  [0x30, NOTHING],
  [0x30, SUBJECT_ALT_NAME],
  [0x04, NOTHING],
  [0x30, NOTHING],
];
const DNS_TAG = 0x82;
const ADDRESS_TAG = 0x87;
const IPV4_IN_IPV6 = Buffer.from("00000000000000000000ffff", "hex");
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

/**
 * @param der of the request
 * @param nodeName that it must be for
 * @returns why it is refused, in words for the customer. Whose its names are is not judged here.
 */
export function judgeServingRequest(
  der: Buffer,
  nodeName: string,
): { readonly request: ServingRequest } | { readonly refused: string } {
  const read = readNodeRequest(der, nodeName, MAX_BYTES);
  if ("refused" in read) return read;
  const names = namesIn(read.attributes);
  if (names === undefined) {
    return { refused: "the certificate request asks for something else than DNS names and IP addresses (SAN)" };
  }
  if (names.dnsNames.length + names.addresses.length === 0) {
    return { refused: "the certificate request has no DNS name and no IP address (SAN)" };
  }
  return { request: { ...read.request, ...names } };
}

/** One spelling of an IP address; undefined when it is none. */
export function sameAddress(text: string): string | undefined {
  for (const family of ["ipv4", "ipv6"] as const) {
    try {
      return new SocketAddress({ address: text, family }).address;
    } catch {
      // Of the other family, or no address.
    }
  }
  return undefined;
}

function namesIn(attributes: Buffer): Pick<ServingRequest, "dnsNames" | "addresses"> | undefined {
  let rest = attributes;
  for (const [tag, head] of LAYERS) {
    const layer = element(tag, rest);
    if (layer === undefined || layer.rest.length > 0) return undefined;
    if (!layer.content.subarray(0, head.length).equals(head)) return undefined;
    rest = layer.content.subarray(head.length);
  }
  const dnsNames: string[] = [];
  const addresses: string[] = [];
  while (rest.length > 0) {
    const name = element(rest[0] === DNS_TAG ? DNS_TAG : ADDRESS_TAG, rest);
    if (name === undefined || dnsNames.length + addresses.length >= MAX_NAMES) return undefined;
    const text = rest[0] === DNS_TAG ? dnsName(name.content) : address(name.content);
    if (text === undefined) return undefined;
    (rest[0] === DNS_TAG ? dnsNames : addresses).push(text);
    rest = name.rest;
  }
  return { dnsNames, addresses };
}

function dnsName(bytes: Buffer): string | undefined {
  const text = bytes.toString("latin1");
  return DNS_NAME.test(text) ? text : undefined;
}

function address(bytes: Buffer): string | undefined {
  if (bytes.length === 4) return bytes.join(".");
  // An IPv4 address in 16 bytes is the same one to Go, and none that a kubelet writes: here it would be another.
  if (bytes.length !== 16 || bytes.subarray(0, IPV4_IN_IPV6.length).equals(IPV4_IN_IPV6)) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return sameAddress(groups.join(":"));
}
