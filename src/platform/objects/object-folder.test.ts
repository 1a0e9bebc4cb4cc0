import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { until } from "../../base/testing/until.ts";
import { isObjectKey, type ObjectStore } from "../ports/object-store.ts";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";
import { TestClock } from "../testing/test-clock.ts";
import { keysIn, ObjectFolder } from "./object-folder.ts";
import { urlKey } from "./signed-path.ts";
import { storeKeepsItsPromises } from "./testing/promises.ts";

const SEALING_KEY = Buffer.alloc(32, 7);
const clock = new TestClock();
const never = new AbortController().signal;
let folder = "";
let platform: RunningPlatform;
let store: ObjectStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-objects-"));
  platform = await startPlatform({
    database: await inMemory(),
    objects: { folder },
    sealingKey: SEALING_KEY,
    clock,
    rateLimits: false,
  });
  store = new ObjectFolder(folder, urlKey(SEALING_KEY), () => platform.url);
});
afterAll(async () => {
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

const terms = (seconds = 900) => ({
  contentType: "application/zip",
  now: clock.wallNow(),
  expiresAt: new Date(clock.wallNow().getTime() + seconds * 1000),
});
const put = async (url: string, body: string, type = "application/zip"): Promise<(number | string)[]> => {
  const answer = await fetch(url, { method: "PUT", body, headers: { "content-type": type } });
  const text = await answer.text();
  return [answer.status, ...(text === "" ? [] : [JSON.parse(text).code as string])];
};

storeKeepsItsPromises("an object folder", () => ({ store, now: clock.wallNow() }));

it("the keys of an object folder are all there while others are removed", async () => {
  const place = await mkdtemp(join(folder, ".keys-"));
  const own = new ObjectFolder(place, Buffer.alloc(32), () => "");
  await own.open();
  const text = (key: string) => own.put(key, Buffer.from("x"), "text/plain", never);
  const others = Array.from({ length: 100 }, (_, at) => `b/${at}/x`);
  await Promise.all(["a/stays", ...others].map(text));
  const looks: string[][] = [];
  let isOver = false;
  const looking = (async () => {
    while (!isOver) looks.push(await keysIn(place));
  })();
  for (const key of others) await own.remove(key, never);
  isOver = true;
  await looking;
  expect(looks.filter((keys) => keys[0] !== "a/stays")).toEqual([]);
  expect(await keysIn(place)).toEqual(["a/stays"]);
});

describe("an object folder's addresses", () => {
  it("end when they say", async () => {
    const url = await store.uploadUrl("a/end.zip", { ...terms(900), maxBytes: 10 });
    clock.advance(890_000);
    expect(await put(url, "in time")).toEqual([200]);
    clock.advance(10_000);
    expect(await put(url, "too late")).toEqual([403, "FORBIDDEN"]);
    expect((await fetch(await store.downloadUrl("a/end.zip", terms()))).headers.get("content-type")).toBe(
      "application/zip",
    );
  });

  it("allow nothing but what they were made for", async () => {
    const url = new URL(await store.uploadUrl("a/own.zip", { ...terms(), maxBytes: 10 }));
    expect(await put(url.href, "text", "text/plain")).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
    expect((await fetch(url)).status).toBe(403);
    const changed = [
      ["max", "1000000"],
      ["type", "text/html"],
      ["expires", String(Number(url.searchParams.get("expires")) + 1)],
      ["signature", "AAAA"],
    ] as const;
    for (const [name, value] of changed) {
      const other = new URL(url);
      other.searchParams.set(name, value);
      expect(await put(other.href, "x", name === "type" ? value : "application/zip"), name).toEqual([403, "FORBIDDEN"]);
    }
    const other = new URL(url);
    other.pathname = "/objects/a/other.zip";
    expect(await put(other.href, "x")).toEqual([403, "FORBIDDEN"]);
    expect(await keysIn(join(folder, "a"))).not.toContain("own.zip");
  });

  it.each(["..%2f..%2fescape", "a/%2e%2e/%2e%2e/escape", ".partial/x", "a//b", "A", "a/\u0000"])(
    "%s is no key, whoever signs it",
    async (path) => {
      const answer = await fetch(
        `${platform.url}/objects/${path}?type=application%2Fzip&max=1&expires=9999999999999&signature=x`,
        {
          method: "PUT",
          body: "x",
          headers: { "content-type": "application/zip" },
        },
      );
      expect([400, 403, 404]).toContain(answer.status);
    },
  );

  it("a key names a file inside of the folder, whatever it is", () => {
    const word = fc.constantFrom("a", "..", ".", "/", "\\", "\0", "B", "-", "é", "a.zip", "%2e");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (words) => {
        const key = words.join("");
        if (!isObjectKey(key)) return;
        expect(join("/folder", key)).toBe(`/folder/${key}`);
        expect(key).not.toMatch(/(^|\/)\.|\\|\0/);
      }),
      { numRuns: runs(2000) },
    );
  });
});

describe("an upload", () => {
  it("over its bound is refused, announced or not, and leaves what was there", async () => {
    const url = await store.uploadUrl("a/bound.zip", { ...terms(), maxBytes: 8 });
    expect(await put(url, "12345678")).toEqual([200]);
    expect(await put(url, "123456789")).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 3; index += 1) yield Buffer.from("1234");
    };
    const headers = { "content-type": "application/zip" };
    const streamed = await fetch(url, { method: "PUT", headers, body: chunks(), duplex: "half" } as RequestInit);
    expect(streamed.status).toBe(413);
    expect(await readFile(join(folder, "a/bound.zip"), "utf8")).toBe("12345678");
    expect(await readdir(join(folder, ".partial"))).toEqual([]);
  });

  it("that breaks off is not there", async () => {
    const url = new URL(await store.uploadUrl("a/broken.zip", { ...terms(), maxBytes: 1000 }));
    const headers = { "content-type": "application/zip", "content-length": "100" };
    const sending = httpRequest(url, { method: "PUT", headers });
    sending.on("error", () => undefined);
    await new Promise<void>((resolve) => sending.write("half of it", () => resolve()));
    await until(async () => (await readdir(join(folder, ".partial"))).length === 1);
    sending.destroy();
    await until(async () => (await readdir(join(folder, ".partial"))).length === 0);
    expect(await keysIn(join(folder, "a"))).not.toContain("broken.zip");
  });

  it("is a file that only its owner reads", async () => {
    await store.put("a/private", Buffer.from("x"), "text/plain", never);
    expect((await stat(join(folder, "a/private"))).mode & 0o777).toBe(0o600);
  });

  it("of another process's unclean end is removed at the start", async () => {
    await new ObjectFolder(folder, urlKey(SEALING_KEY), () => "").open();
    expect(await readdir(join(folder, ".partial"))).toEqual([]);
  });
});
