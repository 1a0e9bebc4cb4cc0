import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { DebugSession } from "../../contract/debug-sessions/debug-sessions.ts";
import { newSite, type Site } from "../areas/deployments/testing/site.ts";
import { zip } from "../areas/operations/testing/zip.ts";
import { newBuildSite } from "../areas/packages/testing/builds.ts";
import { release } from "../areas/releases/testing/releases.ts";
import { packageKey } from "../builders/package-link.ts";
import { onEachDatabase, type World } from "../testing/harness.ts";
import { keysIn, ObjectFolder } from "./object-folder.ts";
import { OBJECT_GRACE_MS, OBJECTS_PER_RUN, OWNER_KEY, objectSweep } from "./object-sweep.ts";

const root = mkdtempSync(join(tmpdir(), "sallyport-sweep-"));
const folder = join(root, "platform");
afterAll(() => rmSync(root, { recursive: true, force: true }));

const never = new AbortController().signal;
const LATER_MS = OBJECT_GRACE_MS + 60_000;
const DAY_MS = 86_400_000;

const register = async (site: Site, version: string) => {
  const query = { project: site.project.name };
  const plugin = { name: "shop", version, tier: "mutating" };
  const { uploadUrl, contentType } = (
    await site.call("POST", "/v1/operations/plugins/upload-url", { query, body: { name: "shop" } })
  ).body;
  const metadata = { name: "shop", version, operations: [{ name: "reindex" }] };
  const body = new Uint8Array(zip([{ name: "metadata.json", content: JSON.stringify(metadata) }]));
  await fetch(uploadUrl, { method: "PUT", headers: { "content-type": contentType }, body });
  const answer = await site.call("POST", "/v1/operations/plugins", { query, body: plugin });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
};

const kept = async (part: string): Promise<string[]> => (await keysIn(folder)).filter((key) => key.includes(part));

/** Not by the clock: to one that is ahead an upload is old as it comes, and the platform's own run may be under way. */
async function age({ clock }: World, part: string): Promise<void> {
  const then = new Date(clock.wallNow().getTime() - LATER_MS);
  for (const key of await kept(part)) await utimes(join(folder, key), then, then);
}

const options = { objects: { folder }, sealingKey: Buffer.alloc(32, 9) };

onEachDatabase(
  "the sweep of objects",
  (world) => {
    it("takes replaced bundles and old uploads, and keeps what is registered", async () => {
      await world.platform.sweep();
      expect(await kept(OWNER_KEY)).toEqual([OWNER_KEY]);
      const site = await newSite(world);
      for (const version of ["1.0.0", "2.0.0", "2.0.0"]) await register(site, version);
      await world.platform.sweep();
      expect(await kept(site.project.id)).toHaveLength(4);
      const { bundle } = await world.platform.db
        .selectFrom("custom_plugins")
        .select("bundle")
        .where("project_id", "=", site.project.id)
        .executeTakeFirstOrThrow();
      await age(world, site.project.id);
      await world.platform.sweep();
      expect(await kept(site.project.id)).toEqual([bundle?.key]);
    });

    it("takes a deleted project's bundles and packages, and those of builds that came to nothing", async () => {
      const site = await newBuildSite(world);
      await register(site, "1.0.0");
      await release(site);
      const [built] = await site.packages();
      const store = new ObjectFolder(folder, Buffer.alloc(32), () => "");
      const key = packageKey({ packageId: built.id, file: "shop-1.0.0.tgz" });
      await store.put(key, Buffer.from("chart"), "application/gzip", never);
      for (const part of [built.id, site.project.id]) await age(world, part);
      await world.platform.sweep();
      expect(await kept(built.id)).toEqual([key]);
      expect(await kept(site.project.id)).toHaveLength(1);
      await site.call("POST", `/v1/packages/${built.id}/cancel`);
      await world.platform.sweep();
      expect(await kept(built.id)).toEqual([]);
      const path = `/v1/projects/${site.project.id}`;
      expect((await world.call("DELETE", path, { key: site.admin })).status).toBe(204);
      await world.platform.sweep();
      expect(await kept(site.project.id)).toEqual([]);
    });

    describe("a page at a time", () => {
      const now = () => new Date(world.clock.wallNow().getTime() + LATER_MS);
      const newStore = async (): Promise<{ store: ObjectFolder; place: string }> => {
        const place = await mkdtemp(join(root, "store-"));
        const store = new ObjectFolder(place, Buffer.alloc(32), () => "");
        await store.open();
        return { store, place };
      };
      const secret = Buffer.alloc(32, 1);
      const owners = new Map([["a", async (_db: unknown, keys: readonly string[]) => new Set(keys.slice(0, 1))]]);

      it("goes through the store, and begins again at its end and after a failure", async () => {
        const { store, place } = await newStore();
        const { db } = world.platform;
        const many = OBJECTS_PER_RUN + 10;
        await mkdir(join(place, "a"));
        for (let at = 0; at < many; at += 1) await writeFile(join(place, "a", String(at).padStart(4, "0")), "x");
        await store.put("b/not-ours", Buffer.from("x"), "text/plain", never);
        const sweep = objectSweep({ store, secret, owners, signal: never });
        const left = async (): Promise<number> => (await keysIn(place)).length;
        await sweep(db, now());
        // The first run says whose the objects are.
        expect(await left()).toBe(many + 2);
        await sweep(db, now());
        expect(await left()).toBe(many + 2 - (OBJECTS_PER_RUN - 1));
        await sweep(db, now());
        expect(await keysIn(place)).toEqual(["a/0000", "a/0500", "b/not-ours", OWNER_KEY]);
        await sweep(db, now());
        expect(await keysIn(place)).toEqual(["a/0000", "b/not-ours", OWNER_KEY]);
        const stopped = objectSweep({ store, secret, owners, signal: AbortSignal.abort() });
        await expect(stopped(db, now())).rejects.toThrow("abort");
      });

      it("removes nothing where another platform keeps its objects", async () => {
        const { store, place } = await newStore();
        const { db } = world.platform;
        for (const key of ["a/1", "a/2"]) await store.put(key, Buffer.from("x"), "text/plain", never);
        await objectSweep({ store, secret, owners, signal: never })(db, now());
        const other = objectSweep({ store, secret: Buffer.alloc(32, 2), owners, signal: never });
        await expect(other(db, now())).rejects.toThrow("another platform's too");
        expect(await keysIn(place)).toEqual(["a/1", "a/2", OWNER_KEY]);
      });
    });
  },
  options,
);

onEachDatabase(
  "the sweep of sessions' objects",
  (world) => {
    it("takes a session's files with its record", async () => {
      const site = await newSite(world);
      const session = await openSession(world, site);
      const put = await fetch(session.presignedUrls.audit?.writeUrl ?? "", {
        method: "PUT",
        headers: { "content-type": "application/octet-stream" },
        body: "what was done",
      });
      expect(put.status).toBe(200);
      world.clock.advance(399 * DAY_MS);
      await world.platform.sweep();
      expect(await kept(session.id)).toHaveLength(1);
      world.clock.advance(2 * DAY_MS);
      await world.platform.sweep();
      await world.platform.sweep();
      expect(await kept(session.id)).toEqual([]);
    });

    it("keeps a deleted deployment's sessions as long as others", async () => {
      const site = await newSite(world);
      const { id, deploymentId } = await openSession(world, site);
      await site.call("POST", `/v1/deployments/${deploymentId}/delete`, { body: { action: "forget" } });
      const read = async () => (await site.call("GET", `/v1/debug-sessions/${id}`)).status;
      world.clock.advance(399 * DAY_MS);
      await world.platform.sweep();
      expect(await read()).toBe(200);
      world.clock.advance(2 * DAY_MS);
      await world.platform.sweep();
      expect(await read()).toBe(404);
    });
  },
  options,
);

async function openSession(world: World, site: Site): Promise<DebugSession> {
  const expiresAt = new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString();
  const body = { deploymentId: await site.deploy("shop"), expiresAt };
  const made = await world.call("POST", "/v1/debug-sessions", { key: site.manager.key, body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return (await world.call("GET", `/v1/debug-sessions/${made.body.id}`, { key: site.manager.key })).body;
}
