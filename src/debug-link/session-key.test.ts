import { X509Certificate } from "node:crypto";
import { PassThrough } from "node:stream";
import { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { hasPin, newSessionKey, pinOf, samePin } from "./session-key.ts";

describe("a session's key", () => {
  const now = new Date("2026-01-01T12:00:00Z");

  it("has a certificate of its own key, for both roles, and a pin of 43 characters", () => {
    const { certificate, pin } = newSessionKey("dbg_x", now, ["127.0.0.1", "localhost"]);
    const read = new X509Certificate(certificate);
    expect(read.verify(read.publicKey)).toBe(true);
    expect([read.subject, read.issuer, read.ca]).toEqual(["CN=dbg_x", "CN=dbg_x", false]);
    expect(read.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(read.checkHost("localhost")).toBe("localhost");
    expect(read.checkIP("127.0.0.2")).toBeUndefined();
    expect(read.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
    expect([new Date(read.validFrom), new Date(read.validTo)]).toEqual([
      new Date("2026-01-01T11:00:00Z"),
      new Date("2026-01-31T12:00:00Z"),
    ]);
    expect(pin).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(pinOf(read.raw)).toBe(pin);
  });

  it("is another one each time", () => {
    expect(newSessionKey("a", now).pin).not.toBe(newSessionKey("a", now).pin);
  });

  it.each([
    ["a", "a", true],
    ["a", "b", false],
    ["a", "aa", false],
    ["", "", true],
    ["é", "e", false],
  ])("%j and %j are the same: %s", (one, other, same) => {
    expect(samePin(one, other)).toBe(same);
  });

  it("has no pin when it is no certificate", () => {
    expect(() => pinOf(Buffer.from("garbage"))).toThrow();
  });
});

const key = newSessionKey("engineer", new Date());
const other = newSessionKey("engineer", new Date());

function showing(peer: () => unknown): TLSSocket {
  return Object.assign(new TLSSocket(new PassThrough()), { getPeerCertificate: peer });
}

it.each<readonly [string, unknown, boolean]>([
  ["its own key", showing(() => ({ raw: new X509Certificate(key.certificate).raw })), true],
  ["another key", showing(() => ({ raw: new X509Certificate(other.certificate).raw })), false],
  ["no certificate", showing(() => ({})), false],
  ["one that cannot be read", showing(() => ({ raw: Buffer.from("no certificate") })), false],
  ["nothing, because the connection is gone", showing(() => null), false],
  ["no TLS", new PassThrough(), false],
])("the other end shows %s", (_, socket, isPeer) => {
  expect(hasPin(socket, key.pin)).toBe(isPeer);
});
