import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runs } from "../../../../base/testing/runs.ts";
import { type ZipEntry, zip } from "../testing/zip.ts";
import { type Archive, readArchive } from "./bundle-archive.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-zip-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const read = async (bytes: Uint8Array): Promise<Archive> => {
  const file = join(folder, "bundle.zip");
  await writeFile(file, bytes);
  return readArchive(file);
};
const METADATA: ZipEntry = { name: "metadata.json", content: '{"name":"shop"}' };
const with_ = (...more: readonly ZipEntry[]): Buffer => zip([METADATA, ...more]);

describe("an archive", () => {
  it("is read for its metadata and its files' names", async () => {
    const archive = await read(with_({ name: "bin/" }, { name: "bin/amd64", content: "\0\x01" }));
    expect(archive).toEqual({
      metadata: { name: "shop" },
      files: new Set(["metadata.json", "bin/", "bin/amd64"]),
      issues: [],
    });
    expect(await read(zip([{ name: "a" }]))).toMatchObject({ metadata: undefined, issues: [] });
  });

  it.each<[string, Buffer, RegExp]>([
    ["no ZIP at all", Buffer.from("#!/bin/sh"), /end of central directory/i],
    ["an empty file", Buffer.alloc(0), /./],
    ["a name from the root", with_({ name: "/etc/passwd" }), /absolute path/],
    ["a name out of the folder", with_({ name: "../../escape" }), /invalid relative path/],
    ["a name out of the folder, later", with_({ name: "a/../../escape" }), /invalid relative path/],
    ["a backslash", with_({ name: "..\\escape" }), /invalid characters/],
    ["a drive", with_({ name: "C:/escape" }), /absolute path/],
    ["a link", with_({ name: "link", content: "/etc", mode: 0o120777 }), /is a link or a device/],
    ["a device", with_({ name: "device", mode: 0o020666 }), /is a link or a device/],
    ["a file twice", with_(METADATA), /is there twice/],
    ["an encrypted file", with_({ name: "a", flags: 1 }), /is encrypted/],
    ["a control character", with_({ name: "a\u001b[2J" }), /control character/],
    ["too many files", zip(Array.from({ length: 2001 }, (_, index) => ({ name: `f${index}` }))), /more than 2000/],
    [
      "a bomb",
      with_(...Array.from({ length: 3 }, (_, at) => ({ name: `b${at}`, claimedSize: 2 ** 29 }))),
      /over 1 GiB/,
    ],
    ["metadata too large", zip([{ ...METADATA, claimedSize: 2 ** 21 }]), /over 256 KiB/],
    [
      "metadata larger than it says",
      zip([{ ...METADATA, content: " ".repeat(2 ** 22), claimedSize: 10 }]),
      /too many bytes/,
    ],
    ["metadata that is no JSON", zip([{ ...METADATA, content: "{" }]), /no sound JSON/],
    ["metadata with text that SQL cannot hold", zip([{ ...METADATA, content: '{"a":["\\u0000"]}' }]), /no sound JSON/],
    ["metadata with half a character", zip([{ ...METADATA, content: '{"\\ud800":1}' }]), /no sound JSON/],
    ["metadata that is nested without end", zip([{ ...METADATA, content: "[".repeat(200_000) }]), /no sound JSON/],
  ])("with %s is refused", async (_, bytes, message) => {
    const { issues, metadata } = await read(bytes);
    expect(metadata).toBeUndefined();
    expect(issues).toEqual([{ path: "bundle", message: expect.stringMatching(message) }]);
  });

  it("with any byte changed is refused or read, and never anything else", async () => {
    const good = with_({ name: "bin/amd64", content: "x".repeat(100) });
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), async (at, value, end) => {
        const bytes = Buffer.from(good);
        bytes[at] = value;
        const { issues, files } = await read(bytes.subarray(0, end === 0 ? undefined : end));
        expect(issues.length === 1 || files.size > 0 || end < good.length).toBe(true);
      }),
      { numRuns: runs(300) },
    );
  });
});
