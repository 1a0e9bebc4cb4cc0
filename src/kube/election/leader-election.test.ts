import fc from "fast-check";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import type { Clock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { settle } from "../../base/testing/settle.ts";
import { kubeMetrics } from "../metrics/kube-metrics.ts";
import { FakeLeases, type Fate } from "../testing/fake-leases.ts";
import { LeaderElector, type LeaderElectorOptions, LeadershipLostError } from "./leader-election.ts";
import { type Lease, taken } from "./lease.ts";

interface Candidate {
  readonly elector: LeaderElector;
  readonly ended: Promise<unknown>;
  readonly stop: () => void;
  /** Lets the leader's work end. */
  readonly finish: () => void;
  readonly leadership: () => AbortSignal | undefined;
  readonly metrics: Registry;
}

const DOWN: Fate = { thereMs: 0, backMs: 0, lost: "request" };
const QUICK: Fate = { thereMs: 0, backMs: 0, lost: "never" };

function candidate(
  leases: FakeLeases,
  clock: Clock,
  identity: string,
  options: Partial<LeaderElectorOptions> & { readonly fate?: () => Fate } = {},
): Candidate {
  const metrics = new Registry();
  const { fate, ...rest } = options;
  const elector = new LeaderElector({
    client: leases.client(fate),
    namespace: "ns",
    name: "lock",
    identity,
    clock,
    log: silentLogger,
    metrics: kubeMetrics(metrics),
    random: () => 0,
    ...rest,
  });
  const abort = new AbortController();
  const work = Promise.withResolvers<void>();
  let leadership: AbortSignal | undefined;
  const ended = elector
    .run((signal) => {
      leadership = signal;
      return work.promise;
    }, abort.signal)
    .then(
      () => "returned",
      (error: unknown) => error,
    );
  onTestFinished(async () => {
    abort.abort();
    work.resolve();
    await settle();
  });
  return {
    elector,
    ended,
    metrics,
    stop: () => abort.abort("stop"),
    finish: work.resolve,
    leadership: () => leadership,
  };
}

function isFenced({ elector }: Candidate): boolean {
  try {
    elector.fence();
    return false;
  } catch {
    return true;
  }
}

function world(): { readonly clock: FakeClock; readonly leases: FakeLeases; advance(ms: number): Promise<void> } {
  const clock = new FakeClock();
  const leases = new FakeLeases(clock);
  // In steps, because a request's answer must be able to arm the next timer in time.
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      clock.advance(Math.min(left, 500));
      await settle();
    }
  };
  return { clock, leases, advance };
}

test("the first creates the lease in the API server's format", async () => {
  const { clock, leases } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  expect(a.elector.isLeader).toBe(true);
  expect(leases.lease).toMatchObject({ apiVersion: "coordination.k8s.io/v1", kind: "Lease" });
  expect(leases.lease?.spec).toEqual({
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 0,
  });
  expect(await a.metrics.metrics()).toContain('leader_election_master_status{name="lock"} 1');
});

test("a renewal is one request every two seconds and moves renewTime only", async () => {
  const { clock, leases, advance } = world();
  candidate(leases, clock, "a");
  await settle();
  leases.requests.length = 0;
  await advance(6000);
  expect(leases.requests).toEqual(["replace", "replace", "replace"]);
  expect(leases.lease?.spec).toMatchObject({
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:06.000000Z",
    leaseTransitions: 0,
  });
});

test("a second waits as long as the first renews", async () => {
  const { clock, leases, advance } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  const b = candidate(leases, clock, "b");
  await advance(60_000);
  expect([a.elector.isLeader, b.elector.isLeader]).toEqual([true, false]);
  expect([isFenced(a), isFenced(b)]).toEqual([false, true]);
  b.stop();
  expect(await b.ended).toBe("returned");
});

test("after the first dies the second waits a whole lease from the last change that it saw, then takes over", async () => {
  const { clock, leases, advance } = world();
  let network = QUICK;
  const a = candidate(leases, clock, "a", { fate: () => network });
  await settle();
  await advance(30_000);
  network = DOWN;
  // A lease last renewed long ago by its own renewTime is not expired: this clock has only just seen it.
  const b = candidate(leases, clock, "b");
  await advance(14_500);
  expect(b.elector.isLeader).toBe(false);
  await advance(2000);
  expect(b.elector.isLeader).toBe(true);
  expect(leases.lease?.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  expect(await a.ended).toBeInstanceOf(LeadershipLostError);
});

test("a leader that cannot renew is told after ten seconds and fenced from then on", async () => {
  const { clock, leases, advance } = world();
  let network = QUICK;
  const a = candidate(leases, clock, "a", { fate: () => network });
  await settle();
  network = DOWN;
  await advance(9500);
  expect(a.leadership()?.aborted).toBe(false);
  expect(isFenced(a)).toBe(false);
  await advance(500);
  expect(a.leadership()?.reason).toBeInstanceOf(LeadershipLostError);
  expect(isFenced(a)).toBe(true);
  expect(await a.ended).toBeInstanceOf(LeadershipLostError);
  expect(await a.metrics.metrics()).toContain('leader_election_master_status{name="lock"} 0');
  expect(clock.pending).toBe(0);
});

test("the fence refuses 13 seconds after the last renewal was sent, even in a process whose timers stand still", async () => {
  const { clock, leases } = world();
  const frozen: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    wallNow: () => clock.wallNow(),
    after: () => () => undefined,
  };
  const a = candidate(leases, frozen, "a", { fate: () => ({ thereMs: 1000, backMs: 3000, lost: "never" }) });
  await settle();
  for (let i = 0; i < 8; i++) {
    clock.advance(1000);
    await settle();
  }
  // Get at 0 (answer at 4 s), create sent at 4 s; what counts is the first of the two.
  expect(a.elector.isLeader).toBe(true);
  clock.advance(4999);
  expect(isFenced(a)).toBe(false);
  clock.advance(1);
  expect(isFenced(a)).toBe(true);
});

test("one failed renewal is no loss: the slow path reads the lease and goes on", async () => {
  const { clock, leases, advance } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  // The lease was labelled: the resourceVersion moved, the holder did not.
  const before = leases.lease;
  if (before) leases.lease = { ...before, metadata: { ...before.metadata, resourceVersion: "labelled" } };
  await advance(2000);
  expect(a.elector.isLeader).toBe(true);
  expect(leases.requests.slice(-3)).toEqual(["replace", "get", "replace"]);
  expect(await a.metrics.metrics()).toContain('leader_election_slowpath_total{name="lock"} 1');
});

test("a leader that finds another holder stops at once", async () => {
  const { clock, leases, advance } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  const before = leases.lease;
  if (before) {
    const metadata = { ...before.metadata, resourceVersion: "stolen" };
    leases.lease = { ...before, metadata, spec: { ...before.spec, holderIdentity: "thief" } };
  }
  await advance(2000);
  expect(await a.ended).toBeInstanceOf(LeadershipLostError);
  expect(isFenced(a)).toBe(true);
});

test("a stop aborts the leadership, renews until the work has ended, and then gives the lease back", async () => {
  const { clock, leases, advance } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  const b = candidate(leases, clock, "b");
  a.stop();
  await advance(20_000);
  expect(a.leadership()?.reason).toBe("stop");
  expect(leases.lease?.spec).toMatchObject({ holderIdentity: "a", renewTime: "2026-01-01T00:00:20.000000Z" });
  expect(isFenced(a)).toBe(false);
  a.finish();
  expect(await a.ended).toBe("returned");
  expect(leases.lease?.spec).toEqual({
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: "2026-01-01T00:00:20.000000Z",
    renewTime: "2026-01-01T00:00:20.000000Z",
    leaseTransitions: 0,
  });
  expect(isFenced(a)).toBe(true);
  await advance(2500);
  expect(b.elector.isLeader).toBe(true);
  b.stop();
  b.finish();
  expect(await b.ended).toBe("returned");
  expect(clock.pending).toBe(0);
});

test("a renewal under way when the work ends does not keep the lease from being given back", async () => {
  const { clock, leases, advance } = world();
  let slow = false;
  const a = candidate(leases, clock, "a", { fate: () => (slow ? { ...QUICK, backMs: 500 } : QUICK) });
  await settle();
  slow = true;
  await advance(2000);
  expect(leases.requests.at(-1)).toBe("replace");
  slow = false;
  // The server has the renewal, we do not have its answer.
  a.stop();
  a.finish();
  expect(await a.ended).toBe("returned");
  expect(leases.lease?.spec?.holderIdentity).toBe("");
  await advance(500);
  expect(clock.pending).toBe(0);
});

test("work that throws keeps the lease, because its workers may still write", async () => {
  const { clock, leases } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  const failed = new LeaderElector({
    client: leases.client(),
    namespace: "ns",
    name: "lock",
    identity: "a",
    clock,
    log: silentLogger,
    metrics: kubeMetrics(new Registry()),
  });
  a.stop();
  const run = failed.run(() => Promise.reject(new Error("crashed")), new AbortController().signal);
  await expect(run).rejects.toThrow("crashed");
  expect(leases.lease?.spec?.holderIdentity).toBe("a");
  expect(() => failed.fence()).toThrow(LeadershipLostError);
});

test("a foreign object under the lease's name ends the leader, and the next one waits five minutes for it and not a century", async () => {
  const { clock, leases, advance } = world();
  const a = candidate(leases, clock, "a");
  await settle();
  const spec = { holderIdentity: "stranger", leaseDurationSeconds: 2_147_483_647 };
  leases.lease = {
    ...(leases.lease as Lease),
    metadata: { ...(leases.lease as Lease).metadata, resourceVersion: "x" },
    spec,
  };
  await advance(3000);
  expect(await a.ended).toBeInstanceOf(LeadershipLostError);
  const b = candidate(leases, clock, "b");
  await advance(299_000);
  expect(b.elector.isLeader).toBe(false);
  await advance(5000);
  expect(b.elector.isLeader).toBe(true);
});

test("a foreign count of holders at its end is not counted beyond what the API server can store", () => {
  const spec = { holderIdentity: "", leaseTransitions: 2_147_483_647 };
  expect(taken(spec, "a", 15_000, new Date(0)).leaseTransitions).toBe(2_147_483_647);
});

test("a lease that is deleted while held is waited out by those who saw it", async () => {
  const { clock, leases, advance } = world();
  const a = candidate(leases, clock, "a", { fate: () => (clock.monotonicMs() < 3000 ? QUICK : DOWN) });
  await settle();
  const b = candidate(leases, clock, "b");
  await advance(3000);
  leases.lease = undefined;
  await advance(12_000);
  expect(b.elector.isLeader).toBe(false);
  await advance(5000);
  expect(b.elector.isLeader).toBe(true);
  expect(leases.lease).toMatchObject({ spec: { holderIdentity: "b", leaseTransitions: 1 } });
  expect(await a.ended).toBeInstanceOf(LeadershipLostError);
});

test("standbys do not try in step", async () => {
  const { clock, leases, advance } = world();
  candidate(leases, clock, "a");
  await settle();
  leases.requests.length = 0;
  candidate(leases, clock, "b", { random: () => 1 });
  await settle();
  await advance(4000);
  expect(leases.requests.filter((verb) => verb === "get")).toHaveLength(1);
  await advance(500);
  expect(leases.requests.filter((verb) => verb === "get")).toHaveLength(2);
});

test("liveness fails when a lost lease is twenty seconds overdue and the process is still here", async () => {
  const { clock, leases, advance } = world();
  let network = QUICK;
  const a = candidate(leases, clock, "a", { fate: () => network });
  await settle();
  network = DOWN;
  await advance(35_000);
  expect(a.elector.check()).toBeUndefined();
  await advance(500);
  expect(a.elector.check()).toBe("lease lock is overdue");
});

test("a standby is alive however long it waits", async () => {
  const { clock, leases, advance } = world();
  const b = candidate(leases, clock, "b", { fate: () => DOWN });
  await advance(100_000);
  expect(b.elector.check()).toBeUndefined();
});

test.each([{ leaseDurationMs: 10_000 }, { renewDeadlineMs: 2400 }, { fenceMarginMs: 5001 }])(
  "durations that cannot keep two leaders apart are refused: %o",
  (durations) => {
    const { clock, leases } = world();
    expect(() => candidate(leases, clock, "a", durations)).toThrow(/Ms/);
  },
);

/** A process that may be stopped and continued: its timers and answers wait, its time does not. */
class StallableClock implements Clock {
  isStalled = false;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallNow(): Date {
    return this.#clock.wallNow();
  }

  after(ms: number, task: () => void): () => void {
    const guarded = (): void => void (this.isStalled ? this.#waiting.add(task) : task());
    const cancel = this.#clock.after(ms, guarded);
    return () => {
      cancel();
      this.#waiting.delete(task);
    };
  }

  go(): void {
    this.isStalled = false;
    for (const task of [...this.#waiting]) {
      this.#waiting.delete(task);
      task();
    }
  }
}

/** The slowest answer of a request, and then a lease and the wait before it is tried for again. */
const CALM_MS = 60_000;

test("two processes never both pass the fence, whatever the network and their own stalls do", async () => {
  const fate: fc.Arbitrary<Fate> = fc.record({
    thereMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20_000 })),
    backMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20_000 })),
    lost: fc.oneof(
      { weight: 6, arbitrary: fc.constant("never" as const) },
      { weight: 1, arbitrary: fc.constantFrom("request" as const, "answer" as const, "refused" as const) },
    ),
  });
  const step = fc.record({
    do: fc.oneof(
      { weight: 8, arbitrary: fc.constant("advance" as const) },
      { weight: 1, arbitrary: fc.constantFrom("stall" as const, "go" as const, "stop" as const) },
      { weight: 2, arbitrary: fc.constantFrom("break" as const, "heal" as const) },
    ),
    who: fc.integer({ min: 0, max: 1 }),
    ms: fc.integer({ min: 1, max: 8000 }),
  });
  const run = fc.asyncProperty(
    fc.array(step, { minLength: 20, maxLength: 80, size: "max" }),
    fc.infiniteStream(fate),
    fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
    async (steps, fates, draws) => {
      const shared = new FakeClock();
      const leases = new FakeLeases(shared);
      const broken = [false, false];
      const start = (who: 0 | 1, life: number): Candidate & { readonly clock: StallableClock } => {
        const clock = new StallableClock(shared);
        const next = (): Fate => (broken[who] ? (fates.next().value ?? QUICK) : QUICK);
        const random = (): number => draws.next().value ?? 0;
        return { ...candidate(leases, clock, `${who}-${life}`, { fate: next, random }), clock };
      };
      const now = [start(0, 0), start(1, 0)];
      const everyone = [...now];
      const startAgain = (who: 0 | 1): void => {
        now[who]?.stop();
        now[who]?.finish();
        now[who] = start(who, everyone.length);
        everyone.push(now[who]);
      };
      const check = (): typeof everyone => {
        const passing = everyone.filter((each) => !isFenced(each));
        expect(passing.length).toBeLessThanOrEqual(1);
        return passing;
      };
      const advance = async (ms: number): Promise<void> => {
        for (let left = ms; left > 0; left -= 250) {
          shared.advance(Math.min(250, left));
          await settle();
          check();
        }
      };
      for (const { do: what, who, ms } of steps) {
        const current = now[who];
        if (!current) continue;
        if (what === "stall") current.clock.isStalled = true;
        else if (what === "go") current.clock.go();
        else if (what === "break") broken[who] = true;
        else if (what === "heal") broken[who] = false;
        else if (what === "stop") startAgain(who === 0 ? 0 : 1);
        else if (what === "advance") await advance(ms);
        await settle();
        check();
      }
      // Then all is well: one leads, and another once that one stalls. A run without a take-over would prove nothing.
      broken.fill(false);
      for (const each of everyone) each.clock.go();
      startAgain(0);
      startAgain(1);
      await advance(CALM_MS);
      const [first] = check();
      expect(first).toBeDefined();
      if (first) first.clock.isStalled = true;
      await advance(CALM_MS);
      const [second] = check();
      expect(second).toBeDefined();
      expect(second).not.toBe(first);
      for (const each of everyone) {
        each.clock.go();
        each.stop();
        each.finish();
      }
      await settle();
    },
  );
  await fc.assert(run, { numRuns: runs(150) });
});

test("a server that refuses is asked again", async () => {
  const { clock, leases, advance } = world();
  let network: Fate = { ...QUICK, lost: "refused" };
  const a = candidate(leases, clock, "a", { fate: () => network });
  await advance(2000);
  expect(a.elector.isLeader).toBe(false);
  network = QUICK;
  await advance(2000);
  expect(a.elector.isLeader).toBe(true);
});
