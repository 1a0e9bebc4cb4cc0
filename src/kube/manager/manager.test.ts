import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { settle } from "../../base/testing/settle.ts";
import { LeadershipLostError } from "../election/leader-election.ts";
import type { HealthCheck, Probe } from "./health.ts";
import { Manager, type ManagerOptions } from "./manager.ts";

/** Parts that write down when they are started, asked to stop, and stopped. */
class Parts {
  readonly clock = new FakeClock();
  readonly story: string[] = [];
  readonly checks: { readonly probe: Probe; readonly check: HealthCheck }[] = [];
  readonly #ends = new Map<string, { readonly end: () => void; readonly fail: (error: unknown) => void }>();
  /** Names of parts that end only when the test says so. */
  readonly stubborn = new Set<string>();
  isSynced = false;
  readonly #synced = Promise.withResolvers<void>();
  lead: () => void = () => undefined;

  part(name: string): { readonly name: string; run(signal: AbortSignal): Promise<void> } {
    return {
      name,
      run: async (signal) => {
        this.story.push(`${name} starts`);
        const ended = Promise.withResolvers<void>();
        this.#ends.set(name, { end: ended.resolve, fail: ended.reject });
        signal.addEventListener("abort", () => {
          this.story.push(`${name} is asked to stop`);
          // A tick later: a stop that does not wait is seen.
          if (!this.stubborn.has(name)) setImmediate(ended.resolve);
        });
        await ended.promise;
        this.story.push(`${name} ends`);
      },
    };
  }

  end(name: string): void {
    this.#ends.get(name)?.end();
  }

  fail(name: string, error: unknown): void {
    this.#ends.get(name)?.fail(error);
  }

  sync(): void {
    this.isSynced = true;
    this.#synced.resolve();
  }

  readonly health: NonNullable<ManagerOptions["health"]> = {
    addCheck: (probe, check) => void this.checks.push({ probe, check }),
    listen: async () => void this.story.push("health starts"),
    close: async () => {
      if (this.story.includes("health starts") && !this.story.includes("health ends")) this.story.push("health ends");
    },
  };

  readonly elector: NonNullable<ManagerOptions["leaderElection"]> = {
    check: () => undefined,
    run: async (onLead, signal) => {
      this.story.push("election starts");
      const lost = Promise.withResolvers<never>();
      this.#ends.set("election", { end: () => undefined, fail: lost.reject });
      const aborted = new Promise<"stop">((resolve) => signal.addEventListener("abort", () => resolve("stop")));
      const leads = new Promise<"lead">((resolve) => {
        this.lead = () => resolve("lead");
      });
      if ((await Promise.race([aborted, leads, lost.promise])) === "lead") {
        const term = new AbortController();
        signal.addEventListener("abort", () => term.abort());
        await Promise.race([onLead(term.signal), lost.promise]);
        this.story.push("lease is given back");
      }
      this.story.push("election ends");
    },
  };

  manager(options: Partial<ManagerOptions> = {}): { readonly stop: () => void; readonly ended: Promise<unknown> } {
    const events = this.part("events");
    const { health, elector } = this;
    const manager = new Manager({
      clock: this.clock,
      log: silentLogger,
      health,
      leaderElection: elector,
      events,
      ...options,
    });
    const isSynced = (): boolean => this.isSynced;
    const cache = this.part("cache");
    const whenSettled = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        void this.#synced.promise.then(resolve);
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    const resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
    manager.addInformer({
      resource,
      run: cache.run,
      whenSettled,
      refusal: undefined,
      get synced() {
        return isSynced();
      },
    });
    manager.addController({ ...this.part("controller"), needsLeader: true });
    manager.addRunnable({ ...this.part("other"), needsLeader: false });
    const abort = new AbortController();
    const ended = manager.run(abort.signal).then(
      () => "returned",
      (error: unknown) => error,
    );
    onTestFinished(async () => {
      abort.abort();
      for (const name of this.#ends.keys()) this.end(name);
      await settle();
      this.clock.advance(30_000);
      await settle();
      expect(this.clock.pending, "timers left after the stop").toBe(0);
    });
    return { stop: () => abort.abort("stop"), ended };
  }
}

const STARTED = [
  "health starts",
  "events starts",
  "cache starts",
  "other starts",
  "election starts",
  "controller starts",
];

async function leading(options?: Partial<ManagerOptions>) {
  const parts = new Parts();
  const manager = parts.manager(options);
  parts.sync();
  await settle();
  parts.lead();
  await settle();
  expect(parts.story).toEqual(STARTED);
  parts.story.length = 0;
  parts.story.push("health starts");
  return { parts, ...manager, since: () => parts.story.slice(1) };
}

test("parts start one after another: caches only once synced, controllers only when leading", async () => {
  const parts = new Parts();
  parts.manager();
  await settle();
  expect(parts.story).toEqual(STARTED.slice(0, 3));
  parts.sync();
  await settle();
  expect(parts.story).toEqual(STARTED.slice(0, 5));
  parts.lead();
  await settle();
  expect(parts.story).toEqual(STARTED);
});

test("parts stop one after another, each waited for, the lease given back late and events last", async () => {
  const { stop, ended, since } = await leading();
  stop();
  expect(await ended).toBe("returned");
  expect(since()).toEqual([
    ...["other is asked to stop", "other ends"],
    ...["controller is asked to stop", "controller ends"],
    ...["cache is asked to stop", "cache ends"],
    "health ends",
    ...["lease is given back", "election ends"],
    ...["events is asked to stop", "events ends"],
  ]);
});

test("a standby stops without having led, and does not begin to", async () => {
  const parts = new Parts();
  const { stop, ended } = parts.manager();
  parts.sync();
  await settle();
  stop();
  parts.lead();
  expect(await ended).toBe("returned");
  expect(parts.story).not.toContain("controller starts");
});

test("without an election the controllers start once the caches are synced", async () => {
  const parts = new Parts();
  const manager = new Manager({ clock: parts.clock, log: silentLogger });
  manager.addRunnable(parts.part("worker"));
  const abort = new AbortController();
  const ended = manager.run(abort.signal);
  await settle();
  expect(parts.story).toEqual(["worker starts"]);
  abort.abort();
  await ended;
  expect(parts.story).toEqual(["worker starts", "worker is asked to stop", "worker ends"]);
  expect(parts.clock.pending).toBe(0);
});

test("a stop while the caches sync is no error", async () => {
  const parts = new Parts();
  const { stop, ended } = parts.manager();
  await settle();
  stop();
  expect(await ended).toBe("returned");
  expect(parts.story).not.toContain("other starts");
});

test("a part that fails stops the others in order and is what run throws", async () => {
  const { parts, ended, since } = await leading();
  const error = new Error("controller failed");
  parts.fail("controller", error);
  expect(await ended).toBe(error);
  expect(since().slice(0, 2)).toEqual(["other is asked to stop", "other ends"]);
  expect(since()).toContain("events ends");
});

test("a part that returns early stops no other part", async () => {
  const { parts, ended, since, stop } = await leading();
  parts.end("other");
  await settle();
  expect(since()).toEqual(["other ends"]);
  stop();
  expect(await ended).toBe("returned");
});

test("a lost lease ends the run at once, without waiting for workers", async () => {
  const { parts, ended, since } = await leading();
  parts.stubborn.add("controller");
  const lost = new LeadershipLostError("lease not renewed");
  parts.fail("election", lost);
  expect(await ended).toBe(lost);
  expect(since()).toContain("controller is asked to stop");
  expect(since()).not.toContain("controller ends");
  expect(since()).not.toContain("lease is given back");
});

test("a part that fails while the others stop is logged, because no caller is left to throw to", async () => {
  const warnings: object[] = [];
  const log = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
  const { parts, stop, ended } = await leading({ log });
  parts.stubborn.add("other");
  stop();
  await settle();
  const error = new Error("cache broke");
  parts.fail("cache", error);
  await settle();
  expect(warnings).toEqual([{ err: error }]);
  parts.end("other");
  expect(await ended).toBe("returned");
});

test("a worker that does not stop costs the grace period and the lease is not given back", async () => {
  const { parts, stop, ended, since } = await leading();
  parts.stubborn.add("controller");
  stop();
  await settle();
  parts.clock.advance(29_999);
  await settle();
  expect(since().at(-1)).toBe("controller is asked to stop");
  parts.clock.advance(1);
  expect(await ended).toMatchObject({
    message: "not stopped within 30 s: controller, pods, leader election, event recorder",
  });
  await settle();
  expect(since()).not.toContain("lease is given back");
  expect(since()).toContain("events is asked to stop");
});

test("a server that cannot listen is what run throws, and nothing else was started", async () => {
  const parts = new Parts();
  const error = new Error("port in use");
  const { ended } = parts.manager({ health: { ...parts.health, listen: () => Promise.reject(error) } });
  expect(await ended).toBe(error);
  expect(parts.story).toEqual([]);
});

test("readiness follows the caches, liveness the event loop and the lease; neither asks the API server", async () => {
  const parts = new Parts();
  parts.manager();
  expect(parts.checks.map(({ probe, check }) => `${probe}/${check.name}`)).toEqual([
    "livez/event-loop",
    "livez/leader-election",
    "readyz/caches",
  ]);
  const caches = parts.checks.at(-1)?.check;
  expect(caches?.check()).toBe("not synced: pods");
  parts.sync();
  expect(caches?.check()).toBeUndefined();
  await settle();
});
