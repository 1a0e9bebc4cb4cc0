import { writeFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { mib } from "../agent/options.ts";
import { usageOf } from "../agent/usage.ts";
import type { Row } from "../table.ts";
import { rendered, settingsOf } from "./objects.ts";
import type { ReleasesOptions } from "./options.ts";
import { DEPLOYMENT_ID, type ReleaseWorld } from "./world.ts";

const GOAL_MIB = 40;
/** The largest that the agent makes, with some room for labels. */
const CONTENT_BYTES = 880 * 1_024;
const OBJECTS = 100;
const REST_MS = 15_000;
/** `/proc/<pid>/clear_refs`: the highest so far is what it is now. */
const RESET_PEAK = "5";

/** What the operator needs on top of its memory at rest for the largest content that there may be. */
export async function memory(world: ReleaseWorld, { say }: ReleasesOptions, signal: AbortSignal): Promise<Row> {
  const { pid } = world.operator;
  await world.clean();
  // What is loaded once, at the first release, is no part of it. Nothing of it is deleted later: no controller runs here.
  await world.roll(rendered(settingsOf("large", 10, 100), DEPLOYMENT_ID, "0.0.1"), "install", "0.0.1");
  await pause(REST_MS, undefined, { signal });
  const objects = largeObjects();
  const bytes = JSON.stringify(objects).length;
  const before = usageOf(pid);
  await writeFile(`/proc/${pid}/clear_refs`, RESET_PEAK);
  const course = await world.roll(objects, "update", "2.0.0");
  await world.roll(objects, "update", "2.0.0");
  const after = usageOf(pid);
  await world.clean();
  const moreMib = (after.peakKib - before.rssKib) / 1_024;
  say(`memory: ${mib(before.rssKib)} at rest, peak ${mib(after.peakKib)}; ${course.ended.toFixed(1)} s`);
  return {
    what: `operator's memory during a release of ${Math.round(bytes / 1_024)} KiB, and the same again`,
    measured: `${moreMib.toFixed(0)} MiB more (${mib(before.rssKib)} at rest, peak ${mib(after.peakKib)})`,
    goal: `at most ${GOAL_MIB} MiB more`,
    reached: moreMib <= GOAL_MIB,
    figures: { before, after, bytes },
  };
}

/** Of that size. A stack has half of it at most: variables of the configuration, which each container gets, make the rest. */
function largeObjects(): readonly ReleaseObject[] {
  const objects = rendered(settingsOf("large", OBJECTS, 1), DEPLOYMENT_ID, "2.0.0");
  const each = Math.floor((CONTENT_BYTES - JSON.stringify(objects).length) / OBJECTS);
  return objects.map((line) => ({ ...line, manifest: { ...line.manifest, data: { settings: "x".repeat(each) } } }));
}
