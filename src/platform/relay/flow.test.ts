import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { Flow } from "./flow.ts";

/** Sockets of which the second takes what it is given and never sends it. */
function stalled() {
  const sent: (() => void)[] = [];
  const from = {
    isPaused: false,
    pause() {
      this.isPaused = true;
    },
    resume() {
      this.isPaused = false;
    },
  };
  const to = { send: (_data: Buffer, _options: object, done: () => void) => void sent.push(done) };
  return { from, sent, flow: new Flow(from as unknown as WebSocket, to as unknown as WebSocket) };
}

test.each([
  // Each message that waits takes memory, also one without a byte.
  [0, 1_200],
  [1, 1_200],
  [64 * 1_024, 20],
])("a source of messages of %i bytes that its reader leaves is paused within %i of them", (size, most) => {
  const { from, sent, flow } = stalled();
  const data = Buffer.alloc(size);
  for (let count = 0; count < most && !from.isPaused; count += 1) flow.push(data);
  expect(from.isPaused).toBe(true);
  for (const done of sent) done();
  expect(from.isPaused).toBe(false);
});
