import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { administer } from "./administration.ts";
import { exportFolder, importFolder } from "./dump.ts";
import { startPlatform } from "./server.ts";
import { call } from "./testing/harness.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-dump-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

it("a folder's export, imported elsewhere, is the same platform", async () => {
  const [from, to, file] = [join(root, "from"), join(root, "to"), join(root, "dump.tgz")];
  const first = await startPlatform({ database: { pglite: from } });
  const made = await first.bootstrap.first("acme");
  await expect(exportFolder(from, file)).rejects.toThrow(/is in use by another process/);
  await first.close();
  await exportFolder(from, file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(from, "database"))).not.toContain("sallyport-sealing-key");
  await expect(exportFolder(from, file)).rejects.toThrow(/is there already/);
  await importFolder(to, file);
  expect(await readFile(join(to, "sealing-key"), "utf8")).toBe(await readFile(join(from, "sealing-key"), "utf8"));
  const second = await startPlatform({ database: { pglite: to } });
  const key = made?.key ?? "";
  expect((await call(second.url, "GET", "/v1/whoami", { key })).body).toMatchObject({ workspaceName: "acme" });
  await second.close();
  await expect(importFolder(to, file)).rejects.toThrow(/is not empty/);
}, 120_000);

it("what is no export is refused, and leaves no database behind", async () => {
  const [folder, file] = [join(root, "folder"), join(root, "file")];
  await expect(exportFolder(folder, file)).rejects.toThrow(/holds no database/);
  await writeFile(file, "text");
  await expect(importFolder(folder, file)).rejects.toThrow(/is no export of a platform/);
  await writeFile(file, Buffer.from([0x1f, 0x8b, 1, 2, 3]));
  await expect(importFolder(folder, file)).rejects.toThrow(/is damaged/);
  await administer({ pglite: folder }, async (admin) => expect(await admin.workspaces()).toEqual([]));
}, 120_000);
