import { once } from "node:events";
import { Duplex, Readable } from "node:stream";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { connectInner } from "../../debug-link/inner-client.ts";
import { newSessionKey } from "../../debug-link/session-key.ts";
import { narrowPair } from "../../debug-link/testing/narrow-pair.ts";
import type { Connection } from "../../kube/client/connection.ts";
import { tunnelMetrics } from "../kernel/metrics.ts";
import { RequestHandler } from "./request-handler.ts";
import { SessionServer } from "./session-server.ts";

const [engineer, tunnel] = [newSessionKey("engineer", new Date()), newSessionKey("tunnel", new Date())];
const PODS = "/api/v1/namespaces/shop/pods";
const MIB = 1_048_576;

/** A session whose exec takes nothing of what is typed, and ends when it has shown so many bytes; 0: it stays silent. */
async function session(shownBytes: number, clock: Clock = systemClock) {
  const records: string[] = [];
  const open = async () => ({ status: 200, headers: {}, body: Readable.from([Buffer.from("{}")]) });
  const upgrade = async () => {
    let left = shownBytes;
    const socket = new Duplex({
      read() {
        if (shownBytes === 0) return;
        const bytes = Math.min(left, 65_536);
        left -= bytes;
        setImmediate(() => this.push(bytes === 0 ? null : Buffer.alloc(bytes)));
      },
      write: () => undefined,
    });
    return { status: 101, headers: { upgrade: "websocket" }, socket };
  };
  const handler = new RequestHandler({
    scope: () => ({ mode: "exec", namespace: "shop", recordingRequired: false, leftSeconds: 60 }),
    ports: undefined,
    recording: undefined,
    clock,
    log: silentLogger,
    upstream: () => ({ open, upgrade }) as unknown as Connection,
    audit: { append: async (type) => void records.push(type) },
    metrics: tunnelMetrics(new Registry()),
    counts: { requests: 0, denied: 0, refused: undefined, bytesIn: 0, bytesOut: 0, lastClientByteMs: 0 },
    onAuditFailed: () => expect.unreachable(),
  });
  const server = new SessionServer({
    key: tunnel,
    clientPin: engineer.pin,
    handler,
    clock: systemClock,
    onAttached: () => undefined,
    onPinMismatch: () => expect.unreachable(),
  });
  const { near, far } = narrowPair();
  server.attach(far);
  const { signal } = new AbortController();
  const client = await connectInner({ stream: near, key: engineer, peerPin: tunnel.pin, clock: systemClock }, signal);
  const exec = async () => {
    const stream = client.request(
      {
        ...{ ":method": "CONNECT", ":protocol": "websocket", ":scheme": "https", ":authority": "k" },
        ":path": `${PODS}/a/exec?command=cat`,
        "sec-websocket-protocol": "v5.channel.k8s.io",
      },
      { endStream: false },
    );
    stream.on("error", () => undefined);
    const [headers] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
    return { stream, status: headers[":status"] };
  };
  const end = (): void => {
    handler.cut();
    server.cut();
    near.destroy();
  };
  return { client, exec, end, records };
}

test.each([
  ["take nothing", 0],
  ["take nothing and show without end", Number.POSITIVE_INFINITY],
])("6 execs that %s hold up nothing else in the session", async (_, shownBytes) => {
  const { client, exec, end } = await session(shownBytes);
  const execs = await Promise.all(Array.from({ length: 6 }, exec));
  for (const { stream } of execs) {
    stream.write(Buffer.alloc(2 * MIB));
    if (shownBytes > 0) stream.pause();
  }
  for (let round = 0; round < 3; round += 1) {
    const stream = client.request({ ":path": PODS });
    stream.resume();
    const [headers] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
    expect(headers[":status"]).toBe(200);
    for (let turn = 0; turn < 200; turn += 1) await new Promise((done) => setImmediate(done));
  }
  end();
});

test.each([
  ["fits on the way to the engineer", MIB / 2],
  ["does not", 6 * MIB],
])("what an exec has shown before it ended comes whole and late, where it %s", async (_, shownBytes) => {
  const clock = new FakeClock();
  const { exec, end, records } = await session(shownBytes, clock);
  const { stream } = await exec();
  stream.pause();
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  // Until nothing more moves before the engineer reads, and longer than any limit of the tunnel.
  const isOver = (): boolean => shownBytes > MIB || records.includes("stream");
  for (let turn = 0; turn < 500 || !isOver(); turn += 1) {
    await new Promise((done) => setImmediate(done));
    clock.advance(1_000);
  }
  expect(bytes).toBe(0);
  const ended = Promise.race([once(stream, "end"), once(stream, "close")]);
  stream.resume();
  await ended;
  expect([bytes, stream.rstCode]).toEqual([shownBytes, 0]);
  end();
});

test("a session has 32 execs at once; one more is refused in words, and sessions beside it are served", async () => {
  const [full, beside] = await Promise.all([session(0), session(0)]);
  const execs = await Promise.all(Array.from({ length: 32 }, full.exec));
  expect(execs.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200));
  const refused = await full.exec();
  expect(refused.status).toBe(429);
  expect(String((await once(refused.stream, "data"))[0])).toContain("32 execs and port-forwards at once");
  // A place is free once its exec has ended.
  execs.shift()?.stream.close();
  let again = await full.exec();
  for (let turn = 0; again.status === 429 && turn < 50; turn += 1) again = await full.exec();
  expect(again.status).toBe(200);
  for (const { stream } of execs) stream.write(Buffer.alloc(2 * MIB));
  for (let round = 0; round < 3; round += 1) {
    for (let turn = 0; turn < 200; turn += 1) await new Promise((done) => setImmediate(done));
    const stream = beside.client.request({ ":path": PODS });
    stream.resume();
    const [headers] = (await once(stream, "response")) as [Readonly<Record<string, unknown>>];
    expect(headers[":status"]).toBe(200);
  }
  expect((await beside.exec()).status).toBe(200);
  full.end();
  beside.end();
});
