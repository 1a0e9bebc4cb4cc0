import { setTimeout as pause } from "node:timers/promises";
import { ask } from "../platform/ask.ts";
import { Child } from "../platform/child.ts";
import { fleet } from "../platform/health.ts";
import { manyManagers } from "../platform/rows.ts";
import { postgresServer } from "../running.ts";
import { type Row, spread } from "../table.ts";
import { mixedResources } from "./objects.ts";
import type { ReleasesOptions } from "./options.ts";
import type { FollowReport, ReleaseSwarmCommands } from "./release-swarm.ts";

const GOAL_S = 60;
const LIMIT_MS = 180_000;
const RAMP_MS = 10_000;
const OBJECTS = 50;

/** All deployments that follow a channel of one platform, each with a manager of its own, which is a plain socket here. */
export async function together({ followers: count, say }: ReleasesOptions, signal: AbortSignal): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const postgres = await postgresServer(stack);
  const vendor = await fleet(stack, postgres.url, "together", false);
  const call = ask(vendor.port, vendor.key);
  const agents = await manyManagers(postgres.url, vendor.workspaceId, vendor.deploymentId, count);
  const swarm = new Child<ReleaseSwarmCommands>(new URL("release-swarm.ts", import.meta.url));
  stack.defer(() => swarm.stop());
  await swarm.call("follow", { port: vendor.port, agents, rampMs: RAMP_MS });
  await reported(swarm, ({ holding }) => holding === count, signal);
  say(`releases: promoting ${count} deployments that each have a manager`);
  const kubernetes = { id: "shop", resources: mixedResources(OBJECTS) };
  const release = { project: "shop", version: "1.0.0", stack: { kubernetes } };
  const { id: releaseId } = (await call("POST", "/v1/releases", release)).body;
  const startedMs = performance.timeOrigin + performance.now();
  await call("POST", "/v1/release-channels/production/promote?project=shop", { releaseId });
  const { updatingAtMs, failed } = await reported(swarm, (report) => report.updatingAtMs.length >= count, signal);
  await swarm.call("leave");
  const times = spread(updatingAtMs.map((atMs) => (atMs - startedMs) / 1_000));
  const refused = Object.values(failed).reduce((sum, each) => sum + each, 0);
  if (refused > 0) say(`releases: ${JSON.stringify(failed)}`);
  return {
    what: `${count} deployments of one platform promoted at once`,
    measured:
      `${updatingAtMs.length} updating, the last after ${times.max.toFixed(1)} s (median ${times.median.toFixed(1)} s), ` +
      `${refused} requests failed`,
    goal: `all within ${GOAL_S} s`,
    reached: updatingAtMs.length >= count && times.max <= GOAL_S,
    figures: { ...times, updating: updatingAtMs.length, failed },
  };
}

/** What the swarm says once it is so, or when it has taken too long. */
async function reported(
  swarm: Child<ReleaseSwarmCommands>,
  isWanted: (report: FollowReport) => boolean,
  signal: AbortSignal,
): Promise<FollowReport> {
  const endsMs = performance.now() + LIMIT_MS;
  for (;;) {
    const report = await swarm.call("report");
    if (isWanted(report) || performance.now() > endsMs) return report;
    await pause(100, undefined, { signal });
  }
}
