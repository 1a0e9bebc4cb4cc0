import { expect, test } from "vitest";
import { silentLogger } from "../../../base/log.ts";
import { EXPIRES_AT_ANNOTATION } from "../../../crds/group.ts";
import type { RolloutState } from "../../../crds/kinds/rollout.ts";
import { planAccount, rolloutAccount } from "../../../crds/release-names.ts";
import type { RolloutLeftOver } from "../../access/rollout-access.ts";
import { line } from "../../testing/release-cluster.ts";
import { RolloutWorld } from "../../testing/rollout-world.ts";
import { type KnownContent, outdated } from "./retention.ts";
import { sweepRollouts } from "./rollout-sweep.ts";
import { trailOf } from "./trail.ts";

const DAY_MS = 86_400_000;

/** Rollouts one after the other, an hour apart, each with its content. */
function history(...states: readonly RolloutState[]): RolloutWorld {
  const world = new RolloutWorld();
  for (const [index, state] of states.entries()) {
    const objects = [line(`o-${index}`)];
    world.addInstalled(`rel-${index}`, objects, state);
    if (state === "RolledBack") {
      const made = world.rollout(`r-rel-${index}`);
      const formerDigest = world.contents.get("rel-0")?.spec.digest ?? "";
      const status = { ...made.status, rolledBackTo: "rel-0", formerContent: "rel-0", formerDigest };
      world.rollouts.set(made.metadata.name, { ...made, status });
    }
    world.clock.advance(3_600_000);
  }
  return world;
}

const known = (world: RolloutWorld): readonly KnownContent[] =>
  [...world.contents.values()].map(({ metadata, spec }) => ({
    metadata,
    spec: { deploymentId: spec.deploymentId },
  }));

function gone(world: RolloutWorld, isServed = true): object {
  const found = outdated([...world.rollouts.values()], known(world), () => isServed, world.clock.wallNow());
  const names = (all: readonly { metadata: { name: string } }[]) => all.map(({ metadata }) => metadata.name).join(" ");
  return { rollouts: names(found.rollouts), contents: names(found.contents) };
}

test("the last three that succeeded stay with their contents; others a week, and their contents a day", () => {
  const world = history("Succeeded", "Succeeded", "Denied", "Succeeded", "Succeeded");
  expect(gone(world)).toEqual({ rollouts: "", contents: "" });
  world.clock.advance(2 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "", contents: "rel-0 rel-2" });
  world.clock.advance(6 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "r-rel-0 r-rel-2", contents: "rel-0 rel-2" });
  expect(gone(world, false)).toEqual({
    rollouts: "r-rel-0 r-rel-1 r-rel-2 r-rel-3 r-rel-4",
    contents: "rel-0 rel-1 rel-2 rel-3 rel-4",
  });
});

test("what says what is installed stays: the content that was gone back to, and what failures have left", () => {
  const world = history("Succeeded", "RolledBack", "Failed");
  world.clock.advance(30 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "", contents: "" });
});

test("the trail begins at the last good end, and only what the operator has recorded counts", () => {
  const trail = (...states: readonly RolloutState[]) => {
    const { former, leftovers } = trailOf([...history(...states).rollouts.values()]);
    return [former?.name, ...leftovers.map(({ name }) => name)];
  };
  expect(trail()).toEqual([undefined]);
  expect(trail("Failed")).toEqual([undefined, "rel-0"]);
  expect(trail("Succeeded", "Succeeded")).toEqual(["rel-1"]);
  expect(trail("Succeeded", "Failed", "Aborted")).toEqual(["rel-0", "rel-2", "rel-1"]);
  expect(trail("Succeeded", "Failed", "RolledBack")).toEqual(["rel-0"]);
  const world = history("Succeeded");
  world.clock.advance(1_000);
  world.addContent("rel-9", [line("evil")]);
  world.add("z", "update", "rel-9", {}, { state: "Denied" });
  expect(trailOf([...world.rollouts.values()]).former?.name).toBe("rel-0");
});

test("the sweep leaves the accounts that a rollout needs now, and takes all others", async () => {
  const world = new RolloutWorld();
  const states = ["Planning", "AwaitingApproval", "Applying", "RollingBack", "Succeeded"] as const;
  const made = states.map((state) => world.add(state, "update", undefined, {}, { state }));
  const until = new Date(world.clock.wallNow().getTime() + 60_000).toISOString();
  const held = world.add("held", "update");
  const leftOver = (uid: string, name: string, kind: RolloutLeftOver["kind"], end = until): RolloutLeftOver => {
    const annotations = { [EXPIRES_AT_ANNOTATION]: end };
    const metadata = { ...held.metadata, name, namespace: "shop", annotations };
    return { kind, rolloutUid: uid, object: { apiVersion: "v1", kind, metadata } };
  };
  const found = [...made, held].flatMap(({ metadata: { uid } }) =>
    [planAccount(uid), rolloutAccount(uid)].map((name) => leftOver(uid, name, "ServiceAccount")),
  );
  const [, , applying] = made;
  const over = leftOver(applying?.metadata.uid ?? "", "rollout-late", "RoleBinding", "2026-01-01T00:00:00Z");
  const removed: string[] = [];
  await sweepRollouts(
    {
      client: { delete: async (_, { name }) => removed.push(name) > 0 },
      access: { leftOvers: async () => [...found, over, leftOver("gone", "plan-000000000000", "ServiceAccount")] },
      ...{ fence: () => undefined, clock: world.clock, log: silentLogger, metrics: { removed: () => undefined } },
      rollouts: () => [...world.rollouts.values()],
      contents: () => [],
      isServed: () => true,
      held: () => new Set([held.metadata.uid]),
      places: () => ["shop"],
    },
    new AbortController().signal,
  );
  const kept = found.map(({ object }) => object.metadata.name).filter((name) => !removed.includes(name));
  const [planning, , third, fourth] = made.map(({ metadata }) => metadata.uid);
  const needed = [planAccount(planning ?? ""), rolloutAccount(third ?? ""), rolloutAccount(fourth ?? "")];
  const { uid } = held.metadata;
  expect(new Set(kept)).toEqual(new Set([...needed, planAccount(uid), rolloutAccount(uid)]));
  expect(removed).toContain("rollout-late");
  expect(removed).toContain("plan-000000000000");
});
