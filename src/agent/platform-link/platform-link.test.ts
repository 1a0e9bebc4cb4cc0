import { expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import type { Attempt } from "../../api-client/client.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { context } from "../testing/sample.ts";
import { PlatformLink } from "./platform-link.ts";
import type { Trouble } from "./platform-trouble.ts";

function link() {
  const clock = new FakeClock();
  const told: string[] = [];
  const skews: number[] = [];
  const expiries: (string | undefined)[] = [];
  const metrics = {
    attempted: () => undefined,
    connection: (channel: string, result: string) => void told.push(`${channel} ${result}`),
    backingOff: () => undefined,
    clockSkew: (seconds: number) => void skews.push(seconds),
    keyExpires: (at: Date | undefined) => void expiries.push(at?.toISOString()),
  };
  const explain = async ({ code = "" }: Attempt): Promise<Trouble> => ({
    reason: "PlatformUnreachable",
    message: code,
  });
  const each = new PlatformLink({ clock, random: () => 0, log: silentLogger, metrics, explain });
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
      header: () => undefined,
      ...more,
    });
  return { link: each, clock, told, skews, expiries, attempt };
}

test("a change of the connection is logged once, and its return triggers every listener", () => {
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

test("the budget of one deployment that is used up holds up no other", () => {
  const { link: each, attempt } = link();
  attempt(429, { retryAfterMs: 60_000, budget: "deployment-told-bytes" });
  expect(each.heldForMs()).toBe(0);
});

test("the clock is told by every answer, also by a refusal; the key's end only where the key was good", () => {
  const { skews, expiries, clock, attempt } = link();
  const now = clock.wallNow().getTime();
  const headers = (date: number, expires?: string): Partial<Attempt> => ({
    header: (name) => ({ date: new Date(date).toUTCString(), "sallyport-key-expires-at": expires })[name],
  });
  attempt(401, headers(now + 600_000));
  attempt(200, headers(now, "2026-03-01T00:00:00.000Z"));
  attempt(200, headers(now));
  attempt(0);
  expect(skews.map((skew) => Math.round(skew))).toEqual([601, 1, 1]);
  expect(expiries).toEqual(["2026-03-01T00:00:00.000Z", undefined]);
});

test("what fails for the platform's absence waits for it, and what fails for itself is a failure", async () => {
  const { link: each, attempt } = link();
  const away = new ApiError("NETWORK_ERROR", "away", { status: 0, retryable: true });
  const refused = new ApiError("CONFLICT", "no", { status: 409, retryable: false });
  const failing = (error: Error) => each.politely(() => Promise.reject(error))("key", context);
  attempt(200);
  await expect(failing(away)).rejects.toThrow("away");
  attempt(0, { code: "NETWORK_ERROR" });
  expect(await failing(away)).toEqual({ requeueAfterMs: 15_000 });
  await expect(failing(refused)).rejects.toThrow("no");
});

test("an outage is one trouble until its cause changes, and none when it is over", async () => {
  const { link: each, clock, attempt } = link();
  const told: (string | undefined)[] = [];
  each.onTrouble(() => told.push(each.trouble?.message));
  attempt(200);
  for (let times = 0; times < 3; times += 1) {
    attempt(0, { code: "ONE" });
    attempt(0, { code: "ONE", route: "work" });
    await settled();
  }
  attempt(0, { code: "TWO" });
  await settled();
  clock.advance(30_000);
  attempt(0, { code: "TWO" });
  await settled();
  attempt(200, { route: "work" });
  expect(each.trouble?.message).toBe("TWO");
  attempt(200);
  expect(told).toEqual([undefined, "ONE", "TWO", undefined]);
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("without a key there is a trouble that no attempt told of, until one succeeds", async () => {
  const { link: each, attempt } = link();
  const noKey = { reason: "KeyRefused", message: "mount one" } as const;
  each.cannotAsk(noKey);
  expect(each.trouble).toEqual(noKey);
  const waits = each.politely(async () => {
    throw new ApiError("NO_KEY", "none yet", { status: 0, retryable: false });
  });
  expect(await waits("key", context)).toEqual({ requeueAfterMs: 15_000 });
  attempt(200);
  expect(each.trouble).toBeUndefined();
});
