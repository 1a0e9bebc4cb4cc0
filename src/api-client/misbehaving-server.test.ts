import { createServer, type Server, type Socket } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import Type from "typebox";
import { afterEach, describe, expect, it } from "vitest";
import { type Repeat, routes } from "../contract/wire/route.ts";
import { Strict } from "../contract/wire/schema.ts";
import { ApiError } from "./api-error.ts";
import type { ClientOptions } from "./options.ts";
import { clientOf } from "./table-client.ts";
import { undiciTransport } from "./undici-transport.ts";

// Writes bytes to a socket: a library for HTTP servers would refuse to send most of these answers.

const REPEATS = ["safe", "natural", "state", "key", "none"] as const satisfies readonly Repeat[];
const of = (repeat: Repeat) =>
  ({
    method: repeat === "safe" ? "GET" : "POST",
    path: `/v1/${repeat}`,
    summary: "Does.",
    roles: "any",
    success: 200,
    response: Strict({ id: Type.String() }),
    errors: [],
    repeat,
  }) as const;
const TABLE = {
  things: routes({
    safe: of("safe"),
    natural: of("natural"),
    state: of("state"),
    key: of("key"),
    none: of("none"),
  }),
};

const KEY = "canary-key-0123456789";
const forever = new AbortController().signal;
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

type Behaviour = (socket: Socket, request: string) => void;

/** Answers each request, once its head has come, as told. */
async function listening(behave: Behaviour): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      requests.push(chunk.toString());
      behave(socket, chunk.toString());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, requests };
}

function clientAt(baseUrl: string, options: Partial<ClientOptions> = {}) {
  const client = clientOf(TABLE, { baseUrl, credential: KEY, firstRetryMs: 1, retries: 0, timeoutMs: 300, ...options });
  open.push(() => client.close());
  return client;
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    (answer) => `it succeeded with ${JSON.stringify(answer)}`,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

const head = (status: string, ...lines: string[]): string => [`HTTP/1.1 ${status}`, ...lines, "", ""].join("\r\n");
const JSON_HEAD = "content-type: application/json";
const whole = (body: string, ...lines: string[]): string =>
  head("200 OK", JSON_HEAD, `content-length: ${Buffer.byteLength(body)}`, ...lines) + body;

/** 20 MB of zeros in 20 kB. */
const BOMB = gzipSync(Buffer.alloc(20_000_000));

/** Writes a byte every 20 ms for as long as the socket is open. */
function drip(socket: Socket, byte: string, first = ""): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(byte), 20);
  socket.once("close", () => clearInterval(timer));
}

const CASES: readonly (readonly [string, Behaviour, object])[] = [
  ["headers that trickle", (s) => drip(s, "x", "HTTP/1.1 200 OK\r\nx-slow: "), { code: "CLIENT_TIMEOUT" }],
  [
    "a body that trickles",
    (s) => drip(s, "1\r\n \r\n", head("200 OK", JSON_HEAD, "transfer-encoding: chunked")),
    { code: "CLIENT_TIMEOUT" },
  ],
  ["no word at all", () => undefined, { code: "CLIENT_TIMEOUT" }],
  ["interim answers without end", (s) => drip(s, head("103 Early Hints")), { code: "CLIENT_TIMEOUT" }],
  [
    "fewer bytes than promised",
    (s) => s.end(`${head("200 OK", JSON_HEAD, "content-length: 100")}{"id":"a"}`),
    { code: "TRUNCATED_RESPONSE" },
  ],
  [
    "a chunked body without its end",
    (s) => s.end(`${head("200 OK", JSON_HEAD, "transfer-encoding: chunked")}5\r\n{"id"\r\n`),
    { code: "TRUNCATED_RESPONSE" },
  ],
  [
    "a reset in the middle",
    (s) => s.write(`${head("200 OK", JSON_HEAD, "content-length: 100")}{"id"`, () => s.resetAndDestroy()),
    { retryable: true },
  ],
  ["a length that is none", (s) => s.end(head("200 OK", JSON_HEAD, "content-length: -1")), { code: "NETWORK_ERROR" }],
  [
    "two lengths",
    (s) => s.end(`${head("200 OK", JSON_HEAD, "content-length: 10", "content-length: 11")}{"id":"a"}`),
    { code: "NETWORK_ERROR" },
  ],
  ["no HTTP", (s) => s.end("SSH-2.0-OpenSSH_9.9\r\n"), { code: "NETWORK_ERROR" }],
  ["headers without end", (s) => s.write(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(1_000_000)}`), { code: "NETWORK_ERROR" }],
  [
    "a proxy's page",
    (s) => s.end(`${head("502 Bad Gateway", "content-type: text/html", "content-length: 4")}<h1>`),
    { code: "UNEXPECTED_RESPONSE", status: 502, retryable: true },
  ],
  ["a page for an answer", (s) => s.end(whole("<html>").replace("json", "html")), { code: "MALFORMED_RESPONSE" }],
  ["broken JSON", (s) => s.end(whole('{"id":')), { code: "MALFORMED_RESPONSE" }],
  ["JSON that nests without end", (s) => s.end(whole("[".repeat(150_000))), { code: "MALFORMED_RESPONSE" }],
  [
    "more than the client takes",
    (s) => s.end(whole(`"${"x".repeat(300_000)}"`)),
    { code: "RESPONSE_TOO_LARGE", retryable: false },
  ],
  [
    // The client did not ask for compression: it takes the answer as plain bytes and never unpacks it.
    "a bomb",
    (s) => {
      s.write(head("200 OK", JSON_HEAD, "content-encoding: gzip", `content-length: ${BOMB.length}`));
      s.end(BOMB);
    },
    { code: "MALFORMED_RESPONSE" },
  ],
  ["an empty answer", (s) => s.end(whole("")), { code: "MALFORMED_RESPONSE" }],
];

const TRANSPORTS = [
  ["Node's own client", () => ({})],
  ["undici", () => ({ transport: undiciTransport("direct") })],
] as const;

describe.each(TRANSPORTS)("through %s, a server that misbehaves gets a clear error with", (_name, through) => {
  it.each(CASES)("%s", async (_, behave, expected) => {
    const { url } = await listening(behave);
    const client = clientAt(url, { maxResponseBytes: 200_000, ...through() });
    const error = await failure(client.things.safe({}, forever));
    expect(error).toMatchObject(expected);
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.stringify([error.message, error.context, error.stack, String(error.cause)])).not.toContain(KEY);
  });

  it.each<[string, (request: string) => string]>([
    ["a header", (request) => `HTTP/1.1 200 OK\r\n${request}`],
    ["a header's name", (request) => head("200 OK", `x ${/^authorization: .*$/im.exec(request)?.[0]}: y`)],
    ["a status line", (request) => `HTTP/9.9 ${request}`],
    [
      "the length of a chunk",
      (request) => `${head("200 OK", JSON_HEAD, "transfer-encoding: chunked")}1\r\n{\r\n${request}`,
    ],
  ])("the request's echo in %s, and no key comes into the error", async (_, echo) => {
    const { url, requests } = await listening((socket, request) => socket.end(echo(request)));
    const error = await failure(clientAt(url, { timeoutMs: 60_000, ...through() }).things.safe({}, forever));
    expect(requests.join()).toContain(KEY);
    expect(error.isTransport).toBe(true);
    const printed = inspect(error, { depth: 10, showHidden: true });
    expect(printed).toContain("cause");
    // Bytes are printed in hexadecimal.
    expect(printed.replace(/[^0-9a-f]/g, "")).not.toContain(Buffer.from(KEY).toString("hex"));
    expect(printed).not.toContain("rawPacket");
    expect(printed).not.toContain(KEY);
  });

  it("a 204 that has a body does not leave it to the next answer", async () => {
    const { url } = await listening((socket, request) =>
      socket.write(
        request.includes("/v1/none")
          ? `${head("204 No Content", "content-length: 13")}{"id":"wrong"}`
          : whole('{"id":"b"}'),
      ),
    );
    const client = clientAt(url, { retries: 2, ...through() });
    await client.things.none({}, forever).catch((error: unknown) => expect(error).toBeInstanceOf(ApiError));
    expect(await client.things.safe({}, forever)).toEqual({ id: "b" });
  });

  it("an answer before its request does not become somebody's answer", async () => {
    const { url } = await listening((socket) => socket.write(whole('{"id":"a"}') + whole('{"id":"forged"}')));
    const client = clientAt(url, { retries: 2, ...through() });
    for (const _ of [1, 2, 3]) {
      const answer = await client.things.safe({}, forever).catch((error: unknown) => error);
      if (!(answer instanceof ApiError)) expect(answer).toEqual({ id: "a" });
    }
  });
});

describe("a redirect", () => {
  it.each(["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])(
    "%s is never followed, to the same host or another, and the key goes nowhere",
    async (status) => {
      const other = await listening((socket) => socket.end(whole('{"id":"stolen"}')));
      for (const location of ["/v1/elsewhere", `${other.url}/v1/safe`]) {
        const { url, requests } = await listening((socket) =>
          socket.end(head(status, `location: ${location}`, "content-length: 0")),
        );
        const error = await failure(clientAt(url, { retries: 2 }).things.safe({}, forever));
        expect(error).toMatchObject({ code: "UNEXPECTED_REDIRECT", retryable: false });
        expect(requests).toHaveLength(1);
      }
      expect(other.requests).toEqual([]);
    },
  );
});

describe("Retry-After", () => {
  it.each<[string, number | undefined]>([
    ["2", 2_000],
    ["0", 0],
    ["-5", undefined],
    ["1e9", undefined],
    ["Infinity", undefined],
    ["soon", undefined],
    ["", undefined],
    ["99999999999999999999", 900_000],
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["Fri, 31 Dec 9999 23:59:59 GMT", 900_000],
  ])("of %o means %s ms, and a wait that is too long is no wait at all", async (value, expected) => {
    const body = JSON.stringify({ code: "SERVICE_UNAVAILABLE", message: "later", retryable: true });
    const { url, requests } = await listening((socket) =>
      socket.end(head("503 Busy", JSON_HEAD, `content-length: ${body.length}`, `retry-after: ${value}`) + body),
    );
    const error = await failure(clientAt(url, { retries: 1, maxRetryTimeMs: 1_000 }).things.safe({}, forever));
    expect(error.retryAfterMs).toBe(expected);
    expect(requests).toHaveLength((expected ?? 0) > 1_000 ? 1 : 2);
  });
});

describe("a call is sent again only where that is safe:", () => {
  const refusal = (status: string, code: string, retryable: boolean): Behaviour => {
    const body = JSON.stringify({ code, message: "no", retryable });
    return (socket) => socket.end(head(status, JSON_HEAD, `content-length: ${body.length}`) + body);
  };
  /** Seconds for what ends by itself, also on a busy machine. */
  const timeLimitOf = (what: string): number => (what === "silence" ? 100 : 60_000);
  const failures: Readonly<Record<string, readonly [Behaviour, boolean]>> = {
    "no answer": [(socket) => socket.destroy(), true],
    "half an answer": [(socket) => socket.end(`${head("200 OK", JSON_HEAD, "content-length: 9")}{`), true],
    silence: [() => undefined, true],
    "a proxy's 502": [(socket) => socket.end(head("502 Bad", "content-length: 0")), true],
    "a 503": [refusal("503 Busy", "SERVICE_UNAVAILABLE", true), true],
    "a lost race": [refusal("409 Conflict", "CONFLICT", true), true],
    "a 429": [refusal("429 Slow", "RATE_LIMITED", true), true],
    "a 404": [refusal("404 No", "NOT_FOUND", false), false],
    "a 500": [refusal("500 Oh", "INTERNAL_ERROR", false), false],
    "no JSON": [(socket) => socket.end(whole("{")), false],
    "a redirect": [(socket) => socket.end(head("302 Found", "location: /", "content-length: 0")), false],
  };
  const table = Object.entries(failures).flatMap(([what, [behave, passing]]) =>
    REPEATS.map((repeat) => {
      const again = passing && (repeat === "safe" || repeat === "natural" || repeat === "key");
      return [what, repeat, again ? 3 : 1, behave] as const;
    }),
  );
  it.each(table)("after %s, a route whose repeat is %s is tried %d times", async (what, repeat, times, behave) => {
    const { url, requests } = await listening(behave);
    await failure(clientAt(url, { retries: 2, timeoutMs: timeLimitOf(what) }).things[repeat]({}, forever));
    expect(requests).toHaveLength(times);
    const keys = new Set(requests.map((request) => /idempotency-key: (\S+)/i.exec(request)?.[1]));
    expect(keys.size).toBe(1);
    expect([...keys][0] !== undefined).toBe(repeat === "key");
  });
});
