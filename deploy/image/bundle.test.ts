import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundled } from "./bundle.ts";

test("a file that was moved is named, and does not leave its group empty", async () => {
  const root = await mkdtemp(join(tmpdir(), "sallyport-bundle-"));
  try {
    await mkdir(join(root, "src/cli"), { recursive: true });
    await writeFile(join(root, "src/cli/people.ts"), 'import "./version.ts";\n');
    await writeFile(join(root, "src/cli/version.ts"), 'console.log("1");\n');
    const bundle = bundled(root, join(root, "lib"), { people: "src/cli/people.ts" });
    await expect(bundle).rejects.toThrow(/TOGETHER names \S+src\/cli\/engineer\/\S+, which is not part of the bundle/);
  } finally {
    await rm(root, { recursive: true });
  }
});
