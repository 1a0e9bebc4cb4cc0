import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform({ database: await inMemory() });
}, 120_000);
afterAll(() => platform.close());

async function say(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(platform.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(bytes);
  return text(socket);
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
