import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { PGlite } from "@electric-sql/pglite";
import { pack } from "tar-stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { zip } from "../areas/operations/testing/zip.ts";
import { tarOf } from "../kernel/tar.ts";
import { startPlatform } from "../server.ts";
import { inFolder } from "../testing/empty-database.ts";
import { call } from "../testing/harness.ts";
import { exportFolder, importFolder } from "./dump.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sallyport-dump-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const PLUGINS = "/v1/operations/plugins";

/** A bundle that waits to be registered. */
async function upload(url: string, key: string): Promise<void> {
  await call(url, "POST", "/v1/projects", { key, body: { name: "shop" } });
  const body = { name: "shop" };
  const { uploadUrl } = (await call(url, "POST", `${PLUGINS}/upload-url`, { key, query: { project: "shop" }, body }))
    .body;
  const metadata = { name: "shop", version: "1.0.0", operations: [{ name: "reindex" }] };
  const bundle = new Uint8Array(zip([{ name: "metadata.json", content: JSON.stringify(metadata) }]));
  const headers = { "content-type": "application/zip" };
  expect((await fetch(uploadUrl, { method: "PUT", headers, body: bundle })).status).toBe(200);
}

it("a folder's export, imported elsewhere, is the same platform", async () => {
  const [from, to, file] = [join(root, "from"), join(root, "to"), join(root, "dump.tar")];
  const first = await startPlatform({ database: await inFolder(from) });
  const made = await first.bootstrap.first("acme");
  await upload(first.url, made?.key ?? "");
  await expect(exportFolder(from, file)).rejects.toThrow(/is in use by another process/);
  await first.close();
  await exportFolder(from, file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await expect(exportFolder(from, file)).rejects.toThrow(/is there already/);
  await importFolder(to, file);
  expect(await readFile(join(to, "sealing-key"), "utf8")).toBe(await readFile(join(from, "sealing-key"), "utf8"));
  const second = await startPlatform({ database: { pglite: to } });
  const key = made?.key ?? "";
  expect((await call(second.url, "GET", "/v1/whoami", { key })).body).toMatchObject({ workspaceName: "acme" });
  const register = { name: "shop", version: "1.0.0", tier: "mutating" };
  const registered = await call(second.url, "POST", PLUGINS, { key, query: { project: "shop" }, body: register });
  expect(registered.status, JSON.stringify(registered.body)).toBe(201);
  await second.close();
  await expect(importFolder(to, file)).rejects.toThrow(/is not empty/);
}, 120_000);

it("the form of exports before there were objects is still imported", async () => {
  const [from, to, file] = [join(root, "from"), join(root, "to"), join(root, "dump.tgz")];
  const first = await startPlatform({ database: await inFolder(from) });
  const made = await first.bootstrap.first("acme");
  await first.close();
  await copyFile(join(from, "sealing-key"), join(from, "database", "sallyport-sealing-key"));
  const pglite = await PGlite.create({ dataDir: join(from, "database") });
  await writeFile(file, Buffer.from(await (await pglite.dumpDataDir("gzip")).arrayBuffer()));
  await pglite.close();
  await importFolder(to, file);
  expect(await readFile(join(to, "sealing-key"), "utf8")).toBe(await readFile(join(from, "sealing-key"), "utf8"));
  const second = await startPlatform({ database: { pglite: to } });
  const { body } = await call(second.url, "GET", "/v1/whoami", { key: made?.key ?? "" });
  expect(body).toMatchObject({ workspaceName: "acme" });
  await second.close();
}, 120_000);

const x = Buffer.from("x");
const linked = async (type: "symlink" | "link"): Promise<Buffer> => {
  const archive = pack();
  archive.entry({ name: "objects/b", type, linkname: "../../escape" });
  archive.finalize();
  return await buffer(archive);
};
/** Its header says more than follows. */
const claiming = async (size: number): Promise<Buffer> => {
  const archive = pack();
  archive.entry({ name: "objects/b", size }).write(x);
  const { value: header } = await archive[Symbol.asyncIterator]().next();
  return Buffer.concat([header as Uint8Array, x, Buffer.alloc(511 + 1024)]);
};

it.each<[string, (tar: Buffer) => Buffer | Promise<Buffer>, RegExp]>([
  ["cut short", (tar) => tar.subarray(0, tar.length - 2000), /too early/],
  ["cut between two files", (tar) => tar.subarray(0, tar.length - 2048), /too early/],
  ["without its end", (tar) => tar.subarray(0, tar.length - 1024), /too early/],
  ["with a file out of the folder", () => tarOf([{ name: "../escape", content: x }]), /none of ours/],
  ["with an object out of the folder", () => tarOf([{ name: "objects/../../escape", content: x }]), /none of ours/],
  ["with a long name out of it", () => tarOf([{ name: `objects/${"a/".repeat(200)}..`, content: x }]), /none of ours/],
  ["with a symbolic link", () => linked("symlink"), /more than files/],
  ["with a hard link", () => linked("link"), /more than files/],
  ["with the same object twice", (tar) => Buffer.concat([tar.subarray(0, 3584), tar]), /EEXIST/],
  ["with a file of more than there is", () => claiming(100 * 1024 ** 3), /end of data|was destroyed/],
  ["with a changed header", (tar) => Buffer.concat([Buffer.from("D"), tar.subarray(1)]), /Invalid tar header/],
  ["without a database", () => tarOf([{ name: "objects/a", content: x }]), /no database/],
])("an export %s is refused, and nothing is left of it", async (_, change, why) => {
  const [folder, file] = [join(root, "folder"), join(root, "file")];
  const whole = await tarOf([
    { name: "objects/a", content: Buffer.alloc(3000, "a") },
    { name: "sealing-key", content: Buffer.from("00") },
  ]);
  await writeFile(file, await change(whole));
  await expect(importFolder(folder, file)).rejects.toMatchObject({
    message: expect.stringMatching(/is damaged/),
    cause: { message: expect.stringMatching(why) },
  });
  expect((await readdir(folder)).filter((name) => name !== "lock")).toEqual([]);
  expect(await readdir(root)).not.toContain("escape");
});

it("what is no export is refused, and leaves no database behind", async () => {
  const [folder, file] = [join(root, "folder"), join(root, "file")];
  await expect(exportFolder(folder, file)).rejects.toThrow(/holds no database/);
  await writeFile(file, "text");
  await expect(importFolder(folder, file)).rejects.toThrow(/is no export of a platform/);
  await writeFile(file, Buffer.from([0x1f, 0x8b, 1, 2, 3]));
  await expect(importFolder(folder, file)).rejects.toThrow(/is damaged/);
  expect((await readdir(folder)).filter((name) => name !== "lock")).toEqual([]);
}, 120_000);
