import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { promote, release, STACK } from "./testing/releases.ts";

onEachDatabase("release channels", (world) => {
  const channels = async (site: Site) =>
    (await site.call("GET", "/v1/release-channels", { query: { project: site.project.name } })).body.items;
  const create = (site: Site, body: object) =>
    site.call("POST", "/v1/release-channels", { query: { project: site.project.name }, body });
  const remove = (site: Site, name: string) =>
    site.call("DELETE", `/v1/release-channels/${name}`, { query: { project: site.project.name } });
  const read = async (site: Site, id: string) => (await site.call("GET", `/v1/deployments/${id}`)).body;
  const told = async (site: Site, type: string) => {
    const { items } = (await site.call("GET", "/v1/events", { query: { limit: 100 } })).body;
    return items
      .map((event: { data: { type: string } }) => event.data)
      .filter((data: { type: string }) => data.type === type);
  };
  const currentOf = async (site: Site) => (await channels(site))[0].currentReleaseId;

  it("production is there from the start, first in the list, and neither made again nor deleted", async () => {
    const site = await newSite(world);
    expect(await channels(site)).toMatchObject([{ name: "production", currentReleaseId: null, deploymentCount: 0 }]);
    expect((await create(site, { name: "production" })).body.code).toBe("CHANNEL_RESERVED");
    expect((await remove(site, "production")).body.code).toBe("CHANNEL_RESERVED");
    for (const name of ["zeta", "beta", "q-1"]) expect((await create(site, { name })).status).toBe(201);
    expect((await channels(site)).map((channel: { name: string }) => channel.name)).toEqual([
      "production",
      "beta",
      "q-1",
      "zeta",
    ]);
    expect((await create(site, { name: "beta" })).body.code).toBe("CHANNEL_EXISTS");
    expect((await create(site, { name: "Beta" })).body.code).toBe("VALIDATION_ERROR");
  });

  it("a channel can be made at a release of its own project only", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const [own, foreign] = [await release(site), await release(other)];
    expect((await create(site, { name: "beta", releaseId: foreign })).body.code).toBe("NOT_FOUND");
    expect((await promote(site, foreign)).body.code).toBe("NOT_FOUND");
    const second = (await site.call("POST", "/v1/projects", { body: { name: "second-project" } })).body;
    const besides = await release(site, { project: second.name });
    expect((await create(site, { name: "beta", releaseId: besides })).body.code).toBe("RELEASE_NOT_DEPLOYABLE");
    expect((await promote(site, besides)).body.code).toBe("NOT_FOUND");
    const made = await create(site, { name: "beta", releaseId: own });
    expect(made.body).toMatchObject({ name: "beta", currentReleaseId: own });
    expect((await site.call("GET", `/v1/releases/${own}`)).body.currentChannels).toEqual(["beta", "production"]);
  });

  it("a followed channel is kept; an unfollowed one goes, with its history", async () => {
    const site = await newSite(world);
    const [one, two] = [await release(site), await release(site)];
    await create(site, { name: "beta", releaseId: two });
    const id = await site.deploy("shop", { releaseChannel: "beta" });
    expect((await channels(site))[1].deploymentCount).toBe(1);
    expect((await remove(site, "beta")).body.code).toBe("CHANNEL_IN_USE");
    await site.call("POST", `/v1/deployments/${id}/release-channel`, { body: { channel: "production" } });
    expect((await remove(site, "beta")).status).toBe(204);
    expect((await remove(site, "beta")).body.code).toBe("NOT_FOUND");
    await create(site, { name: "beta" });
    const inBeta = await site.call("GET", "/v1/releases", { query: { channel: "beta" } });
    expect(inBeta.body.items).toEqual([]);
    expect(await currentOf(site)).toBe(one);
  });

  it("promoting what is there already changes nothing and tells nobody", async () => {
    const site = await newSite(world);
    const one = await release(site);
    const [before] = await channels(site);
    const events = (await told(site, "ReleaseChannelUpdated")).length;
    world.clock.advance(1000);
    expect((await promote(site, one)).body).toEqual(before);
    expect((await promote(site, one, { expectedReleaseId: one })).body).toEqual(before);
    expect(await told(site, "ReleaseChannelUpdated")).toHaveLength(events);
  });

  it("of fifty promotions that expect the same release one wins, and the others see what it promoted", async () => {
    const site = await newSite(world);
    const expectedReleaseId = await release(site);
    const wanted = await Promise.all(Array.from({ length: 5 }, (_, n) => release(site, { version: `1.${n}.0` })));
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        for (;;) {
          const answer = await promote(site, wanted[n % 5] ?? "", { expectedReleaseId });
          if (answer.body.code !== "CONFLICT") return answer;
        }
      }),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    const now = won[0]?.body.currentReleaseId;
    expect(await currentOf(site)).toBe(now);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer.body).toMatchObject({
        code: "CHANNEL_CHANGED",
        retryable: true,
        context: { currentReleaseId: now },
      });
    }
    expect(await told(site, "ReleaseChannelUpdated")).toHaveLength(2);
  });

  it("null expects an empty channel", async () => {
    const site = await newSite(world);
    await create(site, { name: "beta" });
    const one = await release(site);
    expect((await promote(site, one, { expectedReleaseId: null }, "production")).body.code).toBe("CHANNEL_CHANGED");
    expect((await promote(site, one, { expectedReleaseId: null }, "beta")).body.currentReleaseId).toBe(one);
    expect((await promote(site, one, {}, "gamma")).body.code).toBe("NOT_FOUND");
  });

  it("followers take it by their status; pinned, ending and other platforms' deployments stay", async () => {
    const site = await newSite(world);
    const one = await release(site, { stack: { kubernetes: STACK, test: STACK } });
    const ids: Record<string, string> = {};
    const named = ["pending", "running", "updating", "provisioning", "pinned", "ending"];
    for (const name of named) ids[name] = await site.deploy(name);
    const id = (name: string): string => ids[name] ?? "";
    const runs = { currentRelease: { releaseId: one } };
    for (const name of ["running", "updating", "pinned", "ending"]) await site.report(id(name), "running", {}, runs);
    await site.report(id("provisioning"), "initial-setup");
    await site.report(id("provisioning"), "provisioning");
    await site.call("POST", `/v1/deployments/${id("updating")}/redeploy`);
    await site.report(id("updating"), "updating");
    await site.call("POST", `/v1/deployments/${id("pinned")}/pin-release`, { body: { releaseId: one } });
    await site.call("DELETE", `/v1/deployments/${id("ending")}`);
    const bucket = await site.deploy("bucket", { setupItem: "bucket" });
    const two = await release(site, { channel: "production" });
    // Only an application has a release.
    expect(await read(site, bucket)).toMatchObject({ desiredReleaseId: null, currentReleaseId: null });
    const pin = await site.call("POST", `/v1/deployments/${bucket}/pin-release`, { body: { releaseId: two } });
    expect(pin.body).toMatchObject({ code: "RELEASE_NOT_DEPLOYABLE", message: "only an application has a release" });
    expect(await read(site, id("pending"))).toMatchObject({ status: "pending", desiredReleaseId: two });
    expect(await read(site, id("running"))).toMatchObject({
      status: "update-pending",
      desiredReleaseId: two,
      updateState: { active: { status: "queued", reasons: ["release"], targetReleaseId: two } },
    });
    expect(await read(site, id("updating"))).toMatchObject({
      status: "updating",
      updateState: { active: { reasons: ["redeploy"] }, next: { targetReleaseId: two } },
    });
    expect(await read(site, id("provisioning"))).toMatchObject({
      status: "provisioning",
      desiredReleaseId: one,
      updateState: { next: { targetReleaseId: two } },
    });
    expect(await read(site, id("pinned"))).toMatchObject({
      status: "running",
      desiredReleaseId: null,
    });
    expect(await read(site, id("pinned"))).not.toHaveProperty("updateState");
    expect(await read(site, id("ending"))).toMatchObject({ status: "delete-pending", desiredReleaseId: null });
    // A release without the platform is promoted, and nobody there follows.
    await promote(site, await release(site, { stack: { aws: STACK } }));
    expect(await read(site, id("running"))).toMatchObject({ desiredReleaseId: two });
    await site.report(id("updating"), "running", {}, runs);
    expect(await read(site, id("updating"))).toMatchObject({ status: "update-pending", desiredReleaseId: two });
  });

  it("a release's deployments tell where each stands, by name, and how long it took", async () => {
    const site = await newSite(world);
    const one = await release(site);
    const runs = (releaseId: string) => ({ currentRelease: { releaseId } });
    const deploy = async (name: string) => {
      const id = await site.deploy(name);
      await site.report(id, "running", {}, runs(one));
      return id;
    };
    const [done, busy, failed, pinned] = [
      await deploy("done"),
      await deploy("busy"),
      await deploy("failed"),
      await deploy("pinned"),
    ];
    await site.call("POST", `/v1/deployments/${pinned}/pin-release`, { body: { releaseId: one } });
    const asked = await deploy("asked");
    const two = await release(site, { channel: "production" });
    for (const id of [done, busy, failed]) await site.report(id, "updating");
    world.clock.advance(5000);
    await site.report(done, "running", {}, runs(two));
    const error = { code: "UPDATE_FAILED", message: "no", internal: false };
    await site.report(failed, "update-failed", {}, { error });
    const disabled = { code: "RUNNER_DISABLED", message: "nothing installs it", internal: false };
    expect((await site.report(asked, "update-pending", {}, { error: disabled })).status).toBe(200);
    const towards = (id: string, query: Record<string, string | number> = {}) =>
      site.call("GET", `/v1/releases/${id}/deployments`, { query });
    const statesOf = async (id: string) =>
      (await towards(id)).body.items.map((item: { name: string; rolloutState: string }) => [
        item.name,
        item.rolloutState,
      ]);
    expect(await statesOf(two)).toEqual([
      ["asked", "pending"],
      ["busy", "updating"],
      ["done", "updated"],
      ["failed", "failed"],
      ["pinned", "pinned-other"],
    ]);
    expect(await statesOf(one)).toEqual([
      ["asked", "superseded"],
      ["busy", "superseded"],
      ["done", "superseded"],
      ["failed", "superseded"],
      ["pinned", "updated"],
    ]);
    const unpromoted = await release(site);
    expect(await statesOf(unpromoted)).toEqual([
      ["asked", "on-other"],
      ["busy", "on-other"],
      ["done", "on-other"],
      ["failed", "on-other"],
      ["pinned", "pinned-other"],
    ]);
    const all = (await towards(two)).body;
    expect(all.stateCounts).toEqual({
      failed: 1,
      updated: 1,
      updating: 1,
      pending: 1,
      "pinned-other": 1,
      superseded: 0,
      "on-other": 0,
    });
    const item = (name: string) => all.items.find((each: { name: string }) => each.name === name);
    expect(item("done").durationMs).toBeGreaterThanOrEqual(5000);
    expect(item("done").releasedAt).not.toBeNull();
    expect(item("failed").error).toMatchObject({ code: "UPDATE_FAILED" });
    expect(item("asked").error).toMatchObject({ code: "RUNNER_DISABLED" });
    expect(item("busy")).toMatchObject({ error: null, durationMs: null, releasedAt: null });
    const some = (await towards(two, { state: "failed,updated", limit: 1 })).body;
    expect([some.items[0].name, some.stateCounts]).toEqual(["done", all.stateCounts]);
    const rest = (await towards(two, { state: "failed,updated", limit: 1, cursor: some.nextCursor })).body;
    expect([rest.items[0].name, rest.nextCursor]).toEqual(["failed", null]);
    const none = (await towards(two, { state: "on-other" })).body;
    expect(none).toEqual({ items: [], nextCursor: null, stateCounts: all.stateCounts });
    expect((await towards(two, { deploymentGroup: "group" })).body.items).toHaveLength(5);
    expect((await towards(two, { deploymentGroup: "no-such" })).body.code).toBe("NOT_FOUND");
    const listed = await site.call("GET", "/v1/releases", { query: { include: "rollout" } });
    expect(listed.body.items[0].rollout).toEqual({
      updatedCount: 1,
      pendingCount: 2,
      avgDurationMs: item("done").durationMs,
    });
  });

  it("a cursor of another shape is refused, not sent to the database", async () => {
    const site = await newSite(world);
    const id = await release(site);
    for (const name of ["a", "b"]) await site.deploy(`${name}-1`);
    const path = `/v1/releases/${id}/deployments`;
    const { nextCursor } = (await site.call("GET", path, { query: { limit: 1 } })).body;
    const [binding, , last] = JSON.parse(Buffer.from(nextCursor, "base64url").toString());
    for (const at of [5, null, "x".repeat(300), "nul \u0000"]) {
      const cursor = Buffer.from(JSON.stringify([binding, at, last])).toString("base64url");
      expect((await site.call("GET", path, { query: { limit: 1, cursor } })).body.code).toBe("INVALID_CURSOR");
    }
    const releases = (await site.call("GET", "/v1/releases", { query: { limit: 1 } })).body;
    expect(releases.nextCursor).toBeNull();
  });
});
