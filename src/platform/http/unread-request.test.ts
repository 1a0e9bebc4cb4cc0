import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";
import { refuseUnread } from "./unread-request.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform({ database: await inMemory() });
}, 120_000);
afterAll(() => platform.close());

async function open(bytes: string): Promise<Socket> {
  const socket = connect(Number(new URL(platform.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(bytes);
  return socket;
}

async function answerOn(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, "data")) as [Buffer];
  return bytes.toString();
}

async function say(bytes: string): Promise<string> {
  return text(await open(bytes));
}

it.each([
  [
    "an address that is too long",
    `GET /v1/projects?cursor=${"x".repeat(20_000)} HTTP/1.1\r\nhost: p\r\n\r\n`,
    /16 KiB/,
  ],
  ["headers that are too long", `GET /livez HTTP/1.1\r\nhost: p\r\nx-filler: ${"x".repeat(20_000)}\r\n\r\n`, /16 KiB/],
  [
    "two credentials, of which a proxy may have judged the other",
    "GET /v1/whoami HTTP/1.1\r\nhost: p\r\nauthorization: Bearer a\r\nauthorization: Bearer b\r\nconnection: close\r\n\r\n",
    /headers\.authorization stands in the request twice/,
  ],
  ["two hosts", "GET /livez HTTP/1.1\r\nhost: p\r\nhost: q\r\nconnection: close\r\n\r\n", /headers\.host stands/],
  ["no HTTP at all", "\x16\x03\x01hello\r\n\r\n", /not HTTP/],
])("refuses %s with the nine fields", async (_, bytes, message) => {
  const answer = await say(bytes);
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  const error = JSON.parse(body);
  expect(error).toMatchObject({ code: "VALIDATION_ERROR", httpStatusCode: 400, internal: false });
  expect(error.message).toMatch(message);
  expect(head).toContain(`x-request-id: ${error.requestId}`);
  expect(Object.keys(error)).toHaveLength(9);
});

const LENGTH = 8 * 1024 * 1024;
const CHUNK = `10000\r\n${"x".repeat(0x10000)}\r\n`;

it.each([
  [" of a length", "/v1/deployments", `content-length: ${LENGTH}`, "x", 401],
  [" in chunks", "/v1/deployments", "transfer-encoding: chunked", CHUNK, 401],
  [" to no route", "/v1/nowhere", `content-length: ${LENGTH}`, "x", 404],
])("a body%s that is answered before its end takes no further request along", async (_, path, length, body, status) => {
  const socket = await open(`POST ${path} HTTP/1.1\r\nhost: p\r\n${length}\r\n\r\n${body}`);
  const answer = await answerOn(socket);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
  const more: Buffer[] = [];
  socket.on("data", (each: Buffer) => more.push(each)).on("error", () => undefined);
  // What a proxy sends on, the next client's request among it, is nobody's.
  socket.write("GET /livez HTTP/1.1\r\nhost: p\r\n\r\n");
  await once(socket, "close");
  expect(Buffer.concat(more).toString()).toBe("");
});

it("a client that sends all of its body first reads the answer, and is not reset", async () => {
  const socket = await open(`POST /v1/deployments HTTP/1.1\r\nhost: p\r\ncontent-length: ${LENGTH}\r\n\r\n`);
  const failed: unknown[] = [];
  socket.on("error", (error) => failed.push(error));
  const block = Buffer.alloc(64 * 1024, "x");
  for (let sent = 0; sent < LENGTH; sent += block.length) {
    if (!socket.write(block)) await once(socket, "drain");
  }
  expect(await answerOn(socket)).toMatch(/^HTTP\/1\.1 401 /);
  await once(socket, "close");
  expect(failed).toEqual([]);
});

it("a body that came whole leaves the connection open, whatever the answer", async () => {
  const socket = await open("POST /v1/deployments HTTP/1.1\r\nhost: p\r\ncontent-length: 2\r\n\r\n{}");
  expect((await answerOn(socket)).toLowerCase()).toContain("\r\nconnection: keep-alive\r\n");
  socket.write("GET /livez HTTP/1.1\r\nhost: p\r\n\r\n");
  expect(await answerOn(socket)).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
});

it.each(["/livez", "/readyz"])(
  "%s answers HEAD, with which load balancers ask, as GET without its body",
  async (path) => {
    const answer = await say(`HEAD ${path} HTTP/1.1\r\nhost: p\r\nconnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n$/);
    const refused = await say(`POST ${path} HTTP/1.1\r\nhost: p\r\nconnection: close\r\n\r\n`);
    expect(refused).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\nallow: GET, HEAD\r\n/);
  },
);

it("a client that keeps its connection after a refusal loses it all the same", async () => {
  const clock = new FakeClock();
  const server = createServer({ allowHalfOpen: true }, (socket) => refuseUnread({}, socket.resume(), clock));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true });
  await once(client.resume(), "end");
  const connections = async (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  expect(await connections()).toBe(1);
  const closed = new Promise((resolve) => server.close(resolve));
  clock.advance(5_000);
  await closed;
  client.destroy();
});
