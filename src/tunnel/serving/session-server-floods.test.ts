import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import { attackedProcess } from "../testing/attacked-process.ts";
import {
  ended,
  engineerOf,
  FRAMES,
  GET,
  h2,
  hpack,
  many,
  OPENING,
  PODS,
  rawClient,
  statusOf,
  turns,
  wayTo,
} from "../testing/raw-engineer.ts";

const serve = attackedProcess();

test("a new epoch is served though the handshake of the one before was never finished", async () => {
  const { server, told } = serve();
  for (let lost = 0; lost < 3; lost += 1) {
    const { near } = wayTo(server);
    const socket = connectTls({ socket: near, rejectUnauthorized: false });
    socket.on("error", () => undefined);
    if (lost > 0) await once(near, "data");
  }
  const session = await engineerOf(server);
  await turns(20);
  expect(await statusOf(session)).toBe(200);
  expect(told).toEqual(["attached"]);
});

test("watches that come together are counted before their records are on the disk", async () => {
  const session = await engineerOf(serve().server);
  const found = await Promise.all(Array.from({ length: 60 }, () => statusOf(session, `${PODS}?watch=true`)));
  expect(found.filter((status) => status === 429)).toHaveLength(28);
});

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

test("bodies that are too long are refused, and read away", async () => {
  const { server } = serve();
  const way = wayTo(server);
  const session = await engineerOf(server, way);
  const { far } = way;
  const before = far.received;
  const streams = Array.from({ length: 40 }, () => session.request({ ":method": "POST", ":path": REVIEWS }));
  const answers = streams.map((stream) => once(stream, "response") as Promise<[Readonly<Record<string, unknown>>]>);
  for (const stream of streams) {
    stream.on("error", () => undefined);
    stream.resume();
    stream.write(Buffer.alloc(100_000));
  }
  for (const [headers] of await Promise.all(answers)) expect(headers[":status"]).toBe(413);
  // More than the window in all: what was refused is read away, or the connection would stand still.
  for (const stream of streams) stream.end(Buffer.alloc(300_000));
  await expect.poll(() => far.received - before).toBeGreaterThan(40 * 400_000);
  expect(await statusOf(session)).toBe(200);
});

test("a body that never ends holds its own stream and no other", async () => {
  const session = await engineerOf(serve().server);
  const slow = Array.from({ length: 200 }, () => session.request({ ":method": "POST", ":path": REVIEWS }));
  for (const stream of slow) {
    stream.on("error", () => undefined);
    stream.write("{");
  }
  expect(await statusOf(session)).toBe(200);
  session.destroy();
});

test("what the API server does not read is held up to a bound for all streams together", async () => {
  const { server, upgraded } = serve();
  const way = wayTo(server);
  const session = await engineerOf(server, way);
  const { near, far } = way;
  const exec = { ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":authority": "k" };
  const wanted = { "sec-websocket-protocol": "v5.channel.k8s.io", ":path": `${PODS}/a/exec?command=cat` };
  const streams = Array.from({ length: 32 }, () => session.request({ ...exec, ...wanted }, { endStream: false }));
  await Promise.all(streams.map((stream) => once(stream, "response")));
  for (const stream of streams) {
    stream.on("error", () => undefined);
    stream.write(Buffer.alloc(1_048_576));
  }
  let last = -1;
  while (last !== far.received) {
    last = far.received;
    await turns(50);
  }
  // The connection's window is 4 MiB, and Node gives back what it handed to a stream before that one was full.
  expect(upgraded).toHaveLength(32);
  expect(far.received).toBeGreaterThan(1_000_000);
  expect(far.received).toBeLessThan(12 * 1_048_576);
  near.destroy();
});

const { HEADERS, RST, SETTINGS, PING, WINDOW, CONTINUATION } = FRAMES;
const CONNECT = [
  [":method", "CONNECT"],
  [":authority", "k"],
] as const;
const EXTENDED = [...CONNECT, [":protocol", "websocket"], [":scheme", "https"], [":path", `${PODS}/a/exec`]] as const;

/** `closes`: whether the connection must be gone afterwards; the others are answered, or refused for their stream alone. */
test.each<[string, boolean, () => Buffer]>([
  ["settings", true, () => many(20_000, () => h2(SETTINGS, 0, 0))],
  ["pings", false, () => many(20_000, () => h2(PING, 0, 0, Buffer.alloc(8)))],
  [
    "resets",
    true,
    () => many(2_000, (at) => Buffer.concat([ended(2 * at + 1, GET), h2(RST, 0, 2 * at + 1, Buffer.alloc(4))])),
  ],
  [
    "a header of 1 MB",
    true,
    () =>
      Buffer.concat([
        h2(HEADERS, 1, 1, hpack(GET)),
        many(64, (at) => h2(CONTINUATION, at === 63 ? 4 : 0, 1, hpack([["a".repeat(20), "b".repeat(16_000)]]))),
      ]),
  ],
  [
    "headers that never end",
    true,
    () => Buffer.concat([h2(HEADERS, 1, 1, hpack(GET)), many(5_000, () => h2(CONTINUATION, 0, 1))]),
  ],
  [
    "300 streams at once",
    false,
    () => many(300, (at) => ended(2 * at + 1, [...GET.slice(0, 3), [":path", `${PODS}?watch=true`]])),
  ],
  ["a CONNECT without a protocol", false, () => h2(HEADERS, 4, 1, hpack(CONNECT))],
  ["a CONNECT with a length", false, () => h2(HEADERS, 4, 1, hpack([...EXTENDED, ["content-length", "0"]]))],
  ["a window beyond its limit", true, () => many(2, () => h2(WINDOW, 0, 0, Buffer.from([0x7f, 255, 255, 255])))],
  ["frames of no known type", false, () => many(5_000, (at) => h2(0x20 + (at % 64), 0, 0, Buffer.alloc(16)))],
  ["an answer instead of a request", true, () => ended(2, [[":status", "200"]])],
  ["no HTTP/2 at all", true, () => Buffer.alloc(100_000, "GET / HTTP/1.1\r\n\r\n")],
])("a flood: %s", async (name, closes, bytes) => {
  const { server, told } = serve();
  const { socket, near, far } = await rawClient(server);
  // The attacker reads nothing: what the tunnel answers must not grow in its memory.
  socket.pause();
  const attack = bytes();
  socket.write(name.startsWith("no HTTP/2") ? attack : Buffer.concat([OPENING, attack]));
  if (closes) {
    await expect.poll(() => far.destroyed).toBe(true);
  } else {
    socket.resume();
    await once(socket, "data");
    expect([far.destroyed, near.destroyed]).toEqual([false, false]);
  }
  expect(far.writableLength).toBeLessThan(1_048_576);
  expect(told).toEqual(["attached"]);
  near.destroy();
  // The session itself lives on: the next epoch is served.
  expect(await statusOf(await engineerOf(server))).toBe(200);
});
