import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { ReaderAccess } from "./reader-access.ts";

const signal = new AbortController().signal;

/** Knows the tokens that begin with `good` and `poor`; only the users of the first may read. */
class Reviews {
  tokens: string[] = [];
  isAway = false;

  tokenReview = async (token: string) => {
    this.tokens.push(token);
    if (this.isAway) throw new Error("away");
    const [username = ""] = token.split("-");
    return /^(good|poor)/.test(token) ? { username, extra: { scope: [token] } } : undefined;
  };

  subjectAccessReview = async (subject: object, attributes: object) => {
    expect(attributes).toEqual({ verb: "get", path: "/metrics" });
    return JSON.stringify(subject).includes('"user":"good"') && "extra" in subject;
  };
}

function world() {
  const reviews = new Reviews();
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const access = new ReaderAccess({ client: reviews, clock, log: silentLogger });
  const ask = (token: string | undefined, address = "10.0.0.1") =>
    access.answer("/metrics", token === undefined ? undefined : `Bearer ${token}`, address, signal);
  return { reviews, clock, access, ask };
}

test("who has no token is not asked about; the others are by their token and their right", async () => {
  const { reviews, access, ask } = world();
  expect(await ask(undefined)).toBe(401);
  expect(await access.answer("/metrics", "Basic Z29vZDp4", "10.0.0.1", signal)).toBe(401);
  expect(reviews.tokens).toEqual([]);
  expect([await ask("bad"), await ask("poor"), await ask("good")]).toEqual([401, 403, 200]);
});

test("a yes counts for a minute, a no for ten seconds", async () => {
  const { reviews, clock, ask } = world();
  await ask("good");
  await ask("bad");
  clock.advance(9_999);
  await ask("good");
  await ask("bad");
  expect(reviews.tokens).toEqual(["good", "bad"]);
  clock.advance(1);
  await ask("bad");
  clock.advance(49_999);
  await ask("good");
  expect(reviews.tokens).toEqual(["good", "bad", "bad"]);
  clock.advance(1);
  await ask("good");
  expect(reviews.tokens).toEqual(["good", "bad", "bad", "good"]);
});

test("requests with one token at once are one question", async () => {
  const { reviews, ask } = world();
  expect(await Promise.all(Array.from({ length: 50 }, () => ask("good")))).toEqual(Array(50).fill(200));
  expect(reviews.tokens).toHaveLength(1);
});

test("a flood from one address costs five questions and one a second, from many twenty and five", async () => {
  const { reviews, clock, ask } = world();
  const flood = async (name: string, address: (index: number) => string) => {
    const before = reviews.tokens.length;
    for (let index = 0; index < 500; index += 1) await ask(`${name}-${index}`, address(index));
    return reviews.tokens.length - before;
  };
  expect(await flood("a", () => "10.0.0.9")).toBe(5);
  clock.advance(1_000);
  expect(await flood("b", () => "10.0.0.9")).toBe(1);
  clock.advance(60_000);
  expect(await flood("c", (index) => `10.0.1.${index}`)).toBe(20);
  clock.advance(1_000);
  expect(await flood("d", (index) => `10.0.2.${index}`)).toBe(5);
});

test("a reader that was let in is let in again amid a flood", async () => {
  const { clock, ask } = world();
  expect(await ask("good")).toBe(200);
  for (let second = 0; second < 180; second += 1) {
    clock.advance(1_000);
    for (let index = 0; index < 50; index += 1) await ask(`bad-${second}-${index}`, `10.1.${second}.${index}`);
    expect(await ask("good")).toBe(200);
  }
  expect(await ask("good-2", "10.9.9.9")).toBe(429);
});

test("an API server that does not answer lets nobody in, is not remembered, and is limited too", async () => {
  const { reviews, clock, ask } = world();
  expect(await ask("good")).toBe(200);
  reviews.isAway = true;
  clock.advance(60_000);
  expect(await ask("good")).toBe(503);
  for (let index = 0; index < 100; index += 1) await ask("good");
  expect(reviews.tokens.length).toBe(1 + 20);
  reviews.isAway = false;
  clock.advance(1_000);
  expect(await ask("good")).toBe(200);
});

test("a right that was taken away ends a reader's own share", async () => {
  const { reviews, clock, ask } = world();
  expect(await ask("good")).toBe(200);
  reviews.subjectAccessReview = async () => false;
  clock.advance(60_000);
  expect(await ask("good")).toBe(403);
  clock.advance(10_000);
  for (let index = 0; index < 20; index += 1) await ask(`bad-${index}`, "10.0.0.1");
  expect(await ask("good")).toBe(429);
});
