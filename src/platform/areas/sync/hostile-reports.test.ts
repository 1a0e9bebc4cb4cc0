import { sql } from "kysely";
import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const FUTURE = "9999-12-31T23:59:59.999Z";
const LEVEL = { observedAt: "2026-01-01T00:00:00Z", digest: "0".repeat(16), heartbeats: 0, rows: 0, complete: true };
const STATUS = { health: "healthy", lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
const ROW = {
  ...{ rawIdentity: "a", providerKind: "Deployment", displayName: "a", health: "healthy", lifecycle: "running" },
  ...{ partial: false, providerStale: false },
};
const BATCH = {
  ...{ sourceKind: "operator", inventoryScope: "shop", controllerPlatform: "kubernetes", backend: "kubernetes" },
  ...{ observedAt: "2026-01-01T00:00:00Z", complete: true, resources: [ROW] },
};
const HEARTBEAT = {
  ...{ resourceId: "q", resourceType: "queue", controllerPlatform: "kubernetes", backend: "external", raw: [] },
  ...{ observedAt: "2026-01-01T00:00:00Z", data: { resourceType: "queue", data: { status: STATUS } } },
};
const GONE = { resourceType: "queue", resourceId: "q" };
const ids = (count: number, length = 1): string[] =>
  Array.from({ length: count }, (_, n) => `${n}`.padEnd(length, "x"));
const level = (more: object) => ({ resourceLevel: { ...LEVEL, ...more } });
const batch = (more: object) => ({ observedInventoryBatches: [{ ...BATCH, ...more }] });
const gone = (...more: object[]) => ({ removedHeartbeats: more.map((each) => ({ ...GONE, ...each })) });
const BATCH_PATH = "body.observedInventoryBatches.0";

/** What is refused, and the path that says where it is wrong. */
const REFUSED: readonly (readonly [string, object, string])[] = [
  ["no level", { resourceLevel: null }, "body.resourceLevel"],
  ["a digest in upper case", level({ digest: "F".repeat(16) }), "body.resourceLevel.digest"],
  ["a digest of SHA-256", level({ digest: "0".repeat(64) }), "body.resourceLevel.digest"],
  ["a digest of NULs", level({ digest: "\u0000".repeat(16) }), "body.resourceLevel.digest"],
  ["fewer than no heartbeats", level({ heartbeats: -1 }), "body.resourceLevel.heartbeats"],
  ["half a row", level({ rows: 0.5 }), "body.resourceLevel.rows"],
  ["more rows than a database counts", level({ rows: 2 ** 53 }), "body.resourceLevel.rows"],
  ["a day that is none", level({ observedAt: "2026-02-30T00:00:00Z" }), "body.resourceLevel.observedAt"],
  ["full as a word", level({ full: "yes" }), "body.resourceLevel.full"],
  ["a key of tomorrow in the level", level({ sequence: 1 }), "body.resourceLevel.sequence"],
  ["101 ended heartbeats", gone(...Array(101).fill({})), "body.removedHeartbeats"],
  ["an unknown form of type", gone({ resourceType: "Queue" }), "body.removedHeartbeats.0.resourceType"],
  ["a huge id", gone({ resourceId: "x".repeat(254) }), "body.removedHeartbeats.0.resourceId"],
  ["NUL in an id", gone({ resourceId: "\u0000" }), "body.removedHeartbeats.0.resourceId"],
  ["half a character in an id", gone({}, { resourceId: "\ud800" }), "body.removedHeartbeats.1.resourceId"],
  ["a mode that is none", batch({ mode: "partial" }), `${BATCH_PATH}.mode`],
  ["a mode of nothing", batch({ mode: null }), `${BATCH_PATH}.mode`],
  ["10,000 removed in one batch", batch({ removed: ids(10_000) }), `${BATCH_PATH}.removed`],
  ["a removed id too long", batch({ removed: ["x".repeat(513)] }), `${BATCH_PATH}.removed.0`],
  ["a removed id of nothing", batch({ removed: ["a", ""] }), `${BATCH_PATH}.removed.1`],
  ["NUL in a removed id", batch({ removed: ["a", "\u0000"] }), `${BATCH_PATH}.removed.1`],
  [
    "half a character in a row",
    batch({ resources: [{ ...ROW, message: "\udc00" }] }),
    `${BATCH_PATH}.resources.0.message`,
  ],
  ["part 1000", batch({ part: { index: 1_000, count: 1_000 } }), `${BATCH_PATH}.part.index`],
  ["of no parts", batch({ part: { index: 0, count: 0 } }), `${BATCH_PATH}.part.count`],
  [
    "more pods than all clusters have",
    batch({ resources: [{ ...ROW, counts: { desired: 1e300 } }] }),
    `${BATCH_PATH}.resources.0.counts.desired`,
  ],
  ["501 rows", batch({ resources: ids(501).map((id) => ({ ...ROW, rawIdentity: id })) }), `${BATCH_PATH}.resources`],
  ["21 batches", { observedInventoryBatches: Array(21).fill(BATCH) }, "body.observedInventoryBatches"],
  ["101 heartbeats", { resourceHeartbeats: Array(101).fill(HEARTBEAT) }, "body.resourceHeartbeats"],
];

/** What is taken, and the ids that are listed then; before it there were `a` and `q`. */
const TAKEN: readonly (readonly [string, object, readonly string[]])[] = [
  ["a level from the future", level({ observedAt: FUTURE, heartbeats: 1, rows: 1 }), ["a", "q"]],
  ["a full level of nothing, from before all", level({ full: true }), ["a", "q"]],
  ["a full level of nothing, from the future", level({ observedAt: FUTURE, full: true }), []],
  ["what is ended twice, and what never was", gone({}, {}, { resourceId: "never" }), ["a"]],
  ["ended and reported at once: it is there", { ...gone({}), resourceHeartbeats: [HEARTBEAT] }, ["a", "q"]],
  ["removed and told at once: it is there", batch({ observedAt: FUTURE, mode: "delta", removed: ["a"] }), ["a", "q"]],
  ["one row twice", batch({ observedAt: FUTURE, resources: [ROW, ROW] }), ["a", "q"]],
  [
    "10,000 removed in 20 batches",
    {
      observedInventoryBatches: Array.from({ length: 20 }, (_, n) => ({
        ...BATCH,
        observedAt: FUTURE,
        mode: "delta",
        resources: [],
        removed: [...ids(499, 6), n === 7 ? "a" : "b"],
      })),
    },
    ["q"],
  ],
  ["a part beyond the count", batch({ observedAt: FUTURE, resources: [], part: { index: 999, count: 1 } }), ["q"]],
  [
    "a part of a list that never comes",
    batch({ observedAt: FUTURE, resources: [], part: { index: 0, count: 1_000 } }),
    ["a", "q"],
  ],
  [
    "a delta that is a part",
    batch({ observedAt: FUTURE, mode: "delta", resources: [], part: { index: 0, count: 1 } }),
    ["a", "q"],
  ],
  ["a list that is refused", batch({ observedAt: FUTURE, complete: false, resources: [] }), ["a", "q"]],
  ["a list from before", batch({ observedAt: "1970-01-01T00:00:00Z", resources: [] }), ["a", "q"]],
  [
    "ids of signs",
    batch({ observedAt: FUTURE, resources: [{ ...ROW, rawIdentity: "\u202e😀'\"\\%_" }] }),
    ["\u202e😀'\"\\%_", "q"],
  ],
];

onEachDatabase("reports of a stranger", (world) => {
  const told = async (): Promise<{ site: Site; id: string; listed: () => Promise<string[]> }> => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const more = { resourceHeartbeats: [HEARTBEAT], observedInventoryBatches: [BATCH] };
    expect((await site.report(id, "pending", { ...more, resourceLevel: LEVEL })).status).toBe(200);
    const listed = async (): Promise<string[]> => {
      const answer = await site.call("GET", "/v1/resources", { query: { deploymentId: id } });
      expect(answer.status).toBe(200);
      return answer.body.resources.map(({ resourceId }: { resourceId: string }) => resourceId).toSorted();
    };
    return { site, id, listed };
  };

  it("are refused with the place of what is wrong, and nothing of them is stored", async () => {
    const { site, id, listed } = await told();
    for (const [what, more, path] of REFUSED) {
      const beside =
        "resourceHeartbeats" in more ? {} : { resourceHeartbeats: [{ ...HEARTBEAT, resourceId: "beside" }] };
      const answer = await site.report(id, "pending", { ...beside, ...more });
      expect([what, answer.status, answer.body.code]).toEqual([what, 400, "VALIDATION_ERROR"]);
      const paths = answer.body.context.issues.map((issue: { path: string }) => issue.path);
      expect([what, paths]).toEqual([what, expect.arrayContaining([path])]);
    }
    expect(await listed()).toEqual(["a", "q"]);
  });

  it.each(TAKEN)("are taken as what they say: %s", async (_what, more, expected) => {
    const { site, id, listed } = await told();
    const answer = await site.report(id, "pending", more);
    expect([answer.status, answer.body.code]).toEqual([200, undefined]);
    expect(await listed()).toEqual(expected.toSorted());
  });

  it("no clock that is ahead makes a report fresh for longer, and the next one counts again", async () => {
    const { site, id } = await told();
    const rowOf = async () => (await site.call("GET", "/v1/resources", { query: { deploymentId: id } })).body.resources;
    await site.report(id, "pending", {
      ...batch({ observedAt: FUTURE }),
      ...level({ observedAt: FUTURE, heartbeats: 1 }),
    });
    expect((await rowOf()).every((row: { lastObservedAt: string }) => row.lastObservedAt < FUTURE)).toBe(true);
    world.clock.advance(200_000);
    expect((await rowOf()).every((row: { platformStale: boolean }) => row.platformStale)).toBe(true);
    const observedAt = world.clock.wallNow().toISOString();
    await site.report(id, "pending", batch({ observedAt, resources: [{ ...ROW, rawIdentity: "b" }] }));
    expect((await rowOf()).map(({ resourceId }: { resourceId: string }) => resourceId).toSorted()).toEqual(["b", "q"]);
  });

  it("counts of any height, also of rows from before there was a maximum, make no list fail", async () => {
    const site = await newSite(world);
    const counted = (id: string, desired: number) => ({
      ...{ ...ROW, rawIdentity: id, resourceTypeHint: "worker", counts: { desired, current: 2 ** 31 - 1 } },
    });
    for (let n = 0; n < 10; n += 1) {
      const id = await site.deploy(`d${n}`);
      const observedAt = world.clock.wallNow().toISOString();
      const resources = [counted("high", 1_000_000_000_000), counted("stored", 1)];
      const answer = await site.report(id, "pending", batch({ observedAt, resources }));
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    }
    for (const [row, desired] of Object.entries({ high: "999999999999999", stored: "1e300" })) {
      await sql`
        update inventory_rows i set body = jsonb_set(i.body, '{counts,desired}', ${desired}::jsonb) from deployments d
        where d.id = i.deployment_id and d.project_id = ${site.project.id} and i.raw_identity = ${row}`.execute(
        world.platform.db,
      );
    }
    const list = async (path: string) => {
      const { status, body } = await site.call("GET", path, { query: { project: site.project.id } });
      expect([path, status]).toEqual([path, 200]);
      return body.resources.map((row: { resourceId: string; desiredCount: number | null; currentCount: number }) => [
        row.resourceId,
        row.desiredCount,
        row.currentCount,
      ]);
    };
    expect(await list("/v1/resources")).toHaveLength(20);
    expect(await list("/v1/resources/worker")).toEqual([
      ["high", Number.MAX_SAFE_INTEGER, 10 * (2 ** 31 - 1)],
      ["stored", null, 10 * (2 ** 31 - 1)],
    ]);
  });

  const RAW = {
    "a number beyond all": '{"more":1e400}',
    "the least number": '{"more":-1e-400}',
    "a key twice": '{"more":1,"more":2}',
    "a prototype": '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}',
    "empty keys": '{"":{"":[]}}',
  };
  it.each(Object.entries(RAW))("no JSON makes a 500: %s", async (_what, more) => {
    const { site, id } = await told();
    const observedAt = world.clock.wallNow().toISOString();
    const heartbeat = { ...HEARTBEAT, observedAt, data: { ...HEARTBEAT.data, data: { status: STATUS, more: "MORE" } } };
    const row = { ...ROW, attributes: { more: "MORE" } };
    const body = {
      ...{ deploymentId: id, state: { status: "pending", platform: "kubernetes", protocolVersion: 1 } },
      ...{ resourceHeartbeats: [heartbeat], observedInventoryBatches: [{ ...BATCH, observedAt, resources: [row] }] },
      resourceLevel: { ...LEVEL, observedAt },
    };
    const response = await fetch(`${world.platform.url}/v1/sync/reconcile`, {
      method: "POST",
      headers: { authorization: `Bearer ${site.manager.key}`, "content-type": "application/json" },
      body: JSON.stringify(body).replaceAll('"MORE"', more),
    });
    const answer: Answer["body"] = await response.json();
    expect([200, 400], JSON.stringify(answer)).toContain(response.status);
    if (response.status === 400) expect(answer.context.issues[0].path).toMatch(/^body\./);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});
