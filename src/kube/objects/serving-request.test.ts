import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { wrap } from "./der.ts";
import { judgeServingRequest, sameAddress } from "./serving-request.ts";

// The openssl command makes whole requests; what it does not write is made here, signed by its own key.

const SUBJECT = "/O=system:nodes/CN=system:node:m-7";
const P256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
const SAN = ["-addext", "subjectAltName=DNS:m-7,IP:10.0.0.7,IP:2001:db8::7"];

function made(subject: string, key: readonly string[], ...more: readonly string[]): Buffer {
  const args = ["req", "-new", ...key, "-nodes", "-keyout", "/dev/null", "-outform", "DER", "-subj", subject, ...more];
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] });
}

const hex = (text: string): Buffer => Buffer.from(text, "hex");
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const EXTENSION_REQUEST = hex("06092a864886f70d01090e");
const SUBJECT_ALT_NAME = hex("0603551d11");
const text = (value: string): Buffer => Buffer.from(value, "latin1");
const dns = (name: string): Buffer => wrap(0x82, text(name));
const ip = (...bytes: readonly number[]): Buffer => wrap(0x87, Buffer.from(bytes));

/** A well signed request of this node with these attributes. */
function withAttributes(attributes: Buffer): Buffer {
  const part = (oid: string, value: string): Buffer => wrap(0x31, wrap(0x30, hex(oid), wrap(0x13, text(value))));
  const name = wrap(0x30, part("060355040a", "system:nodes"), part("0603550403", "system:node:m-7"));
  const spki = publicKey.export({ type: "spki", format: "der" });
  const info = wrap(0x30, hex("020100"), name, spki, attributes);
  const signature = wrap(0x03, Buffer.from([0]), sign("sha256", info, privateKey));
  return wrap(0x30, info, hex("300a06082a8648ce3d040302"), signature);
}

const extension = (...names: readonly Buffer[]): Buffer =>
  wrap(0x30, SUBJECT_ALT_NAME, wrap(0x04, wrap(0x30, ...names)));
const attribute = (...extensions: readonly Buffer[]): Buffer =>
  wrap(0x30, EXTENSION_REQUEST, wrap(0x31, wrap(0x30, ...extensions)));
const withNames = (...names: readonly Buffer[]): Buffer => withAttributes(wrap(0xa0, attribute(extension(...names))));

const good = made(SUBJECT, P256, ...SAN);
const verdict = (der: Buffer, name = "m-7"): string => {
  const judged = judgeServingRequest(der, name);
  return "refused" in judged ? judged.refused : "good";
};
const namesOf = (der: Buffer): unknown => {
  const judged = judgeServingRequest(der, "m-7");
  return "refused" in judged ? judged.refused : [judged.request.dnsNames, judged.request.addresses];
};

describe("a kubelet's request to serve", () => {
  test("is taken as openssl makes it, with its names", () => {
    expect(namesOf(good)).toEqual([["m-7"], ["10.0.0.7", "2001:db8::7"]]);
  });

  test("is taken as Go makes it, with the longest list of names", () => {
    expect(namesOf(withNames(dns("m-7"), ip(10, 0, 0, 7)))).toEqual([["m-7"], ["10.0.0.7"]]);
    const many = Array.from({ length: 64 }, (_, index) => `10.0.0.${index}`);
    expect(namesOf(withNames(...many.map((each) => ip(...each.split(".").map(Number)))))).toEqual([[], many]);
  });

  const other = "something else than DNS names";
  test.each([
    ["another node's name", made("/O=system:nodes/CN=system:node:m-8", P256, ...SAN), "subject"],
    ["an administrator", made("/O=system:masters/CN=admin", P256, ...SAN), "subject"],
    ["an RSA key", made(SUBJECT, ["-newkey", "rsa:2048"], ...SAN), "P-256"],
    ["a larger curve", made(SUBJECT, ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"], ...SAN), "P-256"],
    ["a signature with another hash", made(SUBJECT, P256, "-sha384", ...SAN), "signature"],
    ["no names at all", made(SUBJECT, P256), other],
    ["an empty list of names", withNames(), "no DNS name and no IP address"],
    ["an address of mail", made(SUBJECT, P256, "-addext", "subjectAltName=DNS:m-7,email:a@b.example"), other],
    ["a URI", made(SUBJECT, P256, "-addext", "subjectAltName=DNS:m-7,URI:spiffe://a/b"), other],
    ["an IPv4 address as one of IPv6", made(SUBJECT, P256, "-addext", "subjectAltName=IP:::ffff:10.96.0.1"), other],
    ["a wildcard", made(SUBJECT, P256, "-addext", "subjectAltName=DNS:*.example"), other],
    ["critical names", made(SUBJECT, P256, "-addext", "subjectAltName=critical,DNS:m-7"), other],
    ["to be an authority", made(SUBJECT, P256, ...SAN, "-addext", "basicConstraints=CA:TRUE"), other],
    ["usages", made(SUBJECT, P256, ...SAN, "-addext", "extendedKeyUsage=clientAuth"), other],
    ["names twice", withAttributes(wrap(0xa0, attribute(extension(dns("m-7")), extension(dns("a"))))), other],
    ["a second attribute", withAttributes(wrap(0xa0, attribute(extension(dns("m-7"))), attribute())), other],
    ["a zero byte in a name", withNames(dns("m-7\0.example")), other],
    ["a large letter", withNames(dns("M-7")), other],
    ["an empty name", withNames(dns("")), other],
    ["an address of five bytes", withNames(ip(10, 0, 0, 7, 1)), other],
    ["one name too many", withNames(...Array.from({ length: 65 }, () => dns("m-7"))), other],
    ["something behind it", Buffer.concat([good, Buffer.from([0])]), "no PKCS#10"],
    ["nothing", Buffer.alloc(0), "no PKCS#10"],
    ["too much", Buffer.concat([good, Buffer.alloc(5_000)]), "more than 4096 bytes"],
  ])("is refused: %s", (_, der, words) => expect(verdict(der)).toContain(words));

  test("is refused with any byte changed", () => {
    for (let at = 0; at < good.length; at += 1) {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 255 }), (mask) => {
          const changed = Buffer.from(good);
          changed[at] = (changed[at] ?? 0) ^ mask;
          expect(verdict(changed)).not.toBe("good");
        }),
        { numRuns: 4 },
      );
    }
  });

  test("says exactly the names that stand in it, or is refused, whatever stands there under a good signature", () => {
    const attributes = wrap(0xa0, attribute(extension(dns("m-7"), ip(10, 0, 0, 7))));
    fc.assert(
      fc.property(fc.nat(attributes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const changed = Buffer.from(attributes);
        changed[at] = (changed[at] ?? 0) ^ mask;
        const judged = judgeServingRequest(withAttributes(changed), "m-7");
        if ("refused" in judged) return;
        const { dnsNames, addresses } = judged.request;
        const again = [...dnsNames.map(dns), ...addresses.map((each) => ip(...each.split(".").map(Number)))];
        expect(wrap(0xa0, attribute(extension(...again)))).toEqual(changed);
      }),
      { numRuns: runs(500) },
    );
  });

  test("cut anywhere, or of random bytes, ends in a refusal and not in an error", () => {
    for (let length = 0; length < good.length; length += 1) expect(verdict(good.subarray(0, length))).not.toBe("good");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(verdict(Buffer.from(bytes))).not.toBe("good");
        expect(verdict(withAttributes(Buffer.from(bytes)))).not.toBe("good");
      }),
    );
  });
});

test.each([
  ["10.0.0.7", "10.0.0.7"],
  ["2001:DB8:0:0::7", "2001:db8::7"],
  ["::ffff:10.0.0.7", "::ffff:10.0.0.7"],
  ["m-7", undefined],
  ["", undefined],
])("the address %s is written %s", (address, written) => expect(sameAddress(address)).toBe(written));
