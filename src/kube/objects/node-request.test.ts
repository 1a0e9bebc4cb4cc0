import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { judgeNodeRequest } from "./node-request.ts";

// The openssl command makes the requests, as on a machine.

const SUBJECT = "/O=system:nodes/CN=system:node:m-7";
const P256 = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];

function made(subject: string, key: readonly string[] = P256, ...more: readonly string[]): Buffer {
  const args = ["req", "-new", ...key, "-nodes", "-keyout", "/dev/null", "-outform", "DER", "-subj", subject, ...more];
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] });
}

const good = made(SUBJECT);
const verdict = (der: Buffer, name = "m-7"): string => {
  const judged = judgeNodeRequest(der, name);
  return "refused" in judged ? judged.refused : "good";
};

describe("a node's certificate request", () => {
  test("is taken as openssl makes it, with the hash of its key", () => {
    const folder = mkdtempSync(join(tmpdir(), "request-"));
    writeFileSync(join(folder, "request.der"), good);
    const key = execFileSync("sh", [
      "-c",
      `openssl req -inform DER -in ${folder}/request.der -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum`,
    ]);
    const publicKey = key.toString().slice(0, 64);
    expect(judgeNodeRequest(good, "m-7")).toEqual({ request: { nodeName: "m-7", publicKey } });
  });

  test("is taken with text as Go writes it", () => {
    const config = join(mkdtempSync(join(tmpdir(), "request-")), "openssl.cnf");
    writeFileSync(config, "[req]\nstring_mask = default\ndistinguished_name = names\n[names]\n");
    const der = made(SUBJECT, P256, "-config", config);
    expect(der.includes(Buffer.from("130c73797374656d3a6e6f646573", "hex"))).toBe(true);
    expect(verdict(der)).toBe("good");
  });

  test("is taken with the longest name of a node", () => {
    const name = `m${"-7".repeat(20)}`;
    expect(verdict(made(`/O=system:nodes/CN=system:node:${name}`), name)).toBe("good");
  });

  const SAN = ["-addext", "subjectAltName=DNS:kubernetes.default"];
  test.each([
    ["another node's name", made("/O=system:nodes/CN=system:node:m-8"), "subject"],
    ["a name that begins like it", made("/O=system:nodes/CN=system:node:m-77"), "subject"],
    ["an administrator", made("/O=system:masters/CN=admin"), "subject"],
    ["the right name in the wrong organisation", made("/O=system:masters/CN=system:node:m-7"), "subject"],
    ["a second organisation", made("/O=system:nodes/O=system:masters/CN=system:node:m-7"), "subject"],
    ["a second organisation behind", made("/O=system:nodes/CN=system:node:m-7/O=system:masters"), "subject"],
    [
      "two values in one part",
      made("/O=system:nodes+O=system:masters/CN=system:node:m-7", P256, "-multivalue-rdn"),
      "subject",
    ],
    ["a second name", made("/O=system:nodes/CN=system:node:m-7/CN=admin"), "subject"],
    ["a country first", made("/C=DE/O=system:nodes/CN=system:node:m-7"), "subject"],
    ["the parts in the other order", made("/CN=system:node:m-7/O=system:nodes"), "subject"],
    ["a name of another address (SAN)", made(SUBJECT, P256, ...SAN), "attributes"],
    ["a request to be an authority", made(SUBJECT, P256, "-addext", "basicConstraints=critical,CA:TRUE"), "attributes"],
    ["an RSA key", made(SUBJECT, ["-newkey", "rsa:2048"]), "P-256"],
    ["a key on a small curve", made(SUBJECT, ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp224r1"]), "P-256"],
    ["a key on a larger curve", made(SUBJECT, ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]), "P-256"],
    ["an Ed25519 key", made(SUBJECT, ["-newkey", "ed25519"]), "P-256"],
    ["a signature with another hash", made(SUBJECT, P256, "-sha384"), "signature"],
    ["something behind it", Buffer.concat([good, Buffer.from([0])]), "no PKCS#10"],
    ["nothing", Buffer.alloc(0), "no PKCS#10"],
    ["text", Buffer.from("-----BEGIN CERTIFICATE REQUEST-----"), "no PKCS#10"],
    ["too much", Buffer.concat([good, Buffer.alloc(2_000)]), "more than 1024 bytes"],
  ])("is refused: %s", (_, der, words) => expect(verdict(der)).toContain(words));

  test("is refused with any bit changed", () => {
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const changed = Buffer.from(good);
        changed[at] = (changed[at] ?? 0) ^ mask;
        expect(verdict(changed)).not.toBe("good");
      }),
      { numRuns: runs(2_000) },
    );
  });

  test("is refused cut anywhere, and random bytes end in a refusal and not in an error", () => {
    for (let length = 0; length < good.length; length += 1) expect(verdict(good.subarray(0, length))).not.toBe("good");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        expect(verdict(Buffer.from(bytes))).not.toBe("good");
        expect(verdict(Buffer.concat([good.subarray(0, 80), bytes]))).not.toBe("good");
      }),
    );
  });
});
