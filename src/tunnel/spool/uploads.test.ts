import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { Agent } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { scaledClock } from "../../base/testing/scaled-clock.ts";
import { Spool } from "./spool.ts";
import { Uploads } from "./uploads.ts";

const ID = `dbg_${"a".repeat(28)}`;
const NAME = `${ID}.audit.jsonl`;
let folder: string;
let storage: Server;
let answers: number[];
let stored: string[];
const dispatcher = new Agent();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "uploads-"));
  [answers, stored] = [[], []];
  storage = createServer((request, response) => {
    void text(request).then((body) => {
      stored.push(`${request.method} ${request.headers["content-type"]} ${body}`);
      response.writeHead(answers.shift() ?? 200).end();
    });
  });
  await once(storage.listen(0, "127.0.0.1"), "listening");
  writeFileSync(join(folder, NAME), "line\n");
});
afterEach(() => {
  storage.closeAllConnections();
  storage.close();
  rmSync(folder, { recursive: true });
});

async function upload(isOn: boolean, names: readonly string[], writeUrl?: string, more: readonly string[] = []) {
  const results: string[] = [];
  const metrics = { spooled: () => undefined, setAside: () => undefined };
  const spool = new Spool({ folder, limitBytes: 1_000_000, metrics });
  const own = `127.0.0.1:${(storage.address() as AddressInfo).port}`;
  const url = writeUrl ?? `http://${own}/put?signed=1`;
  // biome-ignore lint/suspicious/noExplicitAny: of the record only this is read.
  const sessions = { get: () => Promise.resolve({ presignedUrls: { audit: { writeUrl: url } } } as any) };
  const uploads = new Uploads({
    ...{
      spool,
      sessions,
      dispatcher,
      isOn,
      hosts: new Set([own, ...more]),
      clock: scaledClock(1_000),
      log: silentLogger,
    },
    metrics: { uploaded: (result) => results.push(result) },
  });
  const stop = new AbortController();
  const running = uploads.run(stop.signal);
  uploads.add(names);
  const end = (): Promise<void> => {
    stop.abort();
    return running;
  };
  return {
    spool,
    results,
    end,
    flush: () => uploads.flush(new AbortController().signal),
    add: uploads.add.bind(uploads),
  };
}

test("a file is sent again until the storage takes it, and may go then", async () => {
  answers = [503, 500];
  const { spool, results, end } = await upload(true, [NAME, "../etc/passwd"]);
  await expect.poll(() => spool.waiting()).toEqual([]);
  await end();
  expect(stored).toEqual(Array.from({ length: 3 }, () => "PUT application/octet-stream line\n"));
  expect(results).toEqual(["failed", "failed", "ok"]);
});

test("one that the platform has no place for is given up, and may go when room is needed", async () => {
  const { spool, results, end } = await upload(true, [NAME], "");
  await expect.poll(() => results).toEqual(["failed", "given-up"]);
  await end();
  expect(spool.names()).toEqual([`${NAME}.done`]);
});

test.each([404, 413])("the storage's %i is its last word", async (status) => {
  answers = [status];
  const { spool, results, end } = await upload(true, [NAME]);
  await expect.poll(() => spool.waiting()).toEqual([]);
  await end();
  expect([results, stored.length]).toEqual([["failed", "given-up"], 1]);
});

test("a file that the storage does not take now lets the others go on", async () => {
  const other = `dbg_${"b".repeat(28)}.audit.jsonl`;
  writeFileSync(join(folder, other), "other\n");
  // A day of the clock takes 86 s: the other one must not wait for it.
  answers = [503];
  const { results, spool, end } = await upload(true, [NAME, other]);
  await expect.poll(() => spool.waiting()).toEqual([]);
  await end();
  expect(stored.map((each) => each.split(" ")[2])).toEqual(["line\n", "other\n", "line\n"]);
  expect(results).toEqual(["failed", "ok", "ok"]);
});

test("a file that is gone is given up", async () => {
  rmSync(join(folder, NAME));
  const { results, end } = await upload(true, [NAME]);
  await expect.poll(() => results).toEqual(["failed", "given-up"]);
  await end();
});

test("a file that cannot be put away is tried again after a pause, not at once", async () => {
  const { spool, results, end } = await upload(true, []);
  await end();
  const clock = new FakeClock();
  const metrics = { uploaded: (result: string) => results.push(result) };
  let done = 0;
  const failing = {
    ...spool,
    done() {
      done += 1;
      throw new Error("EIO");
    },
  };
  const uploads = new Uploads({
    // biome-ignore lint/suspicious/noExplicitAny: where uploads are off only these are used.
    ...({ spool: failing, clock, metrics, log: silentLogger, isOn: false } as any),
  });
  const stop = new AbortController();
  const running = uploads.run(stop.signal);
  uploads.add([NAME]);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(1);
  clock.advance(2_000);
  await expect.poll(() => done).toBe(2);
  stop.abort();
  await running;
  expect(clock.pending).toBe(0);
});

test("where uploads are off nothing is sent, and the file may go when room is needed", async () => {
  const { spool, end } = await upload(false, [NAME]);
  await expect.poll(() => spool.names()).toEqual([`${NAME}.done`]);
  await end();
  expect(stored).toEqual([]);
});

test("what comes while the process stops is sent once more before it ends", async () => {
  const { spool, end, flush, add } = await upload(true, []);
  await end();
  add([NAME]);
  await flush();
  expect([spool.waiting(), stored]).toEqual([[], ["PUT application/octet-stream line\n"]]);
});

const BUCKET = "bucket.s3.eu-central-1.amazonaws.com";
test.each([
  ["http://storage.example/put", ["storage.example"]],
  ["ftp://127.example/put", ["127.example"]],
  ["file:///etc/passwd", [""]],
  ["https://storage.example/put", []],
  [`https://${BUCKET}/put`, ["s3.eu-central-1.amazonaws.com"]],
  [`https://${BUCKET}:8443/put`, [BUCKET]],
  [`https://${BUCKET}.storage.example/put`, [BUCKET]],
  [`https://${BUCKET}@storage.example/put`, [BUCKET]],
  ["http://127.0.0.1:1/put", []],
])("a file is not sent to %s where %j are allowed", async (url, allowed) => {
  const sent: unknown[] = [];
  const { request } = dispatcher;
  dispatcher.request = ((options: unknown) => {
    sent.push(options);
    return Promise.reject(new Error("must not be asked"));
  }) as never;
  const { results, end } = await upload(true, [NAME], url, allowed);
  await expect.poll(() => results).toContain("given-up");
  expect(sent).toEqual([]);
  await end();
  dispatcher.request = request;
});

test("a file is sent to a host that the customer has named", async () => {
  const sent: string[] = [];
  const { request } = dispatcher;
  dispatcher.request = (({ origin, body }: { readonly origin: string; readonly body: Readable }) => {
    sent.push(origin);
    const dump = () => text(body).then(() => undefined);
    return Promise.resolve({ statusCode: 200, body: { dump } });
  }) as never;
  const { results, end } = await upload(true, [NAME], `https://${BUCKET}/put`, [BUCKET]);
  await expect.poll(() => results).toEqual(["ok"]);
  expect(sent).toEqual([`https://${BUCKET}`]);
  await end();
  dispatcher.request = request;
});
