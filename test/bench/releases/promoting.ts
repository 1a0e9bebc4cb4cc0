import type { Rollout } from "../../../src/crds/kinds/rollout.ts";
import { type Row, spread } from "../table.ts";
import { settingsOf } from "./objects.ts";
import type { ReleasesOptions } from "./options.ts";
import {
  created,
  type Follower,
  promoted,
  releaseOf,
  startWholeWorld,
  statusOf,
  type WholeWorld,
} from "./whole-world.ts";

/** Each way, so that an answer comes after twice as long. */
const DELAY_MS = 50;
const GOAL_MS = 2_000;
/** An agent makes ten rollouts a minute of one deployment at most. */
const DEPLOYMENTS = 8;
const OBJECTS = 5;
const BYTES = 100;
const LIMIT_MS = 60_000;

type Stage = "asked for" | "planning" | "applying" | "first object";
type Times = Partial<Record<Stage, number>>;

/** From the vendor's promotion until the first object of the release is there, with everything real between them. */
export async function promoting(options: ReleasesOptions, signal: AbortSignal): Promise<Row> {
  const { promotions, say } = options;
  await using stack = new AsyncDisposableStack();
  const world = await startWholeWorld(stack, DEPLOYMENTS, DELAY_MS, say, signal);
  const all: Times[] = [];
  for (let round = -DEPLOYMENTS; round < promotions; round += 1) {
    const follower = world.followers[(round + DEPLOYMENTS) % DEPLOYMENTS] as Follower;
    const times = await promotion(world, follower, `1.0.${round + DEPLOYMENTS}`, signal);
    // The first one of each deployment warms three processes up.
    if (round < 0) continue;
    all.push(times);
    if (round % 10 === 9) say(`promotion ${round + 1} of ${promotions}: ${JSON.stringify(times)}`);
  }
  const stages = ["asked for", "planning", "applying", "first object"] as const;
  const spreads = Object.fromEntries(stages.map((stage) => [stage, spread(all.map((each) => each[stage] ?? 0))]));
  const { median = Number.NaN, p99 = Number.NaN } = spreads["first object"] ?? {};
  const steps = stages.slice(0, -1).map((stage) => `${stage} ${Math.round(spreads[stage]?.median ?? 0)}`);
  return {
    what: `promotion → first object is applied, over a link of ${DELAY_MS} ms each way, ${all.length} times`,
    measured: `median ${Math.round(median)} ms, p99 ${Math.round(p99)} ms (medians: ${steps.join(", ")})`,
    goal: `p99 ${GOAL_MS} ms`,
    reached: p99 <= GOAL_MS,
    figures: spreads,
  };
}

async function promotion(world: WholeWorld, follower: Follower, version: string, signal: AbortSignal): Promise<Times> {
  const releaseId = await created(world, follower, version, settingsOf(follower.name, OBJECTS, BYTES));
  const times: Times = {};
  const startedMs = performance.now();
  const mark = (stage: Stage): void => {
    times[stage] ??= performance.now() - startedMs;
  };
  const there = Promise.withResolvers<void>();
  const known = new Set(world.rollouts.store.list().map(({ metadata }) => metadata.name));
  const noted = ({ metadata, status }: Rollout): void => {
    if (known.has(metadata.name)) return;
    mark("asked for");
    if (status?.state === "Planning") mark("planning");
    if (status?.startedAt !== undefined) mark("applying");
  };
  const removers = [
    world.rollouts.onChange(({ object }) => noted(object)),
    world.settings.onChange(({ object }) => {
      if (releaseOf(object) !== releaseId) return;
      mark("first object");
      there.resolve();
    }),
  ];
  const late = setTimeout(() => there.reject(new Error(`nothing of ${releaseId} is there`)), LIMIT_MS);
  try {
    await promoted(world, follower, releaseId);
    await there.promise;
  } finally {
    clearTimeout(late);
    for (const remove of removers) remove();
  }
  await statusOf(
    world,
    follower.id,
    (shown) => shown.status === "running" && shown.currentReleaseId === releaseId,
    signal,
  );
  return times;
}
