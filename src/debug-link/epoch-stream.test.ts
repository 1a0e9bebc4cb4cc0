import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runs } from "../base/testing/runs.ts";
import type { EpochStream } from "./epoch-stream.ts";
import { FakeRelay } from "./testing/fake-relay.ts";
import { streamPair } from "./testing/stream-pair.ts";

let relay: FakeRelay;
beforeAll(async () => {
  relay = await FakeRelay.start();
});
afterAll(() => relay.close());

it("bytes arrive as they were written, however they are cut and whoever pauses", async () => {
  const sizes = fc.array(fc.oneof(fc.nat(40), fc.nat(70_000), fc.constant(300_000)), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(sizes, sizes, fc.array(fc.nat(5), { maxLength: 30 }), async (there, back, pauses) => {
      const { near, far, sockets } = await streamPair(relay);
      try {
        const [sentThere, sentBack] = await Promise.all([
          carried(near, far, there, pauses),
          carried(far, near, back, [...pauses].reverse()),
        ]);
        expect(sentThere).toBe(true);
        expect(sentBack).toBe(true);
      } finally {
        for (const socket of sockets) socket.terminate();
      }
    }),
    { numRuns: runs(25) },
  );
});

/** Writes pieces of these sizes while the reader stops for some turns after each read. */
async function carried(
  from: EpochStream,
  to: EpochStream,
  sizes: readonly number[],
  pauses: readonly number[],
): Promise<boolean> {
  const pieces = sizes.map((size, at) => Buffer.alloc(size, `${at};`));
  const wanted = Buffer.concat(pieces);
  const got: Buffer[] = [];
  let length = 0;
  const reading = (async (): Promise<void> => {
    for (let round = 0; length < wanted.length; round += 1) {
      const chunk: Buffer | null = to.read();
      if (chunk === null) {
        await once(to, "readable");
        continue;
      }
      got.push(chunk);
      length += chunk.length;
      for (let left = pauses[round % Math.max(pauses.length, 1)] ?? 0; left > 0; left -= 1) await turn();
    }
  })();
  for (const piece of pieces) if (!from.write(piece)) await once(from, "drain");
  await reading;
  return Buffer.concat(got).equals(wanted);
}

it("a reader that stops holds the writer back, and nothing is lost", async () => {
  const { near, far, sockets } = await streamPair(relay);
  const block = Buffer.alloc(256 * 1024, "x");
  let written = 0;
  let stopped = false;
  void (async () => {
    for (let index = 0; index < 400; index += 1) {
      if (!near.write(block)) await once(near, "drain");
      written += block.length;
    }
    stopped = true;
  })();
  // Until the kernel's buffers and ours are full: then no more is taken, however long this waits.
  for (let same = 0, before = -1; same < 200; same = written === before ? same + 1 : 0) {
    before = written;
    await turn();
  }
  expect(stopped).toBe(false);
  expect(sockets[1].isPaused).toBe(true);
  let read = 0;
  far.on("data", (chunk: Buffer) => {
    read += chunk.length;
  });
  while (read < 400 * block.length) await once(far, "data");
  expect(stopped).toBe(true);
  for (const socket of sockets) socket.terminate();
});

it("a stream that is given up no longer holds its socket back", async () => {
  const { near, far, sockets } = await streamPair(relay);
  near.write(Buffer.alloc(2_000_000));
  while (sockets[1].isPaused === false) await turn();
  far.removeAllListeners("close");
  far.destroy();
  expect(sockets[1].isPaused).toBe(false);
  for (const socket of sockets) socket.terminate();
});

it("what one turn of the event loop writes goes out in one frame, and what is written before an end goes out too", async () => {
  const { near, sockets } = await streamPair(relay);
  near.removeAllListeners("close");
  const frames: number[] = [];
  sockets[1].on("message", (data: Buffer) => frames.push(data.length));
  for (let at = 0; at < 3; at += 1) near.write(Buffer.alloc(16_401));
  while (frames.length === 0) await turn();
  near.write("last");
  near.destroy();
  sockets[0].close();
  await once(sockets[1], "close");
  expect(frames).toEqual([3 * 16_401, 4]);
});
