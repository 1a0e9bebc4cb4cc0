import type { ServerHttp2Stream } from "node:http2";
import { PassThrough, Readable } from "node:stream";
import { Registry } from "prom-client";
import { beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Connection, WireRequest } from "../../kube/client/connection.ts";
import { tunnelMetrics } from "../kernel/metrics.ts";
import type { Scope } from "../requests/judge.ts";
import { RequestHandler } from "./request-handler.ts";

const PODS = "/api/v1/namespaces/shop/pods";
let records: Readonly<Record<string, unknown>>[];
/** What went up, each with the number of records then. */
let asked: { readonly request: WireRequest; readonly records: number }[];
let clock: FakeClock;
let table: () => Readable;

beforeEach(() => {
  [records, asked, clock] = [[], [], new FakeClock()];
  table = () => Readable.from([Buffer.from('{"rows":[{}]}')]);
});

function handler(registry = new Registry(), scope: Partial<Scope> = {}): RequestHandler {
  const answer = (body: () => Readable) => async (request: WireRequest) => {
    asked.push({ request, records: records.length });
    return { status: 200, headers: {}, body: body() };
  };
  const words = 'pods "web-1" is forbidden: no shell here';
  const refuse = async () => ({ status: 403, headers: {}, body: Buffer.from(JSON.stringify({ message: words })) });
  const open = answer(() => Readable.from([Buffer.from("{}")]));
  return new RequestHandler({
    scope: () => ({
      mode: "logs",
      namespace: "shop",
      selector: "app=web",
      recordingRequired: false,
      leftSeconds: 60,
      ...scope,
    }),
    ports: undefined,
    recording: undefined,
    upstream: () => ({ open, request: answer(() => table()), upgrade: refuse }) as unknown as Connection,
    audit: {
      async append(type, fields) {
        records.push({ type, ...fields });
      },
    },
    clock,
    log: silentLogger,
    metrics: tunnelMetrics(registry),
    counts: { requests: 0, denied: 0, refused: undefined, bytesIn: 0, bytesOut: 0, lastClientByteMs: 0 },
    onAuditFailed: () => expect.unreachable(),
  });
}

/** What is answered: the headers, and the words of a refusal. */
async function ask(to: RequestHandler, path = PODS, upgrade?: string): Promise<Readonly<Record<string, unknown>>> {
  let answered: Readonly<Record<string, unknown>> = {};
  const stream = new PassThrough();
  const end = stream.end.bind(stream);
  Object.assign(stream, {
    respond(headers: Readonly<Record<string, unknown>>) {
      answered = headers;
    },
    end(body?: string | Buffer) {
      answered = { ...answered, ...(body !== undefined && { body: String(body) }) };
      end();
    },
  });
  stream.resume();
  const method = upgrade === undefined ? { ":method": "GET" } : { ":method": "CONNECT", ":protocol": upgrade };
  const more = upgrade === undefined ? {} : { "sec-websocket-protocol": "v5.channel.k8s.io" };
  await to.handle(stream as unknown as ServerHttp2Stream, { ...method, ...more, ":path": path });
  return answered;
}

test("a flood of requests is slowed down, and one record stands for all that were refused", async () => {
  const registry = new Registry();
  const own = handler(registry);
  for (let each = 0; each < 500; each += 1) expect((await ask(own))[":status"]).toBe(200);
  for (let each = 0; each < 40; each += 1) {
    expect(await ask(own)).toMatchObject({ ":status": 429, "retry-after": "1" });
  }
  expect([records.length, asked.length]).toEqual([500, 500]);
  expect(await registry.metrics()).toContain('sallyport_debug_denied_total{reason="rate"} 40');
  clock.advance(1_000);
  expect((await ask(own))[":status"]).toBe(200);
  expect(records.slice(500)).toMatchObject([{ type: "denied", reason: "rate", times: 40 }, { type: "request" }]);
  // Another session has a budget of its own.
  expect((await ask(handler()))[":status"]).toBe(200);
});

test("the API server is asked for a pod's labels only after the request's record", async () => {
  expect((await ask(handler(), `${PODS}/web-1`))[":status"]).toBe(200);
  expect(asked.map((each) => [each.request.path.split("?")[0], each.records])).toEqual([
    [PODS, 1],
    [`${PODS}/web-1`, 1],
  ]);
});

test("a pod with other labels is refused, and the refusal names its request", async () => {
  table = () => Readable.from([Buffer.from('{"rows":[]}')]);
  expect((await ask(handler(), `${PODS}/web-1`))[":status"]).toBe(403);
  expect(records).toMatchObject([
    { type: "request", id: 1, name: "web-1" },
    { type: "denied", id: 1, reason: "name", name: "web-1" },
  ]);
});

test("an answer about labels that never ends is not read to its end", async () => {
  let bytes = 0;
  let body: Readable | undefined;
  table = () => {
    body = new Readable({
      read() {
        bytes += 16_384;
        this.push(Buffer.alloc(16_384));
      },
    });
    return body;
  };
  expect((await ask(handler(), `${PODS}/web-1`))[":status"]).toBe(502);
  expect(bytes).toBeLessThan(300_000);
  expect(body?.destroyed).toBe(true);
});

test("what the API server said to an exec is told to kubectl's second try, which could not be recorded", async () => {
  const own = handler(undefined, { mode: "exec", selector: undefined, recordingRequired: true });
  const exec = async (protocol: "websocket" | "SPDY/3.1", command: string): Promise<string> => {
    const stream = Object.assign(new PassThrough(), { respond: () => undefined });
    const said: Buffer[] = [];
    stream.on("data", (part: Buffer) => said.push(part));
    const headers = { ":method": "CONNECT", ":protocol": protocol, ":path": `${PODS}/web-1/exec?command=${command}` };
    await own.handle(stream as unknown as ServerHttp2Stream, {
      ...headers,
      "sec-websocket-protocol": "v5.channel.k8s.io",
    });
    return Buffer.concat(said).toString();
  };
  expect(await exec("websocket", "sh")).toContain("no shell here");
  expect(await exec("SPDY/3.1", "sh")).toContain("no shell here");
  expect(await exec("SPDY/3.1", "ls")).toContain("KUBECTL_REMOTE_COMMAND_WEBSOCKETS");
  clock.advance(10_000);
  expect(await exec("SPDY/3.1", "sh")).toContain("KUBECTL_REMOTE_COMMAND_WEBSOCKETS");
});

test("a command whose record would be cut is refused in words before it goes up; the session goes on", async () => {
  const own = handler(undefined, { mode: "exec", selector: undefined });
  const exec = (script: string): Promise<Readonly<Record<string, unknown>>> =>
    ask(own, `${PODS}/web-1/exec?command=sh&command=-c&command=${script}&stdout=true`, "websocket");
  const hidden = await exec(`%23${"%7F".repeat(5_380)}%0Aid`);
  expect(hidden).toMatchObject({ ":status": 414 });
  expect(hidden.body).toContain("the command is longer than the session's audit can hold");
  expect(await exec("a".repeat(16_384))).toMatchObject({ ":status": 414 });
  expect(await ask(own, `${PODS}/${"a".repeat(300)}`)).toMatchObject({ ":status": 414 });
  expect(asked).toEqual([]);
  expect(records).toMatchObject([
    { type: "denied", reason: "too-long", name: "web-1", commandWords: 3 },
    { type: "denied", reason: "too-long" },
    { type: "denied", reason: "too-long", resource: "pods" },
  ]);
  // What the API server says of one that goes up.
  expect(await exec("id")).toMatchObject({ ":status": 403 });
});
