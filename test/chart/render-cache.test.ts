import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { chartHash, renderedOnce } from "./render-cache.ts";

test("helm runs once for what a text depends on, and again when any of it differs", async () => {
  const from = [randomUUID(), "values", "--kube-version", "1.36.3"];
  const runs: string[] = [];
  const render = (...parts: readonly string[]) =>
    renderedOnce(parts, async () => {
      runs.push(parts.join());
      return { code: 0, stdout: `run ${runs.length}`, stderr: "a warning" };
    });
  const first = await render(...from);
  expect(await render(...from)).toEqual(first);
  expect(runs).toHaveLength(1);
  for (const at of from.keys()) await render(...from.with(at, `${from[at]}0`));
  await render(...from, "");
  expect(runs).toHaveLength(1 + from.length + 1);
});

test("a refusal is not kept", async () => {
  const from = [randomUUID()];
  expect(await renderedOnce(from, async () => ({ code: 1, stdout: "", stderr: "no" }))).toMatchObject({ code: 1 });
  const result = { code: 0, stdout: "yes", stderr: "" };
  expect(await renderedOnce(from, async () => result)).toEqual(result);
});

test("a chart is another one after any change of a file, of a name or of a place", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-hash-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "templates/_names.tpl");
  await mkdir(join(folder, "templates"));
  await writeFile(file, "one");
  const hashes = [await chartHash(folder)];
  expect(await chartHash(folder)).toBe(hashes[0]);
  await writeFile(file, "two");
  hashes.push(await chartHash(folder));
  await rename(file, join(folder, "templates/_other.tpl"));
  hashes.push(await chartHash(folder));
  await rename(join(folder, "templates/_other.tpl"), join(folder, "_other.tpl"));
  hashes.push(await chartHash(folder));
  await writeFile(join(folder, "empty"), "");
  hashes.push(await chartHash(folder));
  expect(new Set(hashes).size).toBe(hashes.length);
});
