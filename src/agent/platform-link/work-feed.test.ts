import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { DEPLOYMENT } from "../testing/sample.ts";
import { ReconnectRule } from "./reconnect-rule.ts";
import { WorkFeed } from "./work-feed.ts";

type Answer = { readonly cursor: unknown; readonly topics: unknown };

const ID = `mgr_${"m".repeat(28)}`;
let clock: FakeClock;
let stop: AbortController;
let seen: string[];
let asked: { readonly wait?: number; readonly cursor?: string }[];
/** Answers of the platform, in order; a function is called when its turn comes. */
let answers: (Answer | Error | (() => Promise<Answer>))[];
let done: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  stop = new AbortController();
  seen = [];
  asked = [];
  answers = [];
});
afterEach(async () => {
  stop.abort(new Error("test over"));
  await done;
  expect(clock.pending).toBe(0);
});

/** Promise callbacks only: what waits for the clock waits on. */
async function settle(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
}
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await settle();
}

async function start(random = 0.5): Promise<void> {
  const feed = new WorkFeed({
    platform: {
      work: async (args, signal) => {
        asked.push(args.query ?? {});
        const answer = answers.shift();
        // No answer: held until the end.
        if (answer === undefined)
          return new Promise((_, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
          );
        if (answer instanceof Error) throw answer;
        return (typeof answer === "function" ? await answer() : answer) as never;
      },
    },
    identity: { resolve: async () => ID },
    clock,
    random: () => random,
    rule: new ReconnectRule(clock, () => random),
    log: silentLogger,
    metrics: { backingOff: () => undefined },
    pollIntervalMs: 10_000,
    changed: (topic, deploymentId) => void seen.push(`${topic} ${deploymentId}`),
    relistAll: () => void seen.push("all"),
  });
  done = feed.run(stop.signal);
  await settle();
}

const network = (code = "NETWORK_ERROR", detail = "ECONNREFUSED"): ApiError =>
  new ApiError(code, `x: ${detail}`, { status: 0, retryable: true });

describe("the work feed", () => {
  test("asks without waiting at first, then waits with the cursor it was given", async () => {
    answers = [
      { cursor: "c1", topics: [{ topic: "commands", deploymentId: DEPLOYMENT }] },
      { cursor: "c2", topics: [] },
    ];
    await start();
    expect(seen).toEqual([`commands ${DEPLOYMENT}`]);
    await pass(50);
    expect(asked).toEqual([{ wait: 0 }, { wait: 25, cursor: "c1" }]);
  });

  test("comes back after up to half a minute when an empty answer ends early: the platform drains", async () => {
    answers = [
      { cursor: "c1", topics: [] },
      { cursor: "c2", topics: [] },
    ];
    await start();
    await pass(50);
    expect(asked).toHaveLength(2);
    await pass(14_999);
    expect(asked).toHaveLength(2);
    await pass(1);
    expect(asked).toHaveLength(3);
  });

  test("backs off when the platform is away, and goes on when it is back", async () => {
    answers = [network(), network(), { cursor: "c", topics: [] }];
    await start();
    await pass(499);
    expect(asked).toHaveLength(1);
    await pass(1);
    expect(asked).toHaveLength(2);
    await pass(1_000);
    expect(asked).toHaveLength(3);
  });

  test("spreads over half a minute when a standing connection was closed", async () => {
    answers = [network("NETWORK_ERROR", "UND_ERR_SOCKET")];
    await start();
    await pass(14_999);
    expect(asked).toHaveLength(1);
    await pass(1);
    expect(asked).toHaveLength(2);
  });

  test("polls a platform that has none, and asks again after twenty polls", async () => {
    answers = [new ApiError("ROUTE_NOT_FOUND", "no such path", { status: 404, retryable: false })];
    await start();
    expect(seen).toEqual(["all"]);
    for (let n = 0; n < 19; n += 1) await pass(10_000);
    expect(seen).toHaveLength(20);
    expect(asked).toHaveLength(1);
    await pass(10_000);
    expect(asked).toHaveLength(2);
  });

  test("takes no harm from an answer of any shape", async () => {
    answers = [
      { cursor: 7, topics: null },
      {
        cursor: "c",
        topics: [null, {}, { topic: 1, deploymentId: 2 }, { topic: "x", deploymentId: "y".repeat(1_000) }],
      },
    ];
    await start();
    await pass(50);
    expect(seen).toEqual([]);
    expect(asked).toEqual([{ wait: 0 }, { wait: 0 }]);
  });

  test("never runs hot on a platform that always has news", async () => {
    const news = { cursor: "c", topics: [{ topic: "commands", deploymentId: DEPLOYMENT }] };
    answers = Array.from({ length: 100 }, () => news);
    await start();
    for (let n = 0; n < 100; n += 1) await pass(10);
    expect(asked.length).toBeLessThanOrEqual(21);
  });
});
