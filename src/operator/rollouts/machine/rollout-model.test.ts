import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../base/testing/runs.ts";
import type { RolloutAction, RolloutState } from "../../../crds/kinds/rollout.ts";
import { type Behaviour, line } from "../../testing/release-cluster.ts";
import { type Crash, RELEASES_AUTO, RolloutWorld } from "../../testing/rollout-world.ts";
import { isOver } from "./trail.ts";

const HOLD_MS = 300_000;

/** Said when the rollout comes into a state for the first time: so a crash does not move it. */
const WORDS = {
  approve: (it) => it.approve("b"),
  "approve another plan": (it) => it.say("b", { approvedDigest: `sha256:${"0".repeat(64)}` }),
  deny: (it) => it.say("b", { deniedReason: "no" }),
  abort: (it) => it.say("b", { abortReason: "no" }),
  "let policies allow it": (it) => {
    it.policies = [{ spec: RELEASES_AUTO }];
  },
  "let policies deny it": (it) => {
    it.policies = [{ spec: { rules: [{ pattern: "release/*", decision: "deny" }] } }];
  },
  "ask for another": (it) => {
    if (!it.rollouts.has("c")) it.add("c", "update", "rel-3");
  },
  "pause it for five minutes": (it) => {
    it.say("b", { pausedReason: "lunch" });
    it.clock.after(HOLD_MS, () => it.say("b", { pausedReason: undefined } as never));
  },
  "close the window for five minutes": (it) => {
    it.open({ isOpen: false });
    it.clock.after(HOLD_MS, () => it.open({ isOpen: true }));
  },
  "take a policy of the API server away for five minutes": (it) => {
    it.obstacle = "a policy is missing";
    it.clock.after(HOLD_MS, () => Object.assign(it, { obstacle: undefined }));
  },
  "close the namespace": (it) => it.accept([]),
  "exchange the content": (it) => void it.addContent("rel-2", [line("evil")]),
  "delete the former content": (it) => void it.contents.delete("rel-1"),
} as const satisfies Record<string, (it: RolloutWorld) => void>;

const STATES: readonly RolloutState[] = [
  "Planning",
  "AwaitingApproval",
  "Queued",
  "Applying",
  "Gating",
  "Pruning",
  "RollingBack",
];

interface Scene {
  readonly action: RolloutAction;
  readonly isAuto: boolean;
  readonly hasFormer: boolean;
  readonly objects: readonly {
    readonly name: string;
    readonly wave: number;
    readonly frozen?: boolean;
    readonly is: Behaviour;
  }[];
  readonly words: readonly {
    readonly word: keyof typeof WORDS;
    readonly state: RolloutState;
    readonly wave: number | undefined;
  }[];
}

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    action: fc.constantFrom<RolloutAction>("install", "update", "update", "update", "delete", "detach"),
    isAuto: fc.boolean(),
    hasFormer: fc.boolean(),
    objects: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom("api", "web", "new"),
        wave: fc.nat(2),
        frozen: fc.boolean(),
        is: fc.constantFrom<Behaviour>("good", "good", "good", "good", "unhealthy", "refused", "busy"),
      }),
      { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
    ),
    words: fc.array(
      fc.record({
        word: fc.constantFrom(
          ...(Object.keys(WORDS) as (keyof typeof WORDS)[]),
          "approve" as const,
          "approve" as const,
        ),
        state: fc.constantFrom(...STATES),
        wave: fc.option(fc.nat(1), { nil: undefined }),
      }),
      { maxLength: 4 },
    ),
  })
  // How often a wave was tried before it failed for good would show in what it has left.
  .filter(({ objects }) => !["busy", "refused"].every((wanted) => objects.some(({ is }) => is === wanted)));

async function play(scene: Scene, crashes: readonly Crash[]): Promise<RolloutWorld> {
  const it = new RolloutWorld();
  it.policies = scene.isAuto ? [{ spec: RELEASES_AUTO }] : [{ spec: {} }];
  const former = [line("api"), line("old", { wave: 1 }), line("base", { frozen: true })];
  if (scene.hasFormer) it.addInstalled("rel-1", former);
  it.addContent(
    "rel-2",
    scene.objects.map(({ name, ...sketch }) => line(name, { ...sketch, version: "2" })),
  );
  it.addContent("rel-3", [line("api", { version: "3" })]);
  const isBringing = scene.action === "install" || scene.action === "update";
  it.add("b", scene.action, isBringing ? "rel-2" : undefined);
  it.clock.advance(1_000);
  for (const { word, state, wave } of scene.words) {
    const when = { name: "b", state, ...(wave !== undefined && { wave }) };
    it.occasions.push({ ...when, say: () => WORDS[word](it) });
  }
  it.crash = (request) => crashes[request];
  const end = (): boolean => [...it.rollouts.values()].every(isOver);
  await it.until(end, 300);
  // What still waits for a person ends at its deadline.
  it.clock.advance(25 * 3_600_000);
  await it.until(end, 200);
  return it;
}

const HOLDS = ["AnotherRuns", "Paused", "WindowClosed", "PlannedAgain", "RuleMissing"];

/** Everything that is to be the same with and without crashes. Messages and times are not. */
function outcome(it: RolloutWorld): object {
  return {
    installed: it.installed,
    there: [...it.cluster.objects.keys()].sort(),
    rollouts: [...it.rollouts.values()].map(({ metadata, status }) => ({
      name: metadata.name,
      state: status?.state,
      rolledBackTo: status?.rolledBackTo,
      // Exchanged content is found before a plan that is too old is made again, or by that plan: a crash decides which.
      conditions: (status?.conditions?.some(({ reason }) => reason === "ContentChanged") === true
        ? []
        : status?.conditions
      )
        // How long another one ran, or a hold lasted, which a crash changes, says whether it was seen to wait.
        ?.filter(({ reason }) => !HOLDS.includes(reason))
        .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
        .sort(),
    })),
  };
}

/** One to each end: chance alone does not come to all of them in every run. */
const ENDS: Readonly<Record<string, Scene>> = {
  Succeeded: someScene({ isAuto: true }),
  Denied: someScene({ words: [{ word: "deny", state: "AwaitingApproval", wave: undefined }] }),
  Aborted: someScene({ words: [{ word: "abort", state: "AwaitingApproval", wave: undefined }] }),
  Failed: someScene({ isAuto: true, hasFormer: false, objects: [{ name: "api", wave: 0, is: "unhealthy" }] }),
  RolledBack: someScene({ isAuto: true, objects: [{ name: "api", wave: 0, is: "unhealthy" }] }),
  Superseded: someScene({ words: [{ word: "ask for another", state: "AwaitingApproval", wave: undefined }] }),
};

function someScene(more: Partial<Scene>): Scene {
  const objects = [{ name: "api", wave: 0, is: "good" as const }];
  return { action: "update", isAuto: false, hasFormer: true, objects, words: [], ...more };
}

const crashes = fc.array(fc.constantFrom<Crash>("before", "half", "after", "busy", undefined, undefined, undefined), {
  maxLength: 60,
  size: "max",
});

test.each(Object.entries(ENDS))("comes to %s", async (end, scene) => {
  expect((await play(scene, [])).state("b")).toBe(end);
});

test("with all that people say and objects do, it ends: without rights, without a change that was not allowed, with one way back", async () => {
  await fc.assert(
    fc.asyncProperty(scenes, async (scene) => {
      const it = await play(scene, []);
      expect(it.broken).toEqual([]);
      expect([...it.rights]).toEqual([]);
      expect([...it.rollouts.values()].filter((each) => !isOver(each))).toEqual([]);
      const conditions = [...it.rollouts.values()].flatMap(({ status }) => status?.conditions ?? []);
      expect(conditions.filter(({ status }) => status === "Unknown")).toEqual([]);
      expect(it.waysBack).toEqual([...new Set(it.waysBack)]);
      expect(it.installed).not.toContain("evil=1");
      if (it.state("b") === "RolledBack" && !it.rollouts.has("c")) {
        const isTold = it.reason("b", "Pruned") === "False/SomeLeft";
        const back = ["api=1", "base=1", "old=1"];
        expect(it.installed).toEqual(isTold ? expect.arrayContaining(back) : back);
      }
    }),
    { numRuns: runs(600), examples: Object.values(ENDS).map((scene) => [scene]) },
  );
});

test("a way back that is held for five minutes, looked at in turn with a rollout that waits for it, is one", async () => {
  const it = await play(
    {
      ...{ action: "update", isAuto: true, hasFormer: true },
      objects: [{ name: "api", wave: 0, is: "unhealthy" }],
      words: [
        { word: "ask for another", state: "Gating", wave: 0 },
        { word: "take a policy of the API server away for five minutes", state: "RollingBack", wave: 0 },
      ],
    },
    [],
  );
  // The policy is missed every five seconds, and each look writes what it sees.
  const looks = it.log.flatMap((word, index) => (word.startsWith("RollingBack") ? [it.log[index + 1]] : []));
  expect(looks.filter((word) => word === "Planning").length).toBeGreaterThan(50);
  expect([it.waysBack, it.state("b"), it.state("c")]).toEqual([["b"], "RolledBack", "Succeeded"]);
  expect(it.installed).toEqual(["api=3", "base=1"]);
});

test("wherever the process dies, and as often: it ends as if it had not", async () => {
  await fc.assert(
    fc.asyncProperty(scenes, crashes, async (scene, dies) => {
      const it = await play(scene, dies);
      expect(it.broken).toEqual([]);
      expect(it.waysBack).toEqual([...new Set(it.waysBack)]);
      expect([...it.rights]).toEqual([]);
      expect(outcome(it)).toEqual(outcome(await play(scene, [])));
    }),
    { numRuns: runs(600) },
  );
});
