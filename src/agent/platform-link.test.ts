import { expect, test } from "vitest";
import type { Attempt } from "../api-client/client.ts";
import { silentLogger } from "../kube/log.ts";
import { FakeClock } from "../kube/testing/fake-clock.ts";
import { PlatformLink } from "./platform-link.ts";
import { context } from "./testing/sample.ts";

function link() {
  const clock = new FakeClock();
  const told: string[] = [];
  const metrics = {
    attempted: () => undefined,
    connection: (channel: string, result: string) => void told.push(`${channel} ${result}`),
    backingOff: () => undefined,
    clockSkew: () => undefined,
  };
  const each = new PlatformLink({ clock, log: silentLogger, metrics });
  each.onRecovered(() => told.push("recovered"));
  const attempt = (status: number, more: Partial<Attempt> = {}): void =>
    each.observe({
      area: "sync",
      route: "list",
      status,
      code: undefined,
      retryAfterMs: undefined,
      durationMs: 1,
      sentBytes: 0,
      receivedBytes: 0,
      ...more,
    });
  return { link: each, clock, told, attempt };
}

test("a change of the connection is told once, and finding it again wakes everybody", () => {
  const { told, attempt } = link();
  for (const status of [200, 200, 404, 0, 503, 401, 200, 200]) attempt(status);
  expect(told).toEqual(["sync connected", "sync failed", "sync connected", "recovered"]);
});

test("a refusal is a connection, the long-poll is a channel of its own", () => {
  const { told, attempt } = link();
  attempt(409);
  attempt(0, { route: "work", code: "TRUNCATED_RESPONSE" });
  expect(told).toEqual(["sync connected", "work closed"]);
});

test("while the platform wants to be left alone, nothing is reconciled; after that everything is", async () => {
  const { link: each, clock, attempt } = link();
  let runs = 0;
  const reconcile = each.politely(async () => {
    runs += 1;
  });
  attempt(503, { retryAfterMs: 30_000 });
  expect(await reconcile("k", context)).toEqual({ requeueAfterMs: 30_000 });
  clock.advance(29_999);
  expect(await reconcile("k", context)).toEqual({ requeueAfterMs: 1 });
  expect(runs).toBe(0);
  clock.advance(1);
  await reconcile("k", context);
  expect(runs).toBe(1);
});

test("an endless Retry-After is believed for 15 minutes", () => {
  const { link: each, attempt } = link();
  attempt(429, { retryAfterMs: 1e12 });
  expect(each.heldForMs()).toBe(900_000);
});
