import { expect, it } from "vitest";
import type {
  ObservedInventoryBatch,
  ObservedResource,
  ResourceHeartbeat,
} from "../../../contract/resources/resource-heartbeat.ts";
import { digestOf, heartbeatHash, rowHash } from "../../../contract/resources/resource-level.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const SCOPE = { sourceKind: "operator", inventoryScope: "kubernetes:apps/v1:Deployment:shop" } as const;

onEachDatabase("what a reporter has told, and confirms", (world) => {
  const now = (addMs = 0): string => new Date(world.clock.wallNow().getTime() + addMs).toISOString();
  const heartbeat = (id: string, ready = 1, observedAt = now()): ResourceHeartbeat => {
    const status = {
      health: "healthy",
      lifecycle: "running",
      partial: false,
      stale: false,
      collectionIssues: [],
    } as const;
    return {
      ...{ resourceId: id, resourceType: "queue", controllerPlatform: "kubernetes", backend: "external" },
      ...{ observedAt, data: { resourceType: "queue", data: { status, replicas: { ready } } as never }, raw: [] },
    };
  };
  const row = (id: string, message = ""): ObservedResource => ({
    ...{ rawIdentity: id, providerKind: "Deployment", displayName: id, health: "healthy", lifecycle: "running" },
    ...{ partial: false, providerStale: false, message },
  });
  const batch = (resources: ObservedResource[], more: object = {}): ObservedInventoryBatch => ({
    ...{ ...SCOPE, controllerPlatform: "kubernetes", backend: "kubernetes", observedAt: now(), complete: true },
    resources,
    ...more,
  });
  const level = (heartbeats: readonly ResourceHeartbeat[], rows: readonly ObservedResource[], more: object = {}) => {
    const hashes = [...heartbeats.map(heartbeatHash), ...rows.map((each) => rowHash(SCOPE, each))];
    const digest = digestOf(hashes.reduce((sum, hash) => sum ^ hash, 0n));
    return { observedAt: now(), digest, heartbeats: heartbeats.length, rows: rows.length, complete: true, ...more };
  };
  const send = async (site: Site, id: string, more: object): Promise<Answer> => {
    const answer = await site.report(id, "pending", more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer;
  };
  const resends = ({ body }: Answer): boolean => body.resendResources === true;
  const listed = async (
    site: Site,
  ): Promise<readonly { resourceId: string; platformStale: boolean; lastObservedAt: string }[]> =>
    (await site.call("GET", "/v1/resources", { query: { project: site.project.name } })).body.resources;
  const idsOf = async (site: Site): Promise<string[]> =>
    (await listed(site)).map(({ resourceId }) => resourceId).toSorted();

  it("a confirmed set stays fresh though no row is sent again", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const [told, rows] = [[heartbeat("q")], [row("api"), row("web")]];
    const first = await send(site, id, {
      resourceHeartbeats: told,
      observedInventoryBatches: [batch(rows)],
      resourceLevel: level(told, rows),
    });
    expect(resends(first)).toBe(false);
    world.clock.advance(170_000);
    const confirmedAt = now();
    expect(resends(await send(site, id, { resourceLevel: level(told, rows, { observedAt: confirmedAt }) }))).toBe(
      false,
    );
    world.clock.advance(170_000);
    expect((await listed(site)).map(({ platformStale, lastObservedAt }) => [platformStale, lastObservedAt])).toEqual(
      Array(3).fill([false, confirmedAt]),
    );
    world.clock.advance(20_000);
    expect((await listed(site)).every(({ platformStale }) => platformStale)).toBe(true);
  });

  it("a level that is not what is stored confirms nothing, and asks for everything", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await send(site, id, { observedInventoryBatches: [batch([row("api")])] });
    world.clock.advance(200_000);
    const wrong = [
      level([], []),
      level([], [row("api", "another")]),
      level([heartbeat("q")], [row("api")]),
      { ...level([], [row("api")]), rows: 2 },
    ];
    for (const resourceLevel of wrong) expect(resends(await send(site, id, { resourceLevel }))).toBe(true);
    expect((await listed(site)).map(({ platformStale }) => platformStale)).toEqual([true]);
    expect(resends(await send(site, id, { resourceLevel: level([], [row("api")]) }))).toBe(false);
  });

  it.each(["inventory_rows", "resource_heartbeats"] as const)(
    "a confirmation after %s was lost alone asks for everything, once",
    async (table) => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const [told, rows] = [[heartbeat("q")], [row("api")]];
      const tell = () =>
        send(site, id, {
          ...{ resourceHeartbeats: [heartbeat("q")], observedInventoryBatches: [batch(rows)] },
          resourceLevel: level(told, rows),
        });
      await tell();
      const confirm = async () => resends(await send(site, id, { resourceLevel: level(told, rows) }));
      expect(await confirm()).toBe(false);
      const { db } = world.platform;
      // What was removed before is no sign of what is there.
      await db.updateTable(table).set({ removed_at: world.clock.wallNow() }).where("deployment_id", "=", id).execute();
      expect(await confirm()).toBe(true);
      await db.deleteFrom(table).where("deployment_id", "=", id).execute();
      expect(await confirm()).toBe(true);
      await tell();
      expect(await confirm()).toBe(false);
      expect(await idsOf(site)).toEqual(["api", "q"]);
      // Nothing was told, and nothing is there.
      world.clock.advance(1_000);
      const removedHeartbeats = [{ resourceType: "queue", resourceId: "q" }];
      await send(site, id, { removedHeartbeats, observedInventoryBatches: [batch([])], resourceLevel: level([], []) });
      expect(resends(await send(site, id, { resourceLevel: level([], []) }))).toBe(false);
    },
  );

  it("lists that are not complete do not count, and are not confirmed", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await send(site, id, { observedInventoryBatches: [batch([row("api")])], resourceLevel: level([], [row("api")]) });
    const refused = batch([], { mode: "delta", complete: false });
    const resourceLevel = level([], [], { complete: false });
    expect(resends(await send(site, id, { observedInventoryBatches: [refused], resourceLevel }))).toBe(false);
    world.clock.advance(190_000);
    expect(resends(await send(site, id, { resourceLevel: level([], [], { complete: false }) }))).toBe(false);
    // Not gone: what was known of it is shown, and that it is old.
    expect((await listed(site)).map(({ resourceId, platformStale }) => [resourceId, platformStale])).toEqual([
      ["api", true],
    ]);
  });

  it.each([true, false])(
    "what cannot be read is as old as it was, however often it is confirmed; list complete: %s",
    async (complete) => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      const [told, rows] = [[heartbeat("q"), heartbeat("fresh")], [row("api")]];
      const list = (resources: ObservedResource[], more: object = {}) => ({
        observedInventoryBatches: [batch(resources, more)],
      });
      await send(site, id, { resourceHeartbeats: told, ...list(rows), resourceLevel: level(told, rows) });
      world.clock.advance(120_000);
      const readAt = now();
      await send(site, id, { resourceLevel: level(told, rows, { observedAt: readAt }) });
      world.clock.advance(60_000);
      const unread = (): ResourceHeartbeat => {
        const last = heartbeat("q");
        const status = { ...last.data.data.status, health: "unknown", stale: true } as const;
        return { ...last, data: { ...last.data, data: { ...last.data.data, status } } };
      };
      const unreadRow = { ...row("api"), health: "unknown", providerStale: true } as const;
      const told2 = [unread(), told[1] as ResourceHeartbeat];
      const leveled = () => level(told2, complete ? [unreadRow] : [], { complete });
      let confirmedAt = "";
      for (const mode of ["delta", "full"]) {
        const more = {
          resourceHeartbeats: [unread()],
          ...list([unreadRow], { mode, complete }),
          resourceLevel: leveled(),
        };
        expect(resends(await send(site, id, more))).toBe(false);
        world.clock.advance(100_000);
        confirmedAt = now();
        const resourceLevel = { ...leveled(), observedAt: confirmedAt };
        expect(resends(await send(site, id, { resourceLevel }))).toBe(false);
      }
      const seen = async () =>
        (await site.call("GET", "/v1/resources", { query: { deploymentId: id } })).body.resources
          .map((each: { resourceId: string; platformStale: boolean; staleSince: string; lastObservedAt: string }) => [
            each.resourceId,
            each.platformStale,
            each.staleSince,
            each.lastObservedAt,
          ])
          .toSorted();
      expect(await seen()).toEqual([
        ["api", true, readAt, readAt],
        ["fresh", false, null, confirmedAt],
        ["q", true, readAt, readAt],
      ]);
      world.clock.advance(1_000);
      await send(site, id, { resourceHeartbeats: [heartbeat("q")], ...list(rows) });
      expect((await seen()).map(([each, , since]: unknown[]) => [each, since])).toEqual([
        ["api", null],
        ["fresh", null],
        ["q", null],
      ]);
    },
  );

  it("removes by name, and after a full report what was not in it", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const told = ["a", "b", "c"].map((name) => heartbeat(name));
    const closed = batch([row("v")], { inventoryScope: "kubernetes:apps/v1:Deployment:closed" });
    const lists = [batch([row("x"), row("y"), row("z")]), closed];
    await send(site, id, { resourceHeartbeats: told, observedInventoryBatches: lists });
    world.clock.advance(1_000);
    const gone = batch([row("w")], { mode: "delta", removed: ["x"] });
    const removedHeartbeats = [{ resourceType: "queue", resourceId: "a" }];
    await send(site, id, { removedHeartbeats, observedInventoryBatches: [gone] });
    expect(await idsOf(site)).toEqual(["b", "c", "v", "w", "y", "z"]);
    // A report of before that arrives late brings nothing back.
    await send(site, id, { resourceHeartbeats: told.slice(0, 1) });
    expect(await idsOf(site)).toEqual(["b", "c", "v", "w", "y", "z"]);
    world.clock.advance(1_000);
    const observedAt = now();
    const [b] = [heartbeat("b", 1, observedAt)];
    await send(site, id, { resourceHeartbeats: [b] });
    const all = [row("w"), row("y")];
    const last = {
      observedInventoryBatches: [batch(all, { observedAt })],
      resourceLevel: level([b], all, { observedAt, full: true }),
    };
    expect(resends(await send(site, id, last))).toBe(false);
    expect(await idsOf(site)).toEqual(["b", "w", "y"]);
    // And what is told again is there again.
    world.clock.advance(1_000);
    await send(site, id, { resourceHeartbeats: [heartbeat("a")] });
    expect(await idsOf(site)).toEqual(["a", "b", "w", "y"]);
  });

  it("a reporter that was restarted without a right ends nothing that it cannot read", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const of = (each: string): ObservedResource => ({ ...row(each), managedResourceId: each });
    const open = { inventoryScope: "kubernetes:apps/v1:StatefulSet:shop" };
    const readAt = now();
    const told = ["closed-a", "closed-b", "open-a", "open-b"].map((each) => heartbeat(each, 1, readAt));
    await send(site, id, {
      resourceHeartbeats: told,
      observedInventoryBatches: [batch([of("closed-a"), of("closed-b")]), batch([of("open-a"), of("open-b")], open)],
    });
    const seen = async (): Promise<unknown[]> =>
      (await site.call("GET", "/v1/resources", { query: { deploymentId: id } })).body.resources
        .map((each: { resourceId: string; source: string; staleSince: string | null }) => [
          ...[each.resourceId, each.source, each.staleSince],
        ])
        .toSorted();
    world.clock.advance(200_000);
    // Restarted: it knows nothing of the closed list, and `open-b` was deleted meanwhile.
    const full = async (more: object = {}): Promise<ResourceHeartbeat> => {
      const observedAt = now();
      const open1 = heartbeat("open-a", 1, observedAt);
      const hashes = [heartbeatHash(open1), rowHash({ ...SCOPE, ...open }, of("open-a"))];
      const resourceLevel = {
        ...{ observedAt, heartbeats: 1, rows: 1, complete: false, full: true },
        digest: digestOf(hashes.reduce((sum, hash) => sum ^ hash, 0n)),
        ...more,
      };
      const answer = await send(site, id, {
        resourceHeartbeats: [open1],
        observedInventoryBatches: [
          batch([], { observedAt, complete: false }),
          batch([of("open-a")], { observedAt, ...open }),
        ],
        resourceLevel,
      });
      expect(resends(answer)).toBe(false);
      // And a confirmation fits, while it makes none fresh that it does not know.
      expect(resends(await send(site, id, { resourceLevel: { ...resourceLevel, full: false } }))).toBe(false);
      return open1;
    };
    for (let restart = 0; restart < 2; restart += 1) {
      await full();
      expect(await seen()).toEqual([
        ["closed-a", "managed", readAt],
        ["closed-b", "managed", readAt],
        ["open-a", "managed", null],
      ]);
      world.clock.advance(200_000);
    }
    // The right comes back: what the list does not have is gone, and what it has is fresh.
    const last = await full();
    const back = heartbeat("closed-a");
    const rows = [of("closed-a")];
    const hashes = [
      ...[heartbeatHash(last), heartbeatHash(back), rowHash(SCOPE, of("closed-a"))],
      rowHash({ ...SCOPE, ...open }, of("open-a")),
    ];
    const resourceLevel = {
      ...{ observedAt: now(), heartbeats: 2, rows: 2, complete: true },
      digest: digestOf(hashes.reduce((sum, hash) => sum ^ hash, 0n)),
    };
    const answer = await send(site, id, {
      resourceHeartbeats: [back],
      observedInventoryBatches: [batch(rows)],
      resourceLevel,
    });
    expect(resends(answer)).toBe(false);
    expect(await seen()).toEqual([
      ["closed-a", "managed", null],
      ["open-a", "managed", null],
    ]);
  });

  it("what comes late, after a newer full report, brings nothing back and ends nothing", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const closed = { inventoryScope: "kubernetes:apps/v1:Deployment:closed" };
    // As a proxy may hold them up: a list and a heartbeat that never came, and one of each that did.
    const late = {
      resourceHeartbeats: [heartbeat("never-stored"), heartbeat("q", 1)],
      observedInventoryBatches: [batch([row("v")], closed), batch([row("api", "old"), row("gone")])],
    };
    const lateEnds = {
      removedHeartbeats: [{ resourceType: "queue", resourceId: "q" }],
      observedInventoryBatches: [batch([], { mode: "delta", removed: ["api"] })],
      resourceLevel: level([], [], { observedAt: now(), full: true }),
    };
    const lists = [batch([row("v")], closed), batch([row("gone")])];
    await send(site, id, { resourceHeartbeats: [heartbeat("q", 1)], observedInventoryBatches: lists });
    world.clock.advance(5_000);
    const observedAt = now();
    const [told, rows] = [[heartbeat("q", 2, observedAt)], [row("api", "new")]];
    const resourceLevel = level(told, rows, { observedAt });
    const full = { resourceHeartbeats: told, observedInventoryBatches: [batch(rows, { observedAt })] };
    expect(resends(await send(site, id, { ...full, resourceLevel: { ...resourceLevel, full: true } }))).toBe(false);
    const unchanged = async (): Promise<void> => {
      expect(await idsOf(site)).toEqual(["api", "q"]);
      expect(resends(await send(site, id, { resourceLevel: { ...resourceLevel, observedAt: now() } }))).toBe(false);
    };
    world.clock.advance(1_000);
    await send(site, id, late);
    await unchanged();
    await send(site, id, lateEnds);
    await unchanged();
    // As new ones they are taken.
    const back = heartbeat("never-stored");
    await send(site, id, { resourceHeartbeats: [back], observedInventoryBatches: [batch([row("v")], closed)] });
    const ended = [{ resourceType: "queue", resourceId: "never-stored" }];
    const endedBefore = { removedHeartbeats: ended, resourceLevel: level([], [], { observedAt: now(-500) }) };
    await send(site, id, endedBefore);
    expect(await idsOf(site)).toEqual(["api", "never-stored", "q", "v"]);
  });

  it("the parts of a list belong together when the reporter's clock is ahead", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await send(site, id, { observedInventoryBatches: [batch([row("old")])] });
    const observedAt = now(600_000);
    const part = (name: string, index: number) => batch([row(name)], { observedAt, part: { index, count: 2 } });
    for (const [index, name] of ["a", "b"].entries()) {
      world.clock.advance(1_000);
      await send(site, id, { observedInventoryBatches: [part(name, index)] });
    }
    expect(await idsOf(site)).toEqual(["a", "b"]);
  });
});
