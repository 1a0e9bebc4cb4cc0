import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../base/log.ts";
import type { OperationPolicySpec } from "../../../crds/kinds/operation-policy.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { line } from "../../testing/release-cluster.ts";
import { RELEASES_AUTO, RolloutWorld } from "../../testing/rollout-world.ts";
import { reconcileRollout } from "./rollout-reconciler.ts";

const HOUR = 3_600_000;
const HALF_AN_HOUR = 1_800_000;
const V1 = [line("api"), line("web", { wave: 1 })];

function world(spec: OperationPolicySpec = RELEASES_AUTO): RolloutWorld {
  const made = new RolloutWorld();
  made.policies = [{ spec }];
  return made;
}

interface Hold {
  readonly begins: (it: RolloutWorld) => void;
  readonly ends: (it: RolloutWorld) => void;
}
const PAUSE: Hold = {
  begins: (it) => it.say("b", { pausedReason: "lunch" }),
  ends: (it) => it.say("b", { pausedReason: undefined } as never),
};
const WINDOW: Hold = { begins: (it) => it.open({ isOpen: false }), ends: (it) => it.open({ isOpen: true }) };
const OBSTACLE: Hold = {
  begins: (it) => void Object.assign(it, { obstacle: "a policy is missing" }),
  ends: (it) => void Object.assign(it, { obstacle: undefined }),
};

async function halfAnHour(it: RolloutWorld): Promise<void> {
  const endsAtMs = it.clock.monotonicMs() + HALF_AN_HOUR;
  await it.until(() => it.clock.monotonicMs() > endsAtMs);
}

describe("the time of a wave counts from when nothing holds it", () => {
  test.each<[string, Hold]>([
    ["a pause", PAUSE],
    ["a closed window", WINDOW],
    ["a missing policy", OBSTACLE],
  ])("%s between two waves", async (_, { begins, ends }) => {
    const it = world();
    const agesMs: number[] = [];
    it.hands = {
      health: async (_intent, _wave, startedAt) => {
        agesMs.push(it.clock.wallNow().getTime() - startedAt.getTime());
        return { verdict: "healthy", resources: [], againMs: 2_000 };
      },
    };
    it.addContent("rel-2", V1);
    it.add("b", "install", "rel-2");
    it.occasions.push({ name: "b", state: "Gating", wave: 0, say: () => begins(it) });
    await halfAnHour(it);
    expect([it.state("b"), it.rollout("b").status?.waveOf, agesMs.length]).toEqual(["Gating", "1/2", 1]);
    ends(it);
    await it.untilState("b", "Succeeded");
    // The wave that was held is looked at once more, and then the other one.
    expect(agesMs).toHaveLength(3);
    expect(Math.max(...agesMs)).toBeLessThan(60_000);
  });

  test("a missing policy in the midst of a wave: what is refused for a while after it is tried again", async () => {
    const it = world();
    it.addContent("rel-2", [line("api", { is: "busy" })]);
    it.add("b", "install", "rel-2");
    it.occasions.push({ name: "b", state: "Applying", say: () => OBSTACLE.begins(it) });
    await halfAnHour(it);
    expect(it.state("b")).toBe("Applying");
    OBSTACLE.ends(it);
    await it.untilState("b", "Succeeded", "Failed");
    expect([it.state("b"), it.log.filter((word) => word === "apply 0").length]).toEqual(["Succeeded", 3]);
  });

  test.each(["Pruning", "RollingBack"] as const)("a missing policy in the state %s", async (state) => {
    const it = world();
    it.addInstalled("rel-1", [...V1, line("old", { is: "stuck" })]);
    it.addContent("rel-2", [line("api", state === "Pruning" ? {} : { is: "unhealthy" }), line("web", { wave: 1 })]);
    it.add("b", "update", "rel-2");
    const held = { name: "b", state, say: () => OBSTACLE.begins(it) } as const;
    // On the way back: once the former wave is applied, and its gate is what would be late.
    const say = (): void => void it.occasions.push(held);
    it.occasions.push(state === "Pruning" ? held : { ...held, say });
    await halfAnHour(it);
    expect([it.state("b"), it.rollout("b").status?.waveStartedAt]).toEqual([state, undefined]);
    OBSTACLE.ends(it);
    const endedAt = it.clock.wallNow().getTime();
    await it.until(() => it.rollout("b").status?.waveStartedAt !== undefined);
    expect(Date.parse(it.rollout("b").status?.waveStartedAt ?? "")).toBeGreaterThanOrEqual(endedAt - 1_000);
    await it.untilState("b", "Succeeded", "RolledBack", "Failed");
    expect(it.state("b")).toBe(state === "Pruning" ? "Succeeded" : "RolledBack");
  });
});

describe("a plan that a webhook holds up", () => {
  function held(healsAfterMs: number) {
    const it = world();
    let tries = 0;
    const { plan } = it.ports.hands;
    it.hands = {
      plan: async (intent, signal) => {
        tries += 1;
        if (it.clock.monotonicMs() > healsAfterMs) return plan(intent, signal);
        // The text differs at each try, as one with a port does.
        const message = `failed calling webhook "check.example": password=hunter2 127.0.0.1:${40_000 + tries}: refused`;
        throw new ApiError(message, { status: 500, reason: "InternalError" });
      },
    };
    it.addContent("rel-2", V1);
    it.add("b", "install", "rel-2");
    return { it, tries: () => tries };
  }

  test("is tried again, later and later, and the condition says why; it goes on when the webhook heals", async () => {
    const { it, tries } = held(600_000);
    await it.until(() => it.clock.monotonicMs() > 500_000);
    expect([it.state("b"), it.reason("b", "Planned")]).toEqual(["Planning", "Unknown/InProgress"]);
    expect(it.message("b", "Planned")).toContain('failed calling webhook "check.example"');
    expect(it.message("b", "Planned")).not.toContain("hunter2");
    expect(tries()).toBeLessThan(20);
    await it.look("b");
    const before = tries();
    // The event of its own write, and those of others.
    for (let look = 0; look < 5; look += 1) await it.look("b");
    expect(tries()).toBe(before);
    await it.untilState("b", "Succeeded");
    expect(it.reason("b", "Planned")).toBe("True/PlanMade");
  });

  test("ends at its deadline, with the reason", async () => {
    const { it } = held(Number.POSITIVE_INFINITY);
    await it.until(() => it.state("b") === "Failed", 3_000);
    expect(it.reason("b", "Planned")).toBe("False/DeadlinePassed");
    expect(it.message("b", "Planned")).toContain('failed calling webhook "check.example"');
    expect(it.clock.monotonicMs()).toBeLessThan(25 * HOUR);
  });
});

test("a word of the customer ends a plan that waits for its next try", async () => {
  const it = world();
  it.hands = { plan: () => Promise.reject(new ApiError("busy", { status: 503, reason: "" })) };
  it.addContent("rel-2", V1);
  it.add("b", "install", "rel-2");
  await it.look("b");
  it.say("b", { deniedReason: "no" });
  await it.look("b");
  expect(it.state("b")).toBe("Denied");
});

describe("a cache that lags decides nothing about a plan", () => {
  const DENIES: OperationPolicySpec = { rules: [{ pattern: "release/install", decision: "deny" }] };

  async function lookWithStaleCache(it: RolloutWorld): Promise<void> {
    const stale = it.ports.surroundings(it.rollout("b"));
    const old = { ...stale, policies: [{ spec: RELEASES_AUTO }] };
    const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
    await reconcileRollout("b", { ...it.ports, surroundings: () => old }, context);
  }

  test("a policy that does not say auto any more", async () => {
    const it = world({});
    it.addContent("rel-2", V1);
    it.add("b", "install", "rel-2");
    await lookWithStaleCache(it);
    expect([it.state("b"), it.reason("b", "Approved")]).toEqual(["AwaitingApproval", "Unknown/AwaitingDecision"]);
  });

  test("a policy that denies it before, or in the midst of, the dry runs", async () => {
    for (const isBefore of [true, false]) {
      const it = world(isBefore ? DENIES : RELEASES_AUTO);
      const { plan } = it.ports.hands;
      it.hands = {
        plan: async (intent, signal) => {
          it.policies = [{ spec: DENIES }];
          return plan(intent, signal);
        },
      };
      it.addContent("rel-2", V1);
      it.add("b", "install", "rel-2");
      await lookWithStaleCache(it);
      expect([it.state("b"), it.reason("b", "Approved")]).toEqual(["Denied", "False/PolicyDenied"]);
      expect(it.log.filter((word) => word === "plan")).toHaveLength(isBefore ? 0 : 1);
    }
  });
});

describe("a right that is taken away in the midst of it", () => {
  function locked(forMs: number) {
    const it = world();
    it.addInstalled("rel-1", [line("api"), line("old")]);
    it.addContent("rel-2", [line("api", { version: "2" })]);
    it.add("b", "update", "rel-2");
    let until = Number.POSITIVE_INFINITY;
    const taken = (): void => {
      until = it.clock.monotonicMs() + forMs;
    };
    it.occasions.push({ name: "b", state: "Applying", say: taken });
    const { apply, prune } = it.ports.hands;
    const guarded = <A extends unknown[], R>(act: (...given: A) => Promise<R>) => {
      return async (...given: A): Promise<R> => {
        if (until < Number.POSITIVE_INFINITY && it.clock.monotonicMs() < until) {
          throw new ApiError("may not bind the role", { status: 403, reason: "Forbidden" });
        }
        return act(...given);
      };
    };
    it.hands = { apply: guarded(apply), prune: guarded(prune) };
    return it;
  }

  test("and comes back is waited for, and is told in between", async () => {
    const it = locked(100_000);
    await it.until(() => it.reason("b", "Permitted") === "False/RuleMissing");
    expect(it.state("b")).toBe("Applying");
    expect(it.message("b", "Permitted")).toMatch(/^may not bind the role; .*once the chart is upgraded$/);
    await it.untilState("b", "Succeeded", "RolledBack", "Failed");
    expect([it.state("b"), it.reason("b", "Permitted")]).toEqual(["Succeeded", "True/RightsComplete"]);
  });

  test("for longer than two minutes takes it back, when that is allowed again", async () => {
    const it = locked(122_000);
    const startedMs = it.clock.monotonicMs();
    await it.untilState("b", "RollingBack", "Failed");
    expect(it.clock.monotonicMs() - startedMs).toBeLessThan(150_000);
    await it.untilState("b", "RolledBack", "Failed");
    expect([it.state("b"), it.reason("b", "Applied"), it.installed]).toEqual([
      ...["RolledBack", "False/ApplyFailed", ["api=1", "old=1"]],
    ]);
    expect(it.message("b", "Applied")).toBe("a right is missing for 2 minutes: may not bind the role");
  });

  test("for good ends it, and the condition says so", async () => {
    const it = locked(HOUR);
    await it.untilState("b", "RolledBack", "Failed");
    expect([it.state("b"), it.reason("b", "Permitted"), it.reason("b", "Healthy")]).toEqual([
      ...["Failed", "False/RuleMissing", "False/FormerUnhealthy"],
    ]);
    expect(it.clock.monotonicMs()).toBeLessThan(600_000);
  });
});

describe("a right is missing from when it is, and not from when a policy was", () => {
  /** Held for half an hour in this state; then a right is missing for so long. */
  async function heldThenLocked(state: "Applying" | "Gating" | "Pruning" | "RollingBack", forMs: number) {
    const it = world();
    it.addInstalled("rel-1", [...V1, line("old")]);
    it.addContent("rel-2", [line("api", state === "RollingBack" ? { is: "unhealthy" } : {}), line("web", { wave: 1 })]);
    it.add("b", "update", "rel-2");
    it.occasions.push({ name: "b", state, say: () => OBSTACLE.begins(it) });
    let until = 0;
    const { apply, health, prune } = it.ports.hands;
    const guarded = <A extends unknown[], R>(act: (...given: A) => Promise<R>) => {
      return async (...given: A): Promise<R> => {
        if (it.clock.monotonicMs() < until) throw new ApiError("no", { status: 403, reason: "Forbidden" });
        return act(...given);
      };
    };
    it.hands = { apply: guarded(apply), health: guarded(health), prune: guarded(prune) };
    await halfAnHour(it);
    expect([it.state("b"), it.reason("b", "Permitted")]).toEqual([state, "False/RuleMissing"]);
    OBSTACLE.ends(it);
    until = it.clock.monotonicMs() + forMs;
    return it;
  }

  test.each([
    ["Applying", "Succeeded"],
    ["Gating", "Succeeded"],
    ["Pruning", "Succeeded"],
    ["RollingBack", "RolledBack"],
  ] as const)("in the state %s", async (state, end) => {
    const it = await heldThenLocked(state, 60_000);
    await it.untilState("b", "Succeeded", "RolledBack", "Failed");
    expect([it.state("b"), it.reason("b", "Pruned")]).toEqual([end, "True/NothingLeft"]);
    expect(it.reason("b", "Permitted")).toBe("True/RightsComplete");
  });

  test("also where an abort ends the hold", async () => {
    const it = await heldThenLocked("Applying", 60_000);
    it.say("b", { abortReason: "no" });
    await it.untilState("b", "RolledBack", "Failed");
    expect([it.state("b"), it.reason("b", "Healthy")]).toEqual(["RolledBack", "True/FormerHealthy"]);
  });

  test("and a way back that waits for a policy says so", async () => {
    const it = await heldThenLocked("RollingBack", 0);
    expect([it.reason("b", "Healthy"), it.message("b", "Healthy")]).toEqual([
      ...["Unknown/InProgress", "the way back is held up: Permitted says by what"],
    ]);
  });

  test("and one that is missing for good still ends it", async () => {
    const it = await heldThenLocked("RollingBack", HOUR);
    const startedMs = it.clock.monotonicMs();
    await it.untilState("b", "RolledBack", "Failed");
    expect([it.state("b"), it.reason("b", "Healthy")]).toEqual(["Failed", "False/FormerUnhealthy"]);
    expect(it.clock.monotonicMs() - startedMs).toBeLessThan(300_000);
  });
});
