import fc from "fast-check";
import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

onEachDatabase("lists of resources by their ETag", (world) => {
  const now = (): string => world.clock.wallNow().toISOString();
  const heartbeat = (resourceId: string, health = "healthy", resourceType = "container") => {
    const status = { health, lifecycle: "running", partial: false, stale: false, collectionIssues: [] };
    return {
      ...{ resourceId, resourceType, controllerPlatform: "kubernetes", backend: "external", observedAt: now() },
      ...{ data: { resourceType, data: { status } }, raw: [] },
    };
  };
  const report = async (site: Site, id: string, more: object): Promise<void> => {
    const answer = await site.report(id, "pending", more);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  const read = (site: Site, path = "", tag?: string, key = site.member): Promise<Answer> => {
    const headers = tag === undefined ? {} : { "if-none-match": tag };
    return world.call("GET", `/v1/resources${path}`, { key, query: { project: site.project.id }, headers });
  };
  const tagOf = ({ headers }: Answer): string => headers.get("etag") ?? "";

  it.each(["", "/container"])("GET /v1/resources%s is 304 without a body until something changes", async (path) => {
    const site = await newSite(world);
    const [shop, bank] = [await site.deploy("shop"), await site.deploy("bank")];
    const changes: readonly (() => Promise<unknown>)[] = [
      () => report(site, shop, { resourceHeartbeats: [heartbeat("api")] }),
      () => report(site, shop, { resourceHeartbeats: [heartbeat("api", "degraded")] }),
      () => report(site, bank, { resourceHeartbeats: [heartbeat("web"), heartbeat("api")] }),
      () => report(site, bank, { removedHeartbeats: [{ resourceType: "container", resourceId: "web" }] }),
      () => site.call("PATCH", `/v1/deployments/${bank}`, { body: { name: "money" } }),
      () => site.deploy("third"),
    ];
    let last = await read(site, path);
    for (const [index, change] of changes.entries()) {
      const tag = tagOf(last);
      const same = await read(site, path, tag);
      expect([same.status, same.body, tagOf(same)], String(index)).toEqual([304, undefined, tag]);
      await change();
      last = await read(site, path, tag);
      expect([last.status, tagOf(last) === tag], String(index)).toEqual([200, false]);
    }
    expect(last.headers.get("cache-control")).toBe("private, no-cache");
    expect(last.headers.get("vary")).toBe("authorization, cookie");
    // It is one of several, weak, or what this platform never made.
    expect((await read(site, path, `"other", W/${tagOf(last)}`)).status).toBe(304);
    for (const tag of ["*", '""', tagOf(last).slice(1, -1), '"a.b"', '"'.repeat(4_000)]) {
      expect((await read(site, path, tag)).status, tag.slice(0, 20)).toBe(200);
    }
  });

  it("the rows are not read for a 304", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await report(site, id, { resourceHeartbeats: [heartbeat("api")] });
    const tag = tagOf(await read(site));
    await world.platform.db.deleteFrom("resource_heartbeats").where("deployment_id", "=", id).execute();
    expect((await read(site, "", tag)).status).toBe(304);
    expect((await read(site)).body.resources).toEqual([]);
  });

  it("the words on staleness end it, for each report at its own time, and a confirmation does", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await report(site, id, { resourceHeartbeats: [heartbeat("api")] });
    world.clock.advance(100_000);
    await report(site, id, { resourceHeartbeats: [heartbeat("web")] });
    const stale = ({ body }: Answer): number =>
      body.resources.filter(({ platformStale }: { platformStale: boolean }) => platformStale).length;
    let last = await read(site);
    for (const [advance, count] of [
      [90_000, 1],
      [100_000, 2],
    ] as const) {
      expect((await read(site, "", tagOf(last))).status).toBe(304);
      world.clock.advance(advance);
      last = await read(site, "", tagOf(last));
      expect([last.status, stale(last)]).toEqual([200, count]);
    }
    world.clock.advance(86_400_000);
    expect((await read(site, "", tagOf(last))).status).toBe(304);
    await report(site, id, { resourceHeartbeats: [heartbeat("api"), heartbeat("web")] });
    expect(stale(await read(site, "", tagOf(last)))).toBe(0);
  });

  it("no caller's tag is another caller's, also where both see the same", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const id = await site.deploy("shop");
    await report(site, id, { resourceHeartbeats: [heartbeat("api"), heartbeat("chat", "healthy", "ai")] });
    const projectId = site.project.id;
    const scopes = {
      "project.viewer": { type: "project", projectId },
      "project.ai-gateway": { type: "project", projectId },
      "deployment.viewer": { type: "deployment", deploymentId: id, projectId },
      "deployment-group.deployer": { type: "deployment-group", deploymentGroupId: site.group.id, projectId },
    } as const;
    const keys = [site.member, site.admin, other.member];
    for (const [role, scope] of Object.entries(scopes)) {
      keys.push(await site.workspace.key(role as keyof typeof scopes, scope));
    }
    const readAs = (key: string, tag?: string) =>
      world.call("GET", "/v1/resources", { key, headers: tag === undefined ? {} : { "if-none-match": tag } });
    const tags = await Promise.all(keys.map(async (key) => tagOf(await readAs(key))));
    expect(new Set(tags).size).toBe(keys.length);
    for (const [of, tag] of tags.entries()) {
      for (const [as, key] of keys.entries()) {
        expect((await readAs(key, tag)).status, `the tag of ${of} as ${as}`).toBe(of === as ? 304 : 200);
      }
    }
    const all = tagOf(await read(site));
    expect((await read(site, "/container", all)).status).toBe(200);
  });

  it("a client that keeps answers by their tags always has what the platform would send", async () => {
    const site = await newSite(world);
    const ids = [await site.deploy("shop"), await site.deploy("bank")];
    const kept = new Map<string, Answer>();
    let known = 0;
    const step = fc.oneof(
      fc.record({
        at: fc.nat(1),
        name: fc.constantFrom("a", "b", "c"),
        health: fc.constantFrom("healthy", "degraded"),
      }),
      fc.record({ at: fc.nat(1), gone: fc.constantFrom("a", "b", "c") }),
      fc.record({ advance: fc.constantFrom(1, 40_000, 120_000, 200_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        for (const each of steps) {
          if ("advance" in each) world.clock.advance(each.advance);
          else if ("gone" in each) {
            const removedHeartbeats = [{ resourceType: "container", resourceId: each.gone }];
            await report(site, ids[each.at] ?? "", { removedHeartbeats });
          } else await report(site, ids[each.at] ?? "", { resourceHeartbeats: [heartbeat(each.name, each.health)] });
          for (const path of ["", "/container"]) {
            const before = kept.get(path);
            const answer = await read(site, path, before && tagOf(before));
            if (answer.status === 304) known += 1;
            else kept.set(path, answer);
            expect(kept.get(path)?.body).toEqual((await read(site, path)).body);
          }
        }
      }),
      { numRuns: 15 },
    );
    expect(known).toBeGreaterThan(0);
  });

  it("an answer is bounded by its bytes, and says so", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const { sql } = await import("kysely");
    const long = heartbeat("x");
    const status = { ...long.data.data.status, message: "🚪".repeat(1_000) };
    const body = JSON.stringify({ ...long, data: { ...long.data, data: { status, name: "🚪".repeat(300) } } });
    await sql`
      insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
      select ${id}, 'container', 'r' || n, ${now()}, ${body}::jsonb from generate_series(1, 900) n`.execute(
      world.platform.db,
    );
    for (const path of ["", "/container"]) {
      const { resources, truncated } = (await read(site, path)).body;
      expect(Buffer.byteLength(JSON.stringify(resources))).toBeLessThanOrEqual(2 * 1024 * 1024 + 1_024);
      expect([resources.length > 500, resources.length < 700, truncated]).toEqual([true, true, true]);
      expect(resources.at(-1).message).toBe(`only the first ${resources.length} rows are shown`);
    }
  });
});
