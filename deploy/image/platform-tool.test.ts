import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { termsOf } from "./platform-tool.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-terms-"));
});
afterEach(() => rm(root, { recursive: true }));

async function put(...files: readonly string[]): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), `text of ${file}\n`);
  }
}

const termsFor = (...packages: readonly string[]): Promise<string> =>
  termsOf({ path: "a.dev/m", version: "v1", root, folders: packages.map((each) => join(root, each)) });

describe("the terms of a Go module", () => {
  it("are its own and those above the packages that are linked, each once", async () => {
    await put("LICENSE", "NOTICE", "zstd/zstd.go", "zstd/internal/hash/LICENSE.txt", "zstd/internal/hash/deep/deep.go");
    await put("other/LICENSE", "zstd/notice.go", "zstd/licenses/one.txt");
    const terms = await termsFor("", "zstd", "zstd/internal/hash", "zstd/internal/hash/deep");
    expect(terms.match(/^== .*$/gm)).toEqual([
      "== a.dev/m v1: LICENSE ==",
      "== a.dev/m v1: NOTICE ==",
      "== a.dev/m v1: zstd/internal/hash/LICENSE.txt ==",
    ]);
    expect(terms).toContain("text of zstd/internal/hash/LICENSE.txt\n");
  });

  it("are missing where only one of its packages has some", async () => {
    await put("zstd/LICENSE", "NOTICE");
    await expect(termsFor("zstd")).rejects.toThrow("a.dev/m v1 has no licence in ");
  });
});
