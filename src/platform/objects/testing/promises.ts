import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type ObjectStore, ObjectTooLargeError } from "../object-store.ts";

const never = new AbortController().signal;

interface Subject {
  readonly store: ObjectStore;
  readonly now: Date;
}

/** What every kind of store does alike, whoever keeps the bytes. */
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
