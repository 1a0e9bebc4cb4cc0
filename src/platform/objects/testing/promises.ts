import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type ObjectPage, type ObjectStore, ObjectTooLargeError } from "../../ports/object-store.ts";

const never = new AbortController().signal;

interface Subject {
  readonly store: ObjectStore;
  readonly now: Date;
}

/** What every kind of store does alike. */
export function storeKeepsItsPromises(subject: string, of: () => Subject): void {
  const terms = (seconds = 900) => {
    const { now } = of();
    return { contentType: "application/zip", now, expiresAt: new Date(now.getTime() + seconds * 1000) };
  };
  const read = (key: string, maxBytes = 1000): Promise<string | undefined> =>
    of().store.withFile(key, maxBytes, (file) => readFile(file, "utf8"), never);

  describe(subject, () => {
    it("takes what is put to its address, and gives it back by another", async () => {
      const { store } = of();
      const url = await store.uploadUrl("promises/one.zip", { ...terms(), maxBytes: 1000 });
      for (const body of ["first", "second"]) {
        const answer = await fetch(url, { method: "PUT", body, headers: { "content-type": "application/zip" } });
        expect(answer.status, await answer.text()).toBe(200);
        const got = await fetch(await store.downloadUrl("promises/one.zip", terms()));
        expect([got.status, got.headers.get("content-type"), await got.text()]).toEqual([200, "application/zip", body]);
        expect(await read("promises/one.zip")).toBe(body);
      }
    });

    it("takes another content type, method or key at no address", async () => {
      const { store } = of();
      const url = new URL(await store.uploadUrl("promises/own.zip", { ...terms(), maxBytes: 1000 }));
      const tries: [URL, RequestInit][] = [
        [url, { method: "PUT", body: "x", headers: { "content-type": "text/html" } }],
        [url, { method: "GET" }],
        [
          new URL(url.href.replace("own.zip", "other.zip")),
          { method: "PUT", body: "x", headers: { "content-type": "application/zip" } },
        ],
      ];
      for (const [address, init] of tries) {
        const answer = await fetch(address, init);
        expect([403, 415], `${init.method} ${await answer.text()}`).toContain(answer.status);
      }
      expect(await read("promises/own.zip")).toBeUndefined();
      expect(await read("promises/other.zip")).toBeUndefined();
    });

    it("puts bytes and files, lends them as they are, and removes", async () => {
      const { store } = of();
      await store.put("promises/from+1", Buffer.from("bytes"), "text/plain", never);
      const copy = async (file: string): Promise<string> => {
        await store.put("promises/from+1", Buffer.from("newer"), "text/plain", never);
        await store.putFile("promises/deep/er/to", file, "text/plain", never);
        return "copied";
      };
      expect(await store.withFile("promises/from+1", 1000, copy, never)).toBe("copied");
      await store.remove("promises/from+1", never);
      await store.remove("promises/from+1", never);
      expect([await read("promises/from+1"), await read("promises/deep/er/to")]).toEqual([undefined, "bytes"]);
      const gone = await fetch(await store.downloadUrl("promises/from+1", terms()));
      expect(gone.status).toBe(404);
    });

    it("lists what it holds in pages, with when it was put, and no more of what was removed", () =>
      listsInPages(of().store));

    it("does not lend what is larger than asked for", async () => {
      await of().store.put("promises/large", Buffer.from("123456"), "text/plain", never);
      expect(await read("promises/large", 6)).toBe("123456");
      await expect(read("promises/large", 5)).rejects.toThrow(ObjectTooLargeError);
    });

    it("holds nothing under what is not a key", async () => {
      for (const key of ["../escape", "/etc/passwd", "a/../b", "", ".partial/x"]) {
        await expect(of().store.downloadUrl(key, terms())).rejects.toThrow("not an object key");
        await expect(read(key)).rejects.toThrow("not an object key");
      }
    });
  });
}

async function listsInPages(store: ObjectStore): Promise<void> {
  const keys = ["a", "b/c", "b/c+1", "b-c", "b/d/e", "b0"].map((name) => `listed/${name}`);
  const before = Date.now();
  for (const key of keys) await store.put(key, Buffer.from(key), "text/plain", never);
  for (const limit of [1, 2, 100]) {
    const listed = await listedBy(store, limit);
    expect(listed.map(({ key }) => key).sort(), `by ${limit}`).toEqual([...keys].sort());
    // Some stores tell whole seconds.
    for (const { modifiedAt } of listed) expect(modifiedAt.getTime()).toBeGreaterThan(before - 2000);
  }
  for (const key of keys) await store.remove(key, never);
  expect(await listedBy(store, 100)).toEqual([]);
  await store.put("listed/b/c", Buffer.from("again"), "text/plain", never);
  expect(await listedBy(store, 100)).toMatchObject([{ key: "listed/b/c" }]);
}

/** Those of the one test, page by page. */
async function listedBy(store: ObjectStore, limit: number): Promise<ObjectPage["objects"]> {
  const found: ObjectPage["objects"][number][] = [];
  for (let after: string | undefined, more = true; more; more = after !== undefined) {
    const page = await store.list(after, limit, never);
    expect(page.objects.length).toBeLessThanOrEqual(limit);
    found.push(...page.objects.filter(({ key }) => key.startsWith("listed/")));
    after = page.next;
  }
  return found;
}
