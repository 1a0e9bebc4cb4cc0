import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { SettingTable } from "../../base/settings.ts";
import { describeSettings, readSettings, wrap } from "./settings.ts";

const TABLE: SettingTable = {
  level: { env: "S_LEVEL", default: "info", doc: "How much is said." },
  url: { env: "S_URL", default: undefined, doc: "Where it is." },
  port: { env: "S_PORT", default: "", doc: "Its port." },
};

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "settings.yaml");
  await writeFile(file, text);
  return file;
}

it("lets the environment win over the file, except where it is empty, as Helm renders an unset value", async () => {
  const file = await fileWith("S_LEVEL: debug\nS_PORT: 8080\nS_URL: https://file\n");
  const read = await readSettings(file, { S_LEVEL: "warn", S_PORT: "", OTHER: "kept" }, [TABLE]);
  expect(read).toEqual({ S_LEVEL: "warn", S_PORT: "8080", S_URL: "https://file", OTHER: "kept" });
});

it("reads only the environment without a file", async () => {
  expect(await readSettings(undefined, { S_LEVEL: "warn" }, [TABLE])).toEqual({ S_LEVEL: "warn" });
});

it.each([
  [
    "a key that is no setting, and one that is a map",
    "S_LEVLE: debug\nS_URL: {a: 1}\n",
    /S_LEVLE is not a setting\n +S_URL must be one value/,
  ],
  ["a list", "- S_LEVEL\n", /must hold lines such as/],
  ["broken YAML", "S_LEVEL: [", /:1 is neither YAML nor JSON: /],
])("refuses %s", async (_name, text, message) => {
  await expect(readSettings(await fileWith(text), {}, [TABLE])).rejects.toThrow(message);
});

it("refuses a file that is not there", async () => {
  await expect(readSettings("/no/such/file.yaml", {}, [TABLE])).rejects.toThrow("/no/such/file.yaml cannot be read");
});

it("takes a value as it is written, as the environment has it", async () => {
  const file = await fileWith("S_LEVEL: 0755\n");
  expect(await readSettings(file, {}, [TABLE])).toEqual({ S_LEVEL: "0755" });
});

it("takes an empty file for no settings", async () => {
  expect(await readSettings(await fileWith(""), { A: "1" }, [TABLE])).toEqual({ A: "1" });
});

it("describes each setting with its default and its meaning", () => {
  expect(describeSettings([TABLE])).toBe(
    "  S_LEVEL  (default: info)\n      How much is said.\n  S_URL  (must be set)\n      Where it is.\n  S_PORT  (default: none)\n      Its port.",
  );
});

it("wraps between words and never within one", () => {
  expect(wrap("a bb ccc  ddddddddd e", 6)).toEqual(["a bb", "ccc", "ddddddddd", "e"]);
  expect(wrap("", 6)).toEqual([]);
});
