import { connect } from "node:net";
import { Counter, Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { EventLoopLag } from "../metrics/event-loop-lag.ts";
import { HealthServer, type HealthServerOptions } from "./health.ts";

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function serve(checks: HealthServerOptions["checks"] = {}, registry = new Registry()) {
  const server = new HealthServer({ port: 0, host: "127.0.0.1", registry, checks });
  await server.listen();
  onTestFinished(() => server.close());
  const url = `http://127.0.0.1:${server.port}`;
  const get = async (path: string, method = "GET"): Promise<Answer> => {
    const response = await fetch(url + path, { method });
    return { status: response.status, body: await response.text() };
  };
  return { server, url, get };
}

const well = (name: string) => ({ name, check: () => undefined });
const ill = (name: string) => ({ name, check: () => "pods: no list yet" });
const CHECKS = { readyz: [well("leases"), ill("caches")] } as const;

test.each([
  { path: "/livez", status: 200, body: "ok" },
  { path: "/livez?verbose", status: 200, body: "[+]ping ok\nlivez check passed\n" },
  {
    path: "/readyz",
    status: 500,
    body: "[+]ping ok\n[+]leases ok\n[-]caches failed: pods: no list yet\nreadyz check failed\n",
  },
  { path: "/readyz/leases", status: 200, body: "ok" },
  { path: "/readyz/caches", status: 500, body: "[-]caches failed: pods: no list yet\nreadyz/caches check failed\n" },
  { path: "/readyz?exclude=caches", status: 200, body: "ok" },
  {
    path: "/readyz?exclude=caches&exclude=other&verbose=1",
    status: 200,
    body: '[+]ping ok\n[+]leases ok\n[+]caches excluded: ok\nwarn: no check of the name "other" to exclude\nreadyz check passed\n',
  },
  { path: "/readyz/nothing", status: 404, body: "not found\n" },
  { path: "/readyz/leases/more", status: 404, body: "not found\n" },
  { path: "/", status: 404, body: "not found\n" },
  { path: "//", status: 404, body: "not found\n" },
])("GET $path answers $status", async ({ path, status, body }) => {
  const { get } = await serve(CHECKS);
  expect(await get(path)).toEqual({ status, body });
});

test("a check that throws fails its probe and lets the others be asked", async () => {
  const broken = {
    name: "broken",
    check: (): undefined => {
      throw new TypeError("secret");
    },
  };
  const { get } = await serve({ livez: [broken, well("after")] });
  const { status, body } = await get("/livez");
  expect(status).toBe(500);
  expect(body).toBe("[+]ping ok\n[-]broken failed: check threw TypeError\n[+]after ok\nlivez check failed\n");
});

test("other methods are refused", async () => {
  const { get } = await serve();
  expect((await get("/livez", "POST")).status).toBe(405);
  expect(await get("/livez", "HEAD")).toEqual({ status: 200, body: "" });
});

test("metrics come in Prometheus' format", async () => {
  const registry = new Registry();
  new Counter({ name: "things_total", help: "Things.", registers: [registry] }).inc(3);
  const { url } = await serve({}, registry);
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await response.text()).toContain("\nthings_total 3\n");
});

test("a registry that fails is a 500, and the server lives on", async () => {
  const registry = new Registry();
  registry.metrics = () => Promise.reject(new Error("collect failed"));
  const { get } = await serve({}, registry);
  expect((await get("/metrics")).status).toBe(500);
  expect((await get("/livez")).status).toBe(200);
});

test("a request target that is no URL is a 404 and not a crash", async () => {
  const { server, get } = await serve();
  const socket = connect(server.port, "127.0.0.1");
  socket.write("GET http://[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  expect(answer).toMatch(/^HTTP\/1.1 404 /);
  expect((await get("/livez")).status).toBe(200);
});

test("a close is not held up by connections that ask nothing", async () => {
  const { server, get } = await serve();
  await get("/livez");
  const silent = connect(server.port, "127.0.0.1");
  await new Promise((resolve) => silent.once("connect", resolve));
  await get("/livez");
  silent.on("error", () => undefined);
  await server.close();
  await expect(get("/livez")).rejects.toThrow();
  await server.close();
});

test("a port in use is an error of listen", async () => {
  const { server } = await serve();
  const second = new HealthServer({ port: server.port, host: "127.0.0.1", registry: new Registry() });
  await expect(second.listen()).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("an event loop that is late by more than ten seconds is not alive, until it is on time again", () => {
  const clock = new FakeClock();
  // What a stall looks like from inside: the clock has moved, the timer has not fired.
  let stalledMs = 0;
  const lag = new EventLoopLag({
    monotonicMs: () => clock.monotonicMs() + stalledMs,
    wallNow: () => clock.wallNow(),
    after: (ms, task) => clock.after(ms, task),
  });
  lag.start();
  clock.advance(60_000);
  expect(lag.check()).toBeUndefined();
  stalledMs = 11_000;
  expect(lag.check()).toBeUndefined();
  stalledMs = 11_001;
  expect(lag.check()).toBe("event loop late by 10001 ms");
  clock.advance(1000);
  expect(lag.check()).toBe("event loop late by 11001 ms");
  clock.advance(1000);
  expect(lag.check()).toBeUndefined();
  lag.stop();
  expect(clock.pending).toBe(0);
});
