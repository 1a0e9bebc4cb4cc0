import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { shippedFor } from "./plugin-layer.ts";

const WRITTEN = {
  ...{ GOFLAGS: "-tags=other", GOEXPERIMENT: "fieldtrack", GOFIPS140: "latest" },
  ...{ GOAMD64: "v3", GOARM64: "v9.0" },
};
const EMPTY = Object.fromEntries(Object.keys(WRITTEN).map((name) => [name, ""]));
const PLAIN = { GOFLAGS: "", GOEXPERIMENT: "", GOFIPS140: "off", GOAMD64: "v1", GOARM64: "v8.0" };

test("no setting of the machine reaches what is shipped", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-go-"));
  const file = join(folder, "env");
  const { GOTOOLCHAIN, ...shipped } = await shippedFor("amd64");
  const asked = async (environment: Readonly<Record<string, string>>): Promise<object> => {
    const env = { ...process.env, ...environment, GOTOOLCHAIN };
    const { stdout } = await promisify(execFile)("go", ["env", "-json", ...Object.keys(WRITTEN)], { cwd: folder, env });
    return JSON.parse(stdout);
  };
  try {
    const lines = Object.entries(WRITTEN).map((entry) => `${entry.join("=")}\n`);
    await writeFile(file, lines.join(""));
    expect(await asked({ ...EMPTY, GOENV: file })).toEqual(WRITTEN);
    expect(await asked({ ...EMPTY, GOENV: file, ...shipped })).toEqual(PLAIN);
    expect(await asked({ ...WRITTEN, ...shipped })).toEqual(PLAIN);
  } finally {
    await rm(folder, { recursive: true });
  }
});
