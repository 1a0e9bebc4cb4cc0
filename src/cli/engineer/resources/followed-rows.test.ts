import { expect, it } from "vitest";
import { type DeployedResource, MAX_RESOURCE_ROWS } from "../../../contract/resources/resources.ts";
import { FollowedRows } from "./followed-rows.ts";

const row = (resourceId: string, health: "healthy" | "unhealthy" = "healthy"): DeployedResource => ({
  ...{
    resourceId,
    objectId: resourceId,
    resourceType: "container",
    name: resourceId,
    namespace: "shop",
    backend: "kubernetes",
    health,
  },
  ...{ controllerPlatform: "kubernetes", lifecycle: "running", message: null, partial: false, providerStale: false },
  ...{ platformStale: false, staleSince: null, desiredCount: 1, currentCount: 1, readyCount: 1, deploymentCount: 1 },
  ...{ attentionCount: health === "healthy" ? 0 : 1, lastObservedAt: "2026-01-01T00:00:00.000Z", source: "observed" },
  ...{ deploymentId: "dep_1", deploymentName: "shop" },
});

/** A list of which the last row says only that it was cut. */
const cut = (...rows: DeployedResource[]) => ({ rows: [...rows, row("last")], isCut: true });
const whole = (...rows: DeployedResource[]) => ({ rows, isCut: false });

/** What is there, beside what a list shows of it. */
class Watched {
  readonly there = new Map<string, DeployedResource>();
  readonly asked: string[] = [];
  readonly #followed = new FollowedRows();
  readonly #onlySick: boolean;

  constructor(onlySick = false) {
    this.#onlySick = onlySick;
  }

  is(...rows: DeployedResource[]): void {
    for (const each of rows) this.there.set(each.resourceId, each);
  }

  async sees(listed: { rows: DeployedResource[]; isCut: boolean }): Promise<readonly string[]> {
    const isWanted = (each: DeployedResource) => !this.#onlySick || each.attentionCount > 0;
    const shown = await this.#followed.changes(listed, isWanted, async ({ resourceId }) => {
      this.asked.push(resourceId);
      return this.there.get(resourceId);
    });
    return shown.map((each) => `${each.row.resourceId} ${each.end ?? each.row.health}`);
  }
}

it.each([true, false])(
  "what recovers and falls behind the cut is shown as it is; only what is sick: %s",
  async (only) => {
    const watched = new Watched(only);
    await watched.sees(cut(row("api", "unhealthy"), row("web", "unhealthy")));
    watched.is(row("api"));
    expect(await watched.sees(cut(row("web", "unhealthy")))).toEqual(["api healthy"]);
    expect(await watched.sees(cut(row("web", "unhealthy")))).toEqual([]);
    expect(watched.asked).toEqual(["api"]);
  },
);

it("what left a cut list and is not there either is gone, as is what left a whole one", async () => {
  const watched = new Watched();
  await watched.sees(cut(row("api"), row("web")));
  expect(await watched.sees(cut(row("web")))).toEqual(["api gone"]);
  expect(await watched.sees(whole())).toEqual(["web gone"]);
  expect(watched.asked).toEqual(["api"]);
});

it("a row that is pushed out by another and comes back unchanged is no news, nor is the last row of a cut list", async () => {
  const watched = new Watched();
  const [api, web] = [row("api"), row("web")];
  watched.is(api, web);
  expect(await watched.sees(cut(api, web))).toEqual(["api healthy", "web healthy"]);
  expect(await watched.sees(cut(row("new", "unhealthy"), api))).toEqual(["new unhealthy"]);
  watched.is(row("new"));
  expect(await watched.sees(cut(api, web))).toEqual(["new healthy"]);
  expect(
    await watched.sees({ rows: [api, { ...web, message: "only the first 2 rows are shown" }], isCut: true }),
  ).toEqual([]);
});

it("many that leave at once are asked for a few at each look, in turn, and none is gone before it was", async () => {
  const watched = new Watched(true);
  const sick = Array.from({ length: 25 }, (_, index) => row(`r${index}`, "unhealthy"));
  await watched.sees(cut(...sick));
  watched.is(...sick.slice(0, 24).map(({ resourceId }) => row(resourceId)));
  const looks = [await watched.sees(cut(row("other"))), await watched.sees(cut()), await watched.sees(cut())];
  expect(looks.map((shown) => shown.length)).toEqual([10, 10, 5]);
  expect(looks.flat()).toEqual([...sick.slice(0, 24).map(({ resourceId }) => `${resourceId} healthy`), "r24 gone"]);
  expect(await watched.sees(cut())).toEqual([]);
});

it("what waits is bounded: the rest is told as not listed, and never as gone", async () => {
  const watched = new Watched();
  const list = (part: number) =>
    Array.from({ length: MAX_RESOURCE_ROWS }, (_, index) => row(`${part}-${index}`, "unhealthy"));
  watched.is(...[0, 1, 2].flatMap((part) => list(part).map(({ resourceId }) => row(resourceId))));
  const ends: string[] = [];
  for (const part of [0, 1, 2]) {
    ends.push(...(await watched.sees(cut(...list(part)))).filter((line) => !line.endsWith("healthy")));
  }
  // Of 1,000 rows that leave at each of two looks ten are asked for, and at most 1,000 wait.
  expect(ends).toHaveLength(2 * MAX_RESOURCE_ROWS - 20 - MAX_RESOURCE_ROWS);
  expect(new Set(ends.map((line) => line.replace(/^\S+ /, "")))).toEqual(new Set(["not listed"]));
  expect(watched.asked).toHaveLength(20);
});
