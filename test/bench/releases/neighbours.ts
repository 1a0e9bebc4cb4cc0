import { type Row, spread } from "../table.ts";
import { settingsOf } from "./objects.ts";
import type { ReleasesOptions } from "./options.ts";
import { created, promoted, releaseOf, startWholeWorld, statusOf } from "./whole-world.ts";

const OBJECTS = 3;
const BYTES = 100;

/** All deployments of one cluster at once, with one agent and one operator. */
export async function neighbours({ neighbours: count, say }: ReleasesOptions, signal: AbortSignal): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const world = await startWholeWorld(stack, count, 0, say, signal);
  const releases = new Map<string, string>();
  for (const follower of world.followers) {
    releases.set(await created(world, follower, "1.0.0", settingsOf(follower.name, OBJECTS, BYTES)), follower.id);
  }
  const [begun, there]: [Map<string, number>, Map<string, number>] = [new Map(), new Map()];
  const startedMs = performance.now();
  const note = (known: Map<string, number>, name: string): void => {
    if (!known.has(name)) known.set(name, (performance.now() - startedMs) / 1_000);
  };
  world.rollouts.onChange(({ object: { metadata, status } }) => {
    if (status?.startedAt !== undefined) note(begun, metadata.name);
  });
  world.settings.onChange(({ object }) => {
    const releaseId = releaseOf(object);
    if (releaseId !== undefined) note(there, releaseId);
  });
  say(`releases: promoting ${count} deployments of one cluster`);
  const releaseIds = [...releases.keys()];
  await Promise.all(world.followers.map((follower, index) => promoted(world, follower, releaseIds[index] ?? "")));
  await Promise.all(
    [...releases].map(([releaseId, id]) =>
      statusOf(world, id, (shown) => shown.status === "running" && shown.currentReleaseId === releaseId, signal),
    ),
  );
  const seconds = (performance.now() - startedMs) / 1_000;
  const [starts, objects] = [spread([...begun.values()]), spread([...there.values()])];
  return {
    what: `${count} deployments of one cluster promoted at once, one agent and one operator`,
    measured:
      `${begun.size} begun, the last after ${starts.max.toFixed(1)} s (median ${starts.median.toFixed(1)} s); ` +
      `all running after ${seconds.toFixed(1)} s`,
    goal: "",
    figures: { starts, objects, seconds },
  };
}
