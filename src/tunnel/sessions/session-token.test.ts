import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { Connection } from "../../kube/client/connection.ts";
import { refusal } from "../testing/session-world.ts";
import { SessionToken } from "./session-token.ts";

const FORBIDDEN = refusal(403, "Forbidden");
const AWAY = refusal(503, "ServiceUnavailable");

/** A token whose API server gives these answers, then the last one for ever; undefined: it gives a token. */
function tokenOf(...answers: readonly (Error | undefined)[]) {
  const clock = new FakeClock("2026-01-01T12:00:00Z");
  const stop = new AbortController();
  const asked: number[] = [];
  const connection = { withToken: () => connection } as unknown as Connection;
  const createToken = async () => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(clock.monotonicMs());
    if (answer !== undefined) throw answer;
    return { token: "t" } as never;
  };
  const account = { namespace: "sallyport-debug", name: "debug-1" };
  const token = new SessionToken({
    ...{ client: { createToken }, connection, account, leftSeconds: () => 600, clock, log: silentLogger },
  });
  /** How it ends, and after how many ms; undefined: it goes on after `limitMs`. */
  const outcome = async <T>(work: Promise<T>, limitMs: number) => {
    let found: { readonly value: T; readonly afterMs: number } | undefined;
    const startMs = clock.monotonicMs();
    const done = work.then((value) => {
      found = { value, afterMs: clock.monotonicMs() - startMs };
    });
    for (;;) {
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      if (found !== undefined || clock.monotonicMs() - startMs >= limitMs) break;
      clock.advance(500);
    }
    if (found === undefined) stop.abort(new Error("over"));
    await done;
    return clock.monotonicMs() - startMs >= limitMs ? undefined : found;
  };
  return {
    first: () => outcome(token.first(stop.signal), 60_000),
    run: () => outcome(token.run(stop.signal), 600_000),
  };
}

test.each([
  ["an API server that has just started", [FORBIDDEN, FORBIDDEN, undefined], { value: true, afterMs: 4_000 }],
  ["a right that is gone", [FORBIDDEN], { value: false, afterMs: 10_000 }],
  ["an account that is gone", [refusal(404, "NotFound")], { value: false, afterMs: 0 }],
  [
    "an API server that is away between two refusals",
    [FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN, AWAY, FORBIDDEN, FORBIDDEN, undefined],
    { value: true, afterMs: 14_000 },
  ],
])("the first token: %s", async (_, answers, expected) => {
  expect(await tokenOf(...answers).first()).toEqual(expected);
});

test("a renewal that is refused is tried again for ten seconds, then the session has no account any more", async () => {
  const refused = tokenOf(undefined, FORBIDDEN);
  expect(await refused.first()).toMatchObject({ value: true });
  expect(await refused.run()).toMatchObject({ afterMs: 410_000 });
  const restarted = tokenOf(undefined, FORBIDDEN, undefined);
  expect(await restarted.first()).toMatchObject({ value: true });
  expect(await restarted.run()).toBeUndefined();
});
