import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { scaledClock } from "../../base/testing/scaled-clock.ts";
import type { ClientMetrics } from "../metrics/metrics.ts";
import { resources } from "../objects/resource.ts";
import { ApiError } from "./api-error.ts";
import { Client } from "./client.ts";
import { type Connection, connect } from "./connection.ts";
import { AnswerTooLarge } from "./exchange.ts";

type Reply = (request: IncomingMessage, response: ServerResponse, body: string) => void;
const status =
  (code: number, more: object = {}, headers: Record<string, string> = {}): Reply =>
  (_, response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ kind: "Status", message: "no", reason: "", ...more }));
  };
const json =
  (body: unknown): Reply =>
  (_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  };
const cut: Reply = (request) => request.socket.destroy();

/** Answers with `replies` in turn, the last one again and again. */
class Scripted {
  readonly seen: { method: string; url: string; type: string | undefined; body: string }[] = [];
  readonly replies: Reply[] = [];
  readonly #server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      this.seen.push({ method, url, type: headers["content-type"], body });
      const reply = this.replies.length > 1 ? this.replies.shift() : this.replies[0];
      reply?.(request, response, body);
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const clock = scaledClock(100);
const signal = new AbortController().signal;
const pod = { namespace: "ns", name: "p" };
let server: Scripted;
let connection: Connection;
let client: Client;
let codes: string[];

beforeEach(async () => {
  server = new Scripted();
  connection = await connect({ explicit: { server: await server.listen() } }, clock);
  codes = [];
  const metrics: ClientMetrics = {
    request: ({ method, code }) => void codes.push(`${method} ${code}`),
    retry: ({ code }) => void codes.push(`retry ${code}`),
  };
  client = new Client(connection, { clock, metrics, timeoutMs: 20_000 });
});

afterEach(async () => {
  await connection.close();
  await server.close();
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function failure(answer: Promise<unknown>): Promise<ApiError> {
  const error = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error("no ApiError", { cause: error });
  return error;
}

describe("a client", () => {
  test("waits as long as Retry-After says, and tries again", async () => {
    server.replies.push(
      status(429, {}, { "retry-after": "1" }),
      status(503, {}, { "retry-after": "2" }),
      json({ kind: "Pod" }),
    );
    const startedMs = clock.monotonicMs();
    await client.get(resources.pods, pod, signal);
    expect(clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(3000);
    expect(codes).toEqual(["GET 429", "retry 429", "GET 503", "retry 503", "GET 200"]);
  });

  test("sends the same body again", async () => {
    server.replies.push(status(429, {}, { "retry-after": "0" }), json({}));
    await client.create(resources.pods, { apiVersion: "v1", kind: "Pod", metadata: pod }, signal);
    expect(server.seen.map(({ body }) => body)).toEqual([server.seen[0]?.body, server.seen[0]?.body]);
    expect(server.seen[0]?.body).toContain('"name":"p"');
  });

  test("gives up after ten more tries", async () => {
    server.replies.push(status(429, {}, { "retry-after": "0" }));
    expect((await failure(client.get(resources.pods, pod, signal))).isTooManyRequests).toBe(true);
    expect(server.seen).toHaveLength(11);
  });

  test("leaves a 500 without Retry-After to its caller", async () => {
    server.replies.push(status(500, { reason: "InternalError" }));
    expect((await failure(client.get(resources.pods, pod, signal))).isTransient).toBe(true);
    expect(server.seen).toHaveLength(1);
  });

  test.each<readonly [string, () => object, RegExp]>([
    ["repeats a mark", () => ({ metadata: { continue: "same" }, items: [{}] }), /no end: the mark of the next page is/],
    [
      "has no objects",
      () => ({ metadata: { continue: `${server.seen.length}` }, items: null }),
      /no end: 100 pages in/,
    ],
  ])("ends a list that %s", async (_, page, words) => {
    server.replies.push((_request, response) => response.end(JSON.stringify(page())));
    expect((await failure(collect(client.list(resources.pods, {}, signal)))).message).toMatch(words);
  });

  test("does not wait out an hour inside of a call", async () => {
    server.replies.push(status(503, {}, { "retry-after": "3600" }));
    expect((await failure(client.get(resources.pods, pod, signal))).retryAfterMs).toBe(60_000);
  });

  test("shows a disruption budget's refusal at once", async () => {
    server.replies.push(
      status(429, { details: { causes: [{ reason: "DisruptionBudget" }] } }, { "retry-after": "10" }),
    );
    const error = await failure(client.evict(pod, {}, signal));
    expect(error.body?.details?.causes?.[0]?.reason).toBe("DisruptionBudget");
    expect(server.seen).toHaveLength(1);
  });

  test("tries a read once more when its socket dies, and a write never", async () => {
    server.replies.push(cut, json({ kind: "Pod" }));
    await client.get(resources.pods, pod, signal);
    server.replies.splice(0, 2, cut);
    const error = await failure(
      client.create(resources.pods, { apiVersion: "v1", kind: "Pod", metadata: pod }, signal),
    );
    expect([error.status, error.reason, error.isTransient]).toEqual([0, "NetworkError", true]);
    expect(codes).toEqual(["GET <error>", "retry <error>", "GET 200", "POST <error>"]);
  });

  test("ends a request that gets no answer in time", async () => {
    server.replies.push(() => undefined);
    const error = await failure(client.get(resources.pods, pod, signal));
    expect(error.reason).toBe("NetworkError");
  });

  test("throws the signal's reason, also while it waits to try again", async () => {
    server.replies.push(status(429, {}, { "retry-after": "50" }));
    const stop = new AbortController();
    const answer = client.get(resources.pods, pod, stop.signal);
    const reason = new Error("enough");
    setTimeout(() => stop.abort(reason), 20);
    await expect(answer).rejects.toBe(reason);
  });

  test("takes no proxy's 404 for the absence of what Kubernetes always serves", async () => {
    const lost: Reply = (_, response) => void response.writeHead(404).end("404 page not found\n");
    server.replies.push(lost);
    const refused = { status: 404, message: expect.stringContaining("404 page not found") };
    await expect(client.get(resources.nodes, { name: "n" }, signal)).rejects.toMatchObject(refused);
    await expect(client.delete(resources.pods, pod, {}, signal)).rejects.toMatchObject(refused);
    await expect(client.evict(pod, {}, signal)).rejects.toMatchObject(refused);
    // A kind of an extension that is not installed.
    const widgets = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true };
    expect(await client.get(widgets, pod, signal)).toBeUndefined();
  });

  test("takes absence for a value: get gives undefined, delete false", async () => {
    server.replies.push(status(404, { reason: "NotFound" }));
    expect(await client.get(resources.pods, pod, signal)).toBeUndefined();
    expect(await client.delete(resources.pods, pod, {}, signal)).toBe(false);
  });

  test("reads a list page by page and stops at the limit", async () => {
    const page = (names: string[], next: string): Reply =>
      json({ metadata: { continue: next }, items: names.map((name) => ({ metadata: { name } })) });
    server.replies.push(page(["a", "b"], "t1"), page(["c"], ""), page(["a", "b"], "t1"));
    expect((await collect(client.list(resources.pods, {}, signal))).map((each) => each.metadata.name)).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(server.seen[1]?.url).toContain("continue=t1");
    expect(await collect(client.list(resources.pods, { limit: 1 }, signal))).toHaveLength(1);
    expect(server.seen).toHaveLength(3);
    const large = collect(client.list(resources.pods, { pageBytes: 10 }, signal));
    await expect(large).rejects.toMatchObject({ cause: expect.any(AnswerTooLarge) });
  });

  test("sends each kind of write with its content type", async () => {
    server.replies.push(json({}));
    const object = { apiVersion: "v1", kind: "Pod", metadata: pod };
    await client.apply(resources.pods, object, { subresource: "status" }, signal);
    await client.patch(resources.pods, pod, { type: "merge", body: {} }, {}, signal);
    await client.patch(resources.pods, pod, { type: "json", body: [] }, { subresource: "status" }, signal);
    expect(server.seen.map(({ url, type }) => `${type} ${url}`)).toEqual([
      "application/apply-patch+yaml /api/v1/namespaces/ns/pods/p/status?fieldManager=kube-client&force=true",
      "application/merge-patch+json /api/v1/namespaces/ns/pods/p?fieldManager=kube-client",
      "application/json-patch+json /api/v1/namespaces/ns/pods/p/status?fieldManager=kube-client",
    ]);
  });

  test.each(["../..", "..", ".", "a/b", "", "a%2fb"])("refuses %j as the name of an object", async (name) => {
    await expect(client.get(resources.pods, { namespace: "ns", name }, signal)).rejects.toThrow("not a name");
    await expect(client.get(resources.pods, { namespace: name || "../..", name: "p" }, signal)).rejects.toThrow(
      "not a name",
    );
  });

  test("asks for the namespace of a namespaced object", async () => {
    await expect(client.get(resources.pods, { name: "p" }, signal)).rejects.toThrow("namespace is required");
  });

  test("survives an answer that is not the API server's", async () => {
    server.replies.push((_, response) => response.writeHead(502).end("<html>bad gateway</html>"));
    expect((await failure(client.get(resources.pods, pod, signal))).status).toBe(502);
  });
});
