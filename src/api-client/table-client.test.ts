import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import Type from "typebox";
import { afterEach, describe, expect, test } from "vitest";
import { runs } from "../base/testing/runs.ts";
import { routes } from "../contract/wire/route.ts";
import { Page, Strict } from "../contract/wire/schema.ts";
import { address } from "./address.ts";
import { ApiError } from "./api-error.ts";
import type { Attempt, ClientOptions } from "./options.ts";
import { pages } from "./pages.ts";
import { clientOf, type TableClient } from "./table-client.ts";

const Thing = Strict({ id: Type.String() });
const TABLE = {
  things: routes({
    list: {
      method: "GET",
      path: "/v1/things",
      summary: "Lists.",
      roles: "any",
      query: Strict({
        state: Type.Optional(Type.Array(Type.String())),
        cursor: Type.Optional(Type.String()),
        limit: Type.Optional(Type.Integer()),
      }),
      success: 200,
      response: Page(Thing),
      errors: [],
      paginated: true,
      repeat: "safe",
    },
    get: {
      method: "GET",
      path: "/v1/things/{id}",
      summary: "Reads.",
      roles: "any",
      params: Strict({ id: Type.String() }),
      success: 200,
      response: Thing,
      errors: ["NOT_FOUND"],
      repeat: "safe",
    },
    own: {
      method: "GET",
      path: "/v1/own/{id}",
      summary: "Reads what needs no workspace.",
      roles: "any",
      params: Strict({ id: Type.String() }),
      success: 200,
      response: Thing,
      errors: [],
      repeat: "safe",
      workspace: "path",
    },
    create: {
      method: "POST",
      path: "/v1/things",
      summary: "Makes.",
      roles: "any",
      body: Strict({ name: Type.String() }),
      success: 201,
      response: Thing,
      errors: [],
      repeat: "key",
    },
    dispatch: {
      method: "POST",
      path: "/v1/things/{id}/dispatch",
      summary: "Acts.",
      roles: "any",
      params: Strict({ id: Type.String() }),
      success: 204,
      errors: [],
      repeat: "state",
    },
    watched: {
      method: "GET",
      path: "/v1/watched",
      summary: "Reads what has an ETag.",
      roles: "any",
      query: Strict({ of: Type.Optional(Type.String()) }),
      success: 200,
      response: Thing,
      errors: [],
      repeat: "safe",
      etag: true,
    },
    work: {
      method: "GET",
      path: "/v1/work",
      summary: "Waits.",
      roles: "any",
      query: Strict({ wait: Type.Optional(Type.Integer()) }),
      success: 200,
      response: Strict({ cursor: Type.String() }),
      errors: [],
      repeat: "safe",
      longPoll: true,
    },
  }),
};

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;
const KEY = "canary-key-0123456789";
const open: (() => Promise<unknown>)[] = [];
const forever = new AbortController().signal;

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface World {
  readonly client: TableClient<typeof TABLE>;
  readonly seen: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: string;
  }[];
  readonly attempts: Attempt[];
  readonly url: string;
}

async function world(handler: Handler, options: Partial<ClientOptions> = {}): Promise<World> {
  const seen: World["seen"] = [];
  const attempts: Attempt[] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      handler(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  open.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const client = clientOf(TABLE, {
    baseUrl: url,
    credential: KEY,
    firstRetryMs: 1,
    observe: (attempt) => attempts.push(attempt),
    ...options,
  });
  open.push(() => client.close());
  return { client, seen, attempts, url };
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers })
    .end(JSON.stringify(body));
}

function errorObject(code: string, retryable: boolean): object {
  return {
    code,
    message: `it was ${code}`,
    retryable,
    internal: false,
    hint: "look again",
    context: { resource: "thing" },
    source: null,
    httpStatusCode: 404,
    requestId: "from-the-body",
  };
}

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => "it succeeded",
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe("a call", () => {
  test("carries path, query, workspace, credential and name of the client", async () => {
    const { client, seen } = await world((_, response) => json(response, 200, { id: "a" }), {
      workspace: "acme",
      userAgent: "sallyport-test/1",
    });
    await client.things.get({ params: { id: "a/b?c#d" } }, forever);
    expect(seen[0]?.url).toBe("/v1/things/a%2Fb%3Fc%23d?workspace=acme");
    expect(seen[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "user-agent": "sallyport-test/1" });
  });

  test("sends arrays as repeated parameters and leaves out what is undefined", async () => {
    const { client, seen } = await world((_, response) => json(response, 200, { items: [], nextCursor: null }));
    await client.things.list({ query: { state: ["A", "B"], limit: 3 }, workspace: "other" }, forever);
    expect(seen[0]?.url).toBe("/v1/things?state=A&state=B&limit=3&workspace=other");
  });

  test("names no workspace where the route does, unless the caller says so", async () => {
    const { client, seen } = await world((_, response) => json(response, 200, { id: "a" }), { workspace: "acme" });
    await client.things.own({ params: { id: "a" } }, forever);
    await client.things.own({ params: { id: "a" }, workspace: "other" }, forever);
    expect(seen.map(({ url }) => url)).toEqual(["/v1/own/a", "/v1/own/a?workspace=other"]);
  });

  test("sends JSON, and no content-type without a body", async () => {
    const { client, seen } = await world((request, response) =>
      request.url === "/v1/things" ? json(response, 201, { id: "n" }) : response.writeHead(204).end(),
    );
    expect(await client.things.create({ body: { name: "ü" } }, forever)).toEqual({ id: "n" });
    expect(await client.things.dispatch({ params: { id: "n" } }, forever)).toBeUndefined();
    expect(seen.map((request) => [request.headers["content-type"], request.body])).toEqual([
      ["application/json", '{"name":"ü"}'],
      [undefined, ""],
    ]);
  });

  test("keeps the path of the base URL", async () => {
    const { url, seen } = await world((_, response) => json(response, 200, { id: "a" }));
    const client = clientOf(TABLE, { baseUrl: `${url}/sallyport/` });
    open.push(() => client.close());
    await client.things.get({ params: { id: "a" } }, forever);
    expect(seen[0]?.url).toBe("/sallyport/v1/things/a");
    expect(seen[0]?.headers.authorization).toBeUndefined();
  });

  test("asks a credential function before each attempt", async () => {
    const keys = ["first", "second"];
    let served = 0;
    const { client, seen } = await world(
      (_, response) =>
        served++ === 0
          ? json(response, 503, errorObject("SERVICE_UNAVAILABLE", true))
          : json(response, 200, { id: "a" }),
      { credential: () => keys.shift() ?? "none" },
    );
    await client.things.get({ params: { id: "a" } }, forever);
    expect(seen.map((request) => request.headers.authorization)).toEqual(["Bearer first", "Bearer second"]);
  });

  test("tries another key after a 401 when the credential has one, on any route, and gives up after three", async () => {
    const refused: string[] = [];
    const { client, seen } = await world((_, response) => json(response, 401, errorObject("API_KEY_INVALID", false)), {
      credential: { current: () => `key-${refused.length}`, refused: (key) => refused.push(key) > 0 },
    });
    expect((await failure(client.things.dispatch({ params: { id: "a" } }, forever))).code).toBe("API_KEY_INVALID");
    expect(seen.map((request) => request.headers.authorization)).toEqual([
      "Bearer key-0",
      "Bearer key-1",
      "Bearer key-2",
    ]);
  });

  test("rejects with the caller's own reason when aborted, and tells no metric", async () => {
    const { client, attempts } = await world(() => undefined);
    const abort = new AbortController();
    const reason = new Error("shutting down");
    const call = client.things.get({ params: { id: "a" } }, abort.signal);
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(attempts).toEqual([]);
  });

  test("tells route, status and sizes of each attempt", async () => {
    const { client, attempts } = await world((_, response) => json(response, 201, { id: "n" }));
    await client.things.create({ body: { name: "x" } }, forever);
    expect(attempts).toMatchObject([
      { area: "things", route: "create", status: 201, code: undefined, sentBytes: 12, receivedBytes: 10 },
    ]);
  });
});

describe("an error", () => {
  test("is the API's own, with code, context, hint and request id", async () => {
    const { client } = await world((_, response) =>
      json(response, 404, errorObject("NOT_FOUND", false), { "x-request-id": "from-the-header" }),
    );
    expect(await failure(client.things.get({ params: { id: "a" } }, forever))).toMatchObject({
      code: "NOT_FOUND",
      status: 404,
      retryable: false,
      message: "it was NOT_FOUND",
      hint: "look again",
      context: { resource: "thing" },
      requestId: "from-the-header",
    });
  });

  test("never holds the credential, even when the server sends it back", async () => {
    const { client } = await world((request, response) =>
      json(response, 400, {
        ...errorObject("VALIDATION_ERROR", false),
        message: request.headers.authorization,
        context: { echo: KEY },
      }),
    );
    const error = await failure(client.things.get({ params: { id: "a" } }, forever));
    expect(JSON.stringify([error.message, error.context, error.stack])).not.toContain(KEY);
  });

  // Servers that misbehave, and the error that the caller gets. None may hang: the test's own time limit would fail.
  const misbehaving: readonly (readonly [string, Handler, Partial<ApiError>])[] = [
    [
      "a proxy's HTML page",
      (_, r) => r.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
      { code: "UNEXPECTED_RESPONSE", status: 502, retryable: true },
    ],
    [
      "an error that is JSON but no error object",
      (_, r) => json(r, 403, { error: "nope" }),
      { code: "UNEXPECTED_RESPONSE", status: 403, retryable: false },
    ],
    [
      "a success that is not JSON",
      (_, r) => r.writeHead(200, { "content-type": "text/plain" }).end("hello"),
      { code: "MALFORMED_RESPONSE", status: 200 },
    ],
    [
      "broken JSON",
      (_, r) => r.writeHead(200, { "content-type": "application/json" }).end('{"id":'),
      { code: "MALFORMED_RESPONSE", status: 200 },
    ],
    [
      "an empty success",
      (_, r) => r.writeHead(200, { "content-type": "application/json" }).end(),
      { code: "MALFORMED_RESPONSE", status: 200 },
    ],
    [
      "a redirect",
      (_, r) => r.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      { code: "UNEXPECTED_REDIRECT", status: 302, retryable: false },
    ],
    [
      "a body cut short",
      (_, r) => {
        r.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write('{"id"');
        setImmediate(() => r.destroy());
      },
      { code: "TRUNCATED_RESPONSE", status: 200, retryable: true },
    ],
    [
      "a socket closed without an answer",
      (_, r) => void r.destroy(),
      { code: "NETWORK_ERROR", status: 0, retryable: true },
    ],
    [
      "a body without end",
      (_, r) => {
        r.writeHead(200, { "content-type": "application/json" });
        const more = (): void => void (r.destroyed || r.write("x".repeat(65_536), () => setImmediate(more)));
        more();
      },
      { code: "RESPONSE_TOO_LARGE", status: 200, retryable: false },
    ],
    ["silence", () => undefined, { code: "CLIENT_TIMEOUT", status: 0, retryable: true }],
    [
      "headers and then silence",
      (_, r) => void r.writeHead(200, { "content-type": "application/json" }).write("{"),
      { code: "CLIENT_TIMEOUT", retryable: true },
    ],
  ];
  for (const [what, handler, expected] of misbehaving) {
    test(`is clear for ${what}`, async () => {
      const { client } = await world(handler, { retries: 0, timeoutMs: 150, maxResponseBytes: 200_000 });
      const error = await failure(client.things.get({ params: { id: "a" } }, forever));
      expect(error).toMatchObject(expected);
      expect(error.isTransport).toBe(true);
      expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
    });
  }

  test("is clear for a port where nobody listens", async () => {
    const client = clientOf(TABLE, { baseUrl: "http://127.0.0.1:1", retries: 0 });
    open.push(() => client.close());
    const error = await failure(client.things.get({ params: { id: "a" } }, forever));
    expect(error).toMatchObject({ code: "NETWORK_ERROR", status: 0 });
    expect(error.message).toContain("ECONNREFUSED");
  });

  test.each(["ftp://x", "http://example.com", "https://u:p@example.com", "https://example.com/?a=b", "not a url"])(
    "refuses the base URL %s before anything is sent",
    (baseUrl) => {
      expect(() => clientOf(TABLE, { baseUrl })).toThrow(/base URL must/);
    },
  );
});

describe("a retry", () => {
  const flaky = (failures: number, status: number, body: object, headers: Record<string, string> = {}): Handler => {
    let served = 0;
    return (_, response) =>
      served++ < failures ? json(response, status, body, headers) : json(response, 200, { id: "a" });
  };
  const unavailable = errorObject("SERVICE_UNAVAILABLE", true);

  test("happens for reads", async () => {
    const { client, seen } = await world(flaky(2, 503, unavailable));
    expect(await client.things.get({ params: { id: "a" } }, forever)).toEqual({ id: "a" });
    expect(seen).toHaveLength(3);
  });

  test("of a keyed create sends the same key, and another call another key", async () => {
    const { client, seen } = await world(flaky(1, 503, unavailable));
    await client.things.create({ body: { name: "x" } }, forever);
    await client.things.create({ body: { name: "x" } }, forever);
    const keys = seen.map((request) => request.headers["idempotency-key"]);
    expect(keys[0]).toBeDefined();
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  test("never happens for a route that acts once", async () => {
    const { client, seen } = await world(flaky(1, 503, unavailable));
    expect((await failure(client.things.dispatch({ params: { id: "a" } }, forever))).code).toBe("SERVICE_UNAVAILABLE");
    expect(seen).toHaveLength(1);
  });

  test("never happens when the error says that it is no use", async () => {
    const { client, seen } = await world(flaky(1, 404, errorObject("NOT_FOUND", false)));
    await failure(client.things.get({ params: { id: "a" } }, forever));
    expect(seen).toHaveLength(1);
  });

  test("ends after the given number", async () => {
    const { client, seen } = await world(flaky(9, 503, unavailable), { retries: 2 });
    await failure(client.things.get({ params: { id: "a" } }, forever));
    expect(seen).toHaveLength(3);
  });

  test("waits for Retry-After, and fails at once when that is longer than the caller has time", async () => {
    const short = await world(flaky(1, 429, errorObject("RATE_LIMITED", true), { "retry-after": "1" }));
    const startMs = performance.now();
    await short.client.things.get({ params: { id: "a" } }, forever);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);

    const long = await world(flaky(1, 429, errorObject("RATE_LIMITED", true), { "retry-after": "999999" }));
    const error = await failure(long.client.things.get({ params: { id: "a" } }, forever));
    expect(error.retryAfterMs).toBe(15 * 60_000);
    expect(long.seen).toHaveLength(1);
  });

  test("stops at once when aborted in the middle of a Retry-After", async () => {
    const abort = new AbortController();
    const { client } = await world((_, response) => {
      json(response, 503, unavailable, { "retry-after": "30" });
      setImmediate(() => abort.abort(new Error("stop")));
    });
    await expect(client.things.get({ params: { id: "a" } }, abort.signal)).rejects.toThrow("stop");
  });
});

test("a time limit above Node's longest timer is no time limit of 1 ms", async () => {
  const { client } = await world((_, response) => void setTimeout(() => json(response, 200, { id: "a" }), 100), {
    timeoutMs: 2 ** 31,
    retries: 0,
  });
  expect(await client.things.get({ params: { id: "a" } }, forever)).toEqual({ id: "a" });
});

describe("a long-poll", () => {
  test("may take its wait and a margin over the ordinary time limit", async () => {
    const { client } = await world((_, response) => void setTimeout(() => json(response, 200, { cursor: "c" }), 300), {
      timeoutMs: 100,
    });
    expect(await client.things.work({ query: { wait: 30 } }, forever)).toEqual({ cursor: "c" });
    expect((await failure(client.things.get({ params: { id: "a" } }, forever))).code).toBe("CLIENT_TIMEOUT");
  });
});

describe("pages", () => {
  test("gives every item in order, asking for each page as it is needed", async () => {
    const all = Array.from({ length: 7 }, (_, index) => ({ id: `t${index}` }));
    const { client, seen } = await world((request, response) => {
      const from = Number(new URL(request.url ?? "", "http://x").searchParams.get("cursor") ?? 0);
      json(response, 200, {
        items: all.slice(from, from + 3),
        nextCursor: from + 3 < all.length ? String(from + 3) : null,
      });
    });
    const read: unknown[] = [];
    for await (const item of pages(client.things.list, { query: { state: ["A"] } }, forever)) read.push(item);
    expect(read).toEqual(all);
    expect(seen.map((request) => request.url)).toEqual([
      "/v1/things?state=A",
      "/v1/things?state=A&cursor=3",
      "/v1/things?state=A&cursor=6",
    ]);
  });

  test("fail rather than turn in a circle", async () => {
    const { client } = await world((_, response) => json(response, 200, { items: [{ id: "a" }], nextCursor: "same" }));
    const read = async (): Promise<void> => {
      for await (const item of pages(client.things.list, {}, forever)) void item;
    };
    expect((await failure(read())).code).toBe("CURSOR_REPEATED");
  });
});

describe("answers that have an ETag", () => {
  test("are asked for by it, and a 304 brings the answer that the client has", async () => {
    let version = 1;
    const { client, seen } = await world((request, response) => {
      const etag = `"v${version}"`;
      if (request.headers["if-none-match"] === etag) response.writeHead(304, { etag }).end();
      else json(response, 200, { id: `of ${request.url} at ${version}` }, { etag });
    });
    const read = (of?: string) => client.things.watched({ query: of === undefined ? {} : { of } }, forever);
    const first = await read();
    expect(await read()).toEqual(first);
    expect(await read("b")).toEqual({ id: "of /v1/watched?of=b at 1" });
    version = 2;
    expect(await read()).toEqual({ id: "of /v1/watched at 2" });
    await read();
    const sent = seen.map(({ headers }) => headers["if-none-match"]);
    expect(sent).toEqual([undefined, '"v1"', undefined, '"v1"', '"v2"']);
  });

  test("are kept for one credential, and the newest four only", async () => {
    let key = "key-one";
    const { client, seen } = await world(
      ({ headers }, response) => {
        if (headers["if-none-match"] !== undefined) response.writeHead(304).end();
        else json(response, 200, { id: headers.authorization }, { etag: '"v"' });
      },
      { credential: () => key },
    );
    const read = (of = "") => client.things.watched({ query: { of } }, forever);
    expect(await read()).toEqual({ id: "Bearer key-one" });
    key = "key-two";
    expect([await read(), await read()]).toEqual([{ id: "Bearer key-two" }, { id: "Bearer key-two" }]);
    for (const of of ["a", "b", "c", "d"]) await read(of);
    await read();
    expect(seen.map(({ headers }) => headers["if-none-match"] !== undefined)).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  test("a 304 that nothing asked for is an error", async () => {
    const { client } = await world((_, response) => void response.writeHead(304).end());
    expect((await failure(client.things.watched({}, forever))).code).toBe("UNEXPECTED_REDIRECT");
  });
});

describe("addresses", () => {
  test("any path value and any query value arrive as they were given", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((value) => value !== "." && value !== "..");
    fc.assert(
      fc.property(text, text, fc.array(text, { maxLength: 4 }), (id, other, list) => {
        const url = address(
          new URL("https://h/base"),
          "/v1/{id}/x/{other}",
          { id, other },
          { q: list, none: undefined },
        );
        const parts = url.pathname.split("/");
        expect(parts).toHaveLength(6);
        expect([decodeURIComponent(parts[3] ?? ""), decodeURIComponent(parts[5] ?? "")]).toEqual([id, other]);
        expect(url.searchParams.getAll("q")).toEqual(list);
        expect(url.hash).toBe("");
      }),
      { numRuns: runs(500) },
    );
  });

  test.each([undefined, "", ".", ".."])("a path value %o is refused: it would reach another route", (id) => {
    expect(() => address(new URL("https://h"), "/v1/things/{id}", id === undefined ? {} : { id }, {})).toThrow(
      /path segment/,
    );
  });
});

test("what a route needs must be given, and what it has not cannot be", () => {
  const client = clientOf(TABLE, { baseUrl: "http://localhost" });
  open.push(() => client.close());
  // Never called: only the compiler reads it.
  const wrong = (): unknown[] => [
    // @ts-expect-error params are required
    client.things.get({}, forever),
    // @ts-expect-error the body's field is "name"
    client.things.create({ body: { nome: "x" } }, forever),
    // @ts-expect-error a signal is required
    client.things.list({}),
  ];
  expect(wrong).toBeTypeOf("function");
});
