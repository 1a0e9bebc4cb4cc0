import { describe, expect, test } from "vitest";
import { type Logger, silentLogger } from "../../../base/log.ts";
import { EXPIRES_AT_ANNOTATION } from "../../../crds/group.ts";
import type { RolloutState } from "../../../crds/kinds/rollout.ts";
import { planAccount, rolloutAccount } from "../../../crds/release-names.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { RolloutLeftOver } from "../../access/rollout-access.ts";
import { line } from "../../testing/release-cluster.ts";
import { RolloutWorld } from "../../testing/rollout-world.ts";
import { type KnownContent, outdated, outdatedSecrets } from "./retention.ts";
import { sweepRollouts } from "./rollout-sweep.ts";
import { trailOf } from "./trail.ts";

const DAY_MS = 86_400_000;

/** Rollouts one after the other, an hour apart, each with its content. */
function history(...states: readonly RolloutState[]): RolloutWorld {
  const world = new RolloutWorld();
  for (const [index, state] of states.entries()) release(world, index, state, 3_600_000);
  return world;
}

function release(world: RolloutWorld, index: number, state: RolloutState, thenMs: number): void {
  world.addInstalled(`rel-${index}`, [line(`o-${index}`)], state);
  const made = world.rollout(`r-rel-${index}`);
  if (state === "RolledBack") {
    const formerDigest = world.contents.get("rel-0")?.spec.digest ?? "";
    const status = { ...made.status, rolledBackTo: "rel-0", formerContent: "rel-0", formerDigest };
    world.rollouts.set(made.metadata.name, { ...made, status });
  }
  if (state === "Denied") world.rollouts.set(made.metadata.name, { ...made, status: { state } });
  world.clock.advance(thenMs);
}

const known = (world: RolloutWorld): readonly KnownContent[] =>
  [...world.contents.values()].map(({ metadata, spec }) => ({
    metadata,
    spec: { deploymentId: spec.deploymentId, secrets: [] },
  }));

const found = (world: RolloutWorld, isServed = true) =>
  outdated([...world.rollouts.values()], known(world), () => isServed, world.clock.wallNow());

function gone(world: RolloutWorld, isServed = true): object {
  const { rollouts, contents } = found(world, isServed);
  const names = (all: readonly { metadata: { name: string } }[]) =>
    all
      .map(({ metadata }) => metadata.name)
      .sort()
      .join(" ");
  return { rollouts: names(rollouts), contents: names(contents) };
}

function sweep(world: RolloutWorld): void {
  const { rollouts, contents } = found(world);
  for (const { metadata } of rollouts) world.rollouts.delete(metadata.name);
  for (const { metadata } of contents) world.contents.delete(metadata.name);
}

test("the last three that succeeded stay, what is installed with its content; others a week, and their contents a day", () => {
  const world = history("Succeeded", "Succeeded", "Denied", "Succeeded", "Succeeded");
  expect(gone(world)).toEqual({ rollouts: "", contents: "" });
  world.clock.advance(2 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "", contents: "rel-0 rel-1 rel-2 rel-3" });
  world.clock.advance(6 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "r-rel-0 r-rel-2", contents: "rel-0 rel-1 rel-2 rel-3" });
});

test("of a deployment that is not served any more what is needed stays for a week after the last end", () => {
  const world = history("Succeeded", "Failed");
  world.clock.advance(2 * DAY_MS);
  expect(gone(world, false)).toEqual({ rollouts: "", contents: "" });
  world.clock.advance(6 * DAY_MS);
  expect(gone(world, false)).toEqual({ rollouts: "r-rel-0 r-rel-1", contents: "rel-0 rel-1" });
});

test("what says what is installed stays: the content that was gone back to, and what failures have left", () => {
  const world = history("Succeeded", "Failed", "RolledBack", "Failed");
  world.clock.advance(30 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "r-rel-1", contents: "rel-1 rel-2" });
});

/** What the agent allows a deployment: one more of each has room, also on the day itself. */
test.each<[string, readonly RolloutState[]]>([
  ["failed", ["Succeeded", ...Array<RolloutState>(60).fill("Failed")]],
  ["failed, and none before came up", Array<RolloutState>(60).fill("Failed")],
  ["went back", ["Succeeded", ...Array<RolloutState>(60).fill("RolledBack")]],
  ["succeeded", Array<RolloutState>(60).fill("Succeeded")],
  ["were denied", ["Succeeded", ...Array<RolloutState>(8).fill("Failed"), ...Array<RolloutState>(60).fill("Denied")]],
])("releases that %s leave room for the next, and the trail as it was", (_, states) => {
  const world = new RolloutWorld();
  for (const [index, state] of states.entries()) {
    release(world, index, state, 60_000);
    const before = trailOf([...world.rollouts.values()]);
    sweep(world);
    expect(trailOf([...world.rollouts.values()])).toEqual(before);
    const names = [before.former, ...before.leftovers].flatMap((each) => (each ? [each.name] : []));
    expect([...world.contents.keys()]).toEqual(expect.arrayContaining(names));
    expect(world.rollouts.size).toBeLessThan(40);
    expect(world.contents.size).toBeLessThan(12);
  }
});

test("a content whose rollout is yet to be made stays for a day, however many there are", () => {
  const world = history("Succeeded", ...Array<RolloutState>(8).fill("Failed"));
  world.addContent("next", [line("next")]);
  expect(gone(world)).toEqual({ rollouts: "", contents: "" });
  world.clock.advance(2 * DAY_MS);
  expect(gone(world)).toEqual({ rollouts: "", contents: "next" });
});

test("the contents of a rollout that has not ended stay", () => {
  const world = history("Succeeded", "Succeeded");
  world.add("open", "update", "rel-1", {}, { state: "AwaitingApproval", formerContent: "rel-0" });
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

test("the trail says since when nothing came to a good end, without what ended before it began", () => {
  const since = (...states: readonly RolloutState[]) => {
    const world = history(...states);
    const at = trailOf([...world.rollouts.values()]).unfinishedSince;
    return [...world.rollouts.values()].findIndex(({ status }) => at !== undefined && status?.startedAt === at);
  };
  expect(since("Succeeded")).toBe(-1);
  expect(since("Failed", "Aborted")).toBe(0);
  expect(since("Succeeded", "Denied", "Failed", "Aborted")).toBe(2);
  expect(since("Succeeded", "Failed", "RolledBack", "Failed")).toBe(3);
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
  const found = [...made, held].flatMap((rollout) =>
    [planAccount(rollout), rolloutAccount(rollout)].map((name) =>
      leftOver(rollout.metadata.uid, name, "ServiceAccount"),
    ),
  );
  const [planning = held, , applying = held, goingBack = held] = made;
  const over = leftOver(applying.metadata.uid, "rollout-late", "RoleBinding", "2026-01-01T00:00:00Z");
  const removed: string[] = [];
  await sweepRollouts(
    {
      client: { delete: async (_, { name }) => removed.push(name) > 0 },
      access: {
        leftOvers: async () => [...found, over, leftOver("gone", "plan-000000000000.dep-1", "ServiceAccount")],
      },
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
  const needed = [planAccount(planning), rolloutAccount(applying), rolloutAccount(goingBack)];
  expect(new Set(kept)).toEqual(new Set([...needed, planAccount(held), rolloutAccount(held)]));
  expect(removed).toContain("rollout-late");
  expect(removed).toContain("plan-000000000000.dep-1");
});

test("a Secret stays as long as a content names it, and a day for the content that is about to", () => {
  const world = history("Succeeded");
  const [content] = known(world);
  if (content === undefined) throw new Error("no content");
  const contents = [{ ...content, spec: { ...content.spec, secrets: ["cfg-named"] } }];
  const secret = (name: string) => ({ metadata: { ...content.metadata, name } });
  const left = (hours: number) => {
    const now = new Date(Date.parse(content.metadata.creationTimestamp) + hours * 3_600_000);
    return outdatedSecrets([secret("cfg-named"), secret("cfg-other")], contents, now).map(
      ({ metadata }) => metadata.name,
    );
  };
  expect([left(23), left(25)]).toEqual([[], ["cfg-other"]]);
});

describe("the sweep of Secrets", () => {
  const forbidden = () => new ApiError("may not", { status: 403, reason: "Forbidden" });

  /** @param pages as the API server lists them; an error is what it answers in place of a page */
  function sweeping(pages: readonly (readonly string[] | Error)[] | undefined, refuses: readonly string[] = []) {
    const world = history("Succeeded");
    const { metadata } = world.rollout("r-rel-0");
    const late = { ...known(world)[0], metadata: { ...metadata, name: "rel-unnamed" } } as KnownContent;
    const deleted: string[] = [];
    const warned: string[] = [];
    world.clock.advance(2 * DAY_MS);
    async function* secrets() {
      for (const page of pages ?? []) {
        if (page instanceof Error) throw page;
        yield page.map((name) => ({ metadata: { ...metadata, name, uid: `uid of ${name}` } }));
      }
    }
    const run = () =>
      sweepRollouts(
        {
          ...{ fence: () => undefined, clock: world.clock, metrics: { removed: () => undefined } },
          log: { ...silentLogger, warn: (_: object, message: string) => void warned.push(message) } as Logger,
          client: {
            delete: async ({ plural }, { name }, { preconditions }) => {
              if (refuses.includes(name)) throw forbidden();
              deleted.push(`${plural} ${name}, ${plural === "secrets" ? preconditions?.uid : ""}`);
              return true;
            },
          },
          access: { leftOvers: async () => [] },
          rollouts: () => [...world.rollouts.values()],
          contents: () => [...known(world), late],
          ...(pages && { secrets }),
          ...{ isServed: () => true, held: () => new Set<string>(), places: () => [] },
        },
        new AbortController().signal,
      );
    return { run, deleted, warned };
  }
  const CONTENT = "releasecontents rel-unnamed, ";

  test("deletes each by its uid, of all pages, and lists nothing where releases bring none", async () => {
    const none = sweeping(undefined);
    await none.run();
    expect(none.deleted).toEqual([CONTENT]);
    const { run, deleted, warned } = sweeping([["cfg-1"], [], ["cfg-2"]]);
    await run();
    expect(deleted).toEqual([CONTENT, "secrets cfg-1, uid of cfg-1", "secrets cfg-2, uid of cfg-2"]);
    expect(warned).toEqual([]);
  });

  test.each<[string, readonly (readonly string[] | Error)[], readonly string[], readonly string[]]>([
    ["not be listed", [forbidden()], [], [CONTENT]],
    ["not be listed further", [["cfg-1"], forbidden()], [], [CONTENT, "secrets cfg-1, uid of cfg-1"]],
    ["not be deleted", [["cfg-1"]], ["cfg-1"], [CONTENT]],
  ])("that may %s is told, and ends nothing else", async (_, pages, refuses, gone) => {
    const { run, deleted, warned } = sweeping(pages, refuses);
    await run();
    expect(deleted).toEqual(gone);
    expect(warned).toEqual(["secrets of releases that no deployment needs were not all deleted"]);
  });

  test("deletes a hundred at most, and what is no answer of the API server ends it", async () => {
    const many = Array.from({ length: 70 }, (_, index) => `cfg-${index}`);
    const { run, deleted } = sweeping([many, many, [], new Error("not asked for")]);
    await run();
    expect(deleted).toHaveLength(101);
    await expect(sweeping([new Error("another process leads")]).run()).rejects.toThrow("another process leads");
  });
});
