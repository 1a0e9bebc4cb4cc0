import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, readFile, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { writeTar } from "../../kernel/tar.ts";
import { openBaseImage } from "./base-image.ts";
import { writeBase } from "./testing/plugins.ts";

const root = mkdtempSync(join(tmpdir(), "sallyport-base-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const never = new AbortController().signal;
const [ONE, OTHER] = [`sha256:${"1".repeat(64)}`, `sha256:${"2".repeat(64)}`];
const BLOB = `blobs/sha256/${"3".repeat(64)}`;
const fresh = (): Promise<string> => mkdtemp(join(root, "case-"));

async function archive(files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(await fresh(), "image.tar");
  await writeTar(
    path,
    async (tar) => {
      for (const [name, content] of Object.entries(files)) {
        await tar.file({ name, size: content.length }, [Buffer.from(content)]);
      }
    },
    never,
  );
  return path;
}

const indexOf = (...digests: readonly string[]): string =>
  JSON.stringify({ manifests: digests.map((digest) => ({ digest })) });

describe("the base image", () => {
  it("is read where it lies, from a folder", async () => {
    const folder = writeBase(await fresh(), ONE);
    const base = await openBaseImage(folder, never);
    expect(base.digest).toBe(ONE);
    expect(await base.layout(await fresh(), never)).toBe(folder);
  });

  it("is unpacked for each build, from an archive, without what is no part of a layout", async () => {
    const files = { "./oci-layout": "{}", "./index.json": indexOf(ONE), [`./${BLOB}`]: "blob", "../escape": "x" };
    const base = await openBaseImage(await archive({ ...files, "manifest.json": "[]" }), never);
    expect(base.digest).toBe(ONE);
    const work = await fresh();
    const layout = await base.layout(work, never);
    expect(layout.startsWith(work)).toBe(true);
    expect(await readFile(join(layout, BLOB), "utf8")).toBe("blob");
    for (const name of ["manifest.json", "../escape"]) await expect(readFile(join(layout, name))).rejects.toThrow();
  });

  it("that was exchanged since the start is not used under the old digest", async () => {
    const folder = writeBase(await fresh(), ONE);
    const base = await openBaseImage(folder, never);
    writeBase(folder, OTHER);
    await expect(base.layout(await fresh(), never)).rejects.toThrow("another image lies at");
  });

  it.each<[string, () => Promise<string>]>([
    ["nothing", async () => join(await fresh(), "absent")],
    ["an archive without an index", () => archive({ "oci-layout": "{}" })],
    ["two images", () => archive({ "index.json": indexOf(ONE, OTHER) })],
    ["no image", () => archive({ "index.json": indexOf() })],
    ["no JSON", () => archive({ "index.json": "{" })],
    ["an index of 2 MiB", () => archive({ "index.json": " ".repeat(2 * 1024 ** 2) })],
    [
      "an archive that was cut off",
      async () => {
        const path = await archive({ [BLOB]: "x".repeat(4096), "index.json": indexOf(ONE) });
        await truncate(path, 2048);
        return path;
      },
    ],
    [
      "no archive",
      async () => {
        const path = join(await fresh(), "text");
        await writeFile(path, "x".repeat(2048));
        return path;
      },
    ],
  ])("cannot be %s", async (_, make) => {
    await expect(openBaseImage(await make(), never)).rejects.toThrow();
  });
});
