import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OBJECT_OWNERS } from "../../../src/platform/areas/object-owners.ts";
import { openDatabase } from "../../../src/platform/database/open.ts";
import { newId } from "../../../src/platform/kernel/ids.ts";
import { OBJECT_GRACE_MS, objectSweep } from "../../../src/platform/objects/object-sweep.ts";
import { S3Store } from "../../../src/platform/objects/s3-store.ts";
import { storeKeepsItsPromises } from "../../../src/platform/objects/testing/promises.ts";
import { type S3Server, startS3Server } from "./s3-server.ts";

const never = new AbortController().signal;
let server: S3Server;
let folder = "";

beforeAll(async () => {
  server = await startS3Server(AbortSignal.timeout(900_000));
  folder = await mkdtemp(join(tmpdir(), "sallyport-s3-keys-"));
}, 900_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const storeWith = (credentials: { file: string } | { accessKeyId: string; secretAccessKey: string }): S3Store => {
  const { bucket, endpoint } = server;
  const location = { bucket, endpoint, prefix: "platform/", region: "us-east-1", credentials };
  return new S3Store(location, () => new Date());
};

storeKeepsItsPromises("a bucket", () => ({ store: storeWith(server), now: new Date() }));

describe("a bucket", () => {
  it("takes nothing at an address that is over", async () => {
    const now = new Date(Date.now() - 60_000);
    const terms = { contentType: "application/zip", now, expiresAt: new Date(now.getTime() + 1000) };
    const url = await storeWith(server).uploadUrl("late.zip", terms);
    const answer = await fetch(url, { method: "PUT", body: "x", headers: { "content-type": "application/zip" } });
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("expired")]);
  });

  it("reads its credentials from a file, again after they were changed, and quotes none of them", async () => {
    const file = join(folder, "credentials");
    await writeFile(file, `${server.accessKeyId}:not-the-secret\n`);
    const store = storeWith({ file });
    const refused = store.put("rotated", Buffer.from("x"), "text/plain", never);
    await expect(refused).rejects.toThrow("the object store answered 403 SignatureDoesNotMatch");
    await writeFile(file, `${server.accessKeyId}:${server.secretAccessKey}\n`);
    await store.put("rotated", Buffer.from("x"), "text/plain", never);
    await writeFile(file, "nothing");
    await expect(store.remove("rotated", never)).rejects.toThrow("does not hold");
  });

  it("loses what no row names, a day after it was put, and nothing else", async () => {
    const store = storeWith(server);
    const { db, close } = await openDatabase({ pglite: "memory" });
    try {
      const project = newId("prj");
      const orphans = [
        `plugins/${project}/shop/0.zip`,
        `uploads/${project}/shop.zip`,
        `packages/${newId("pkg")}/a.tgz`,
      ];
      for (const key of [...orphans, "other/1"]) await store.put(key, Buffer.from("x"), "text/plain", never);
      const sweep = objectSweep({ store, secret: Buffer.alloc(32), owners: OBJECT_OWNERS, signal: never });
      const there = async (): Promise<string[]> => {
        const { objects } = await store.list(undefined, 1000, never);
        return objects.map(({ key }) => key).filter((key) => [...orphans, "other/1"].includes(key));
      };
      // The first run claims the store for this platform.
      for (let run = 0; run < 2; run += 1) await sweep(db, new Date());
      expect(await there()).toHaveLength(4);
      await sweep(db, new Date(Date.now() + OBJECT_GRACE_MS + 60_000));
      expect(await there()).toEqual(["other/1"]);
    } finally {
      await close();
    }
  });

  it("says when the bucket is not there", async () => {
    const location = { ...server, bucket: "no-such", prefix: "", region: "us-east-1", credentials: server };
    const store = new S3Store(location, () => new Date());
    await expect(store.put("x", Buffer.from("x"), "text/plain", never)).rejects.toThrow("404 NoSuchBucket");
  });
});
