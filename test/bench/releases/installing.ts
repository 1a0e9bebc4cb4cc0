import { DEPLOYMENT_ID_LABEL } from "../../../src/crds/release-names.ts";
import { SHOP } from "../../world/people.ts";
import { type Row, spread } from "../table.ts";
import { mixedResources, rendered, withMinReady } from "./objects.ts";
import type { ReleasesOptions } from "./options.ts";
import { type Course, DEPLOYMENT_ID, type ReleaseWorld } from "./world.ts";

/** How long the gate has pods be ready (`src/operator/rollouts/hands/health`). */
const MIN_READY_S = 10;
const GOAL_S = 10;
const GOAL_RATIO = 1.2;

/** Beside kubectl, which gets the very same objects; with and without the wait that the gate has by design. */
export async function installing(world: ReleaseWorld, options: ReleasesOptions): Promise<readonly Row[]> {
  const { objects: count, runs, say } = options;
  const objects = rendered(mixedResources(count), DEPLOYMENT_ID, "1.0.0");
  const manifests = objects.map(({ manifest }) => manifest);
  const patient = manifests.map((manifest) => withMinReady(manifest, MIN_READY_S));
  const [ours, kubectl, waiting]: [Course[], number[], number[]] = [[], [], []];
  let calls = 0;
  for (let round = 0; round <= runs; round += 1) {
    await world.clean();
    const before = await world.calls("sallyport");
    const course = await world.roll(objects, "install", "1.0.0");
    calls = (await world.calls("sallyport")) - before;
    await world.clean();
    const plain = await applied(world, manifests);
    await world.clean();
    const slow = await applied(world, patient);
    say(
      `install ${round} of ${runs}: ${course.ended.toFixed(1)} s (${told(course)}); kubectl ${plain.toFixed(1)} s, with minReadySeconds ${slow.toFixed(1)} s`,
    );
    // The first one warms the programs up.
    if (round === 0 && runs > 0) continue;
    ours.push(course);
    kubectl.push(plain);
    waiting.push(slow);
  }
  const all = spread(ours.map(({ ended }) => ended));
  const work = spread(ours.map(({ ended }) => ended - MIN_READY_S));
  const [peer, slowPeer] = [spread(kubectl), spread(waiting)];
  const ratio = work.median / peer.median;
  return [
    {
      what: `${count} objects planned, applied and healthy, without the wait of ${MIN_READY_S} s`,
      measured: `${work.median.toFixed(1)} s, kubectl ${peer.median.toFixed(1)} s: ${ratio.toFixed(2)} ×; ${calls} calls`,
      goal: `at most ${GOAL_S} s and ${GOAL_RATIO} ×`,
      reached: work.median <= GOAL_S && ratio <= GOAL_RATIO,
      figures: { ours: work, kubectl: peer, calls, states: ours.map(({ states, ready }) => ({ ...states, ready })) },
    },
    {
      what: `the same with it, kubectl with minReadySeconds: ${MIN_READY_S}`,
      measured: `${all.median.toFixed(1)} s, kubectl ${slowPeer.median.toFixed(1)} s: ${(all.median / slowPeer.median).toFixed(2)} ×`,
      goal: "",
      figures: { ours: all, kubectl: slowPeer },
    },
  ];
}

/** Seconds until everything is ready, as a person would do it. */
async function applied(world: ReleaseWorld, manifests: readonly object[]): Promise<number> {
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests });
  const startedMs = performance.now();
  await world.kubectl(["apply", "--server-side", "-f", "-"], stdin);
  await world.kubectl(["rollout", "status", "deployment", "-n", SHOP, "-l", DEPLOYMENT_ID_LABEL, "--timeout=10m"]);
  return (performance.now() - startedMs) / 1_000;
}

/** When each state began. */
export function told({ states, ready, ended }: Course): string {
  const all = [...Object.entries(states), ["last pod ready", ready] as const, ["ended", ended] as const];
  return all
    .toSorted(([, one], [, other]) => one - other)
    .map(([state, at]) => `${state} ${at.toFixed(2)}`)
    .join(", ");
}
