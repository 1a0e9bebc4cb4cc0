import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { DebugSession } from "../../crds/kinds/debug-session.ts";
import { noteAnswer } from "../requests/lacking-rule.ts";
import type { Subject } from "../requests/subject.ts";
import { SessionReport } from "./session-report.ts";

const subject = (verb: Subject["verb"], group: string, resource: string): Subject => ({
  ...{ verb, group, version: "v1", resource, namespace: "shop" },
});
const [PODS, METRICS] = [subject("list", "", "pods"), subject("list", "metrics.k8s.io", "pods")];

/** A session's report, told every ten seconds, in front of an API server with these rules. */
async function reporting() {
  const clock = new FakeClock("2026-01-01T12:00:00Z");
  const stop = new AbortController();
  const taken = new Set<string>();
  let asked = 0;
  let isAway = false;
  const told: (string | undefined)[] = [];
  const report = new SessionReport({ status: {} } as DebugSession, {
    ...{ identity: "tunnel-1", key: "k", clock, log: silentLogger, durable: () => undefined },
    status: { write: async ({ forbidden }) => void told.push(forbidden) },
    ...{ onTakenOver: () => undefined, onGone: () => undefined },
  });
  const authorizer = {
    selfSubjectAccessReview: async (right: object) => {
      asked += 1;
      if (isAway) throw new Error("away");
      const { verb, group, resource } = right as Subject;
      return !taken.has(`${verb} ${group} ${resource}`);
    },
  };
  const running = report.run(() => authorizer, stop.signal);
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  };
  await turns();
  return {
    taken,
    /** What is said at the next report, and how many questions it took. */
    async next(...refused: readonly Subject[]) {
      for (const each of refused) noteAnswer(report.counts, each, 403);
      asked = 0;
      clock.advance(10_000);
      await turns();
      return [told.at(-1), asked];
    },
    lose: (lost: boolean) => {
      isAway = lost;
    },
    async stop() {
      stop.abort(new Error("over"));
      await running;
    },
  };
}

test("a rule is said to be missing while the API server says so, however it was refused and whatever is asked for", async () => {
  const world = await reporting();
  // The backend of an aggregated API, or a server that has just started, has refused.
  expect(await world.next(METRICS)).toEqual([undefined, 1]);
  expect(await world.next()).toEqual([undefined, 0]);
  world.taken.add("list  pods");
  expect(await world.next(PODS)).toEqual(["list pods", 1]);
  // It stays so without a request, and beside one that was refused for another reason.
  expect(await world.next()).toEqual(["list pods", 1]);
  expect(await world.next(METRICS)).toEqual(["list pods", 2]);
  world.lose(true);
  expect(await world.next(METRICS)).toEqual(["list pods", 1]);
  world.lose(false);
  world.taken.clear();
  expect(await world.next()).toEqual([undefined, 1]);
  world.taken.add("list metrics.k8s.io pods");
  expect(await world.next(METRICS)).toEqual(["list pods.metrics.k8s.io", 1]);
  await world.stop();
});
