import { expect, test } from "vitest";
import { SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type Report, useHealth } from "./health-world.ts";

// The API server ends and comes back under an agent that goes on: what it kept open is refused as too old, and all its
// caches list again.
const NAMES = ["api", "web", "db", "queue", "brief"];
// The lease outlives the restart: without it the agent would end, and begin anew with a full report.
const lease = { SALLYPORT_LEASE_DURATION: "120s", SALLYPORT_RENEW_DEADLINE: "100s" };
const { cluster, health } = useHealth({
  workloads: NAMES,
  settings: { SALLYPORT_ACCESS_CHECK_INTERVAL: "2s", ...lease },
});
const { reports, seen } = health;

async function counted(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const values = (await health.agent.registry.getSingleMetric(name)?.get())?.values ?? [];
  return values
    .filter((each) => Object.entries(labels).every(([key, value]) => each.labels[key as never] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

const batches = (all: readonly Report[]) =>
  all.flatMap(({ observedInventoryBatches = [] }) => observedInventoryBatches);
const heartbeats = (all: readonly Report[]) => all.flatMap(({ resourceHeartbeats = [] }) => resourceHeartbeats);
const nameOf = (id: string): string => id.split(/[.:]/).at(-1) ?? "";

test("when the API server restarts, only what changed is told, and nothing is told as gone that is there", async () => {
  const all = Object.fromEntries([...NAMES, "web"].map((name) => [name, "healthy 2"]));
  await eventually(seen, (rows) => NAMES.every((name) => rows[name] === all[name]));
  await eventually(
    async () => reports.at(-1)?.resourceLevel,
    ({ complete }) => complete,
  );
  // That the cluster does not measure pods is news of its own, a moment after the first report.
  await eventually(
    async () => heartbeats(reports).filter(({ data }) => data.data.status.collectionIssues.length > 0),
    (told) => NAMES.every((name) => told.some(({ resourceId }) => nameOf(resourceId) === name)),
  );
  const [before, gone, full] = [
    reports.length,
    await counted("watch_restarts_total", { reason: "gone" }),
    await counted("sallyport_resource_reports_total", { mode: "full", result: "ok" }),
  ];
  const { apiserver } = cluster().programs;
  await apiserver.kill();
  await apiserver.start(signal());
  // A fresh API server may need a moment to load RBAC.
  await eventually(
    () =>
      cluster()
        .kubectl(["delete", "deployment", "brief", "-n", SHOP])
        .catch(() => undefined),
    () => true,
  );
  await health.ready("api", 1);
  const rest = ["web", "db", "queue"];
  await eventually(seen, (rows) => {
    expect(rest.filter((name) => rows[name] !== "healthy 2")).toEqual([]);
    return rows.api === "degraded 1" && rows.brief === undefined;
  });
  // Every list of the agent has been read again.
  await eventually(
    () => counted("watch_restarts_total", { reason: "gone" }),
    (count) => count - gone >= 9,
  );
  await health.ready("api", 2);
  await eventually(seen, (rows) => rows.api === "healthy 2");

  const told = reports.slice(before);
  expect(batches(told).flatMap(({ removed = [] }) => removed.map(nameOf))).toEqual(["brief"]);
  expect(
    told.flatMap(({ removedHeartbeats = [] }) => removedHeartbeats.map((each) => nameOf(each.resourceId))),
  ).toEqual(["brief"]);
  expect(batches(told).flatMap(({ resources }) => resources.map((each) => each.displayName))).toEqual(["api", "api"]);
  expect(heartbeats(told).map(({ resourceId }) => nameOf(resourceId))).toEqual(["api", "api"]);
  expect(batches(told).filter(({ complete, mode }) => !complete || mode !== "delta")).toEqual([]);
  expect(told.filter(({ resourceLevel }) => resourceLevel?.complete === false)).toEqual([]);
  expect(await counted("sallyport_resource_resends_total", {})).toBe(0);
  expect(await counted("sallyport_resource_reports_total", { mode: "full", result: "ok" })).toBe(full);
  // The server's refusals, in its words and not in the bytes of their encoding.
  expect(health.world.logged.filter((each) => each.includes(String.raw`k8s\u0000`))).toEqual([]);
});
