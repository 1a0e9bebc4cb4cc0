import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { resources } from "../objects/resource.ts";
import { Client } from "./client.ts";
import { connect } from "./connection.ts";
import { ServerClock } from "./server-clock.ts";

const HTTP = (iso: string): string => new Date(iso).toUTCString();

test("it is the machine's calendar until an answer has come, then the server's, and goes on by the monotonic clock", () => {
  const clock = new FakeClock("2026-01-01T12:10:00Z");
  const server = new ServerClock(clock);
  expect(server.wallNow()).toEqual(new Date("2026-01-01T12:10:00Z"));
  server.heard(HTTP("2026-01-01T12:00:00Z"));
  clock.advance(90_000);
  expect(server.wallNow()).toEqual(new Date("2026-01-01T12:01:30Z"));
  expect(server.monotonicMs()).toBe(90_000);
});

test("a cut-off fraction does not set it back, a server whose clock was set does", () => {
  const clock = new FakeClock();
  const server = new ServerClock(clock);
  server.heard(HTTP("2026-01-01T12:00:00Z"));
  clock.advance(900);
  server.heard(HTTP("2026-01-01T12:00:00Z"));
  expect(server.wallNow()).toEqual(new Date("2026-01-01T12:00:00.900Z"));
  server.heard(HTTP("2026-01-01T11:00:00Z"));
  expect(server.wallNow()).toEqual(new Date("2026-01-01T11:00:00Z"));
});

test.each([undefined, "", "soon", "5", "Thu, 01 Jan 1970 00:00:00 GMT", "Sat, 13 Sep 275760 00:00:00 GMT", ["a", "b"]])(
  "an answer without a date that can be read (%j) changes nothing",
  (date) => {
    const clock = new FakeClock();
    const server = new ServerClock(clock);
    server.heard(date);
    expect(server.wallNow()).toEqual(clock.wallNow());
  },
);

test("a client tells it the date of each answer, also of a refusal", async () => {
  const server = createServer((_, response) =>
    response.writeHead(403, { date: HTTP("2027-05-05T05:05:05Z") }).end("{}"),
  );
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const connection = await connect({ explicit: { server: `http://127.0.0.1:${port}` }, environment: {} });
  onTestFinished(async () => {
    await connection.close();
    server.close();
  });
  const serverClock = new ServerClock(new FakeClock());
  const client = new Client(connection, { serverClock });
  const key = { namespace: "a", name: "b" };
  await expect(client.get(resources.pods, key, new AbortController().signal)).rejects.toThrow();
  expect(serverClock.wallNow()).toEqual(new Date("2027-05-05T05:05:05Z"));
});
