import { expect, it } from "vitest";
import { json } from "../../../database/json.ts";
import { newId } from "../../../kernel/ids.ts";
import { onEachDatabase } from "../../../testing/harness.ts";
import { newSite, type Site } from "../testing/site.ts";

onEachDatabase("releases of deployments", (world) => {
  /** Put there by SQL: releases and channels are written by their own area. */
  async function release(site: Site, version: string, stack: object = { kubernetes: { id: "s", inputs: INPUTS } }) {
    const id = newId("rel");
    const owner = { workspace_id: site.workspace.id, project_id: site.project.id };
    await world.platform.db
      .insertInto("releases")
      .values({ ...owner, id, version, stack: json(stack), created_at: world.clock.wallNow() } as never)
      .execute();
    return id;
  }
  const promote = (site: Site, id: string, name = "production") =>
    world.platform.db
      .insertInto("release_channels")
      .values({
        workspace_id: site.workspace.id,
        project_id: site.project.id,
        name,
        current_release_id: id,
        created_at: world.clock.wallNow(),
        updated_at: world.clock.wallNow(),
      } as never)
      .onConflict((conflict) => conflict.columns(["project_id", "name"]).doUpdateSet({ current_release_id: id }))
      .execute();
  const read = async (site: Site, id: string) => (await site.call("GET", `/v1/deployments/${id}`)).body;
  const post = (site: Site, id: string, action: string, body?: object) =>
    site.call("POST", `/v1/deployments/${id}/${action}`, body === undefined ? {} : { body });
  const eventsOf = async (site: Site, deploymentId: string) =>
    (await site.call("GET", "/v1/events", { query: { deploymentId, limit: 100 } })).body.items.map(
      (event: { data: { type: string } }) => event.data.type,
    );

  it("a new deployment wants its channel's release, runs it when reported, and is told of nothing more", async () => {
    const site = await newSite(world);
    const one = await release(site, "1.0.0");
    await promote(site, one);
    const id = await site.deploy("shop");
    expect(await read(site, id)).toMatchObject({ desiredReleaseId: one, currentReleaseId: null });
    const working = await site.report(id, "initial-setup");
    expect(working.body.target.releaseInfo).toMatchObject({ releaseId: one, version: "1.0.0", stack: { id: "s" } });
    const done = await site.report(id, "running", {}, { currentRelease: { releaseId: one } });
    expect(done.body).toMatchObject({
      current: { status: "running", currentRelease: { releaseId: one } },
    });
    expect(await read(site, id)).toMatchObject({ desiredReleaseId: null, currentReleaseId: one });
    expect(await eventsOf(site, id)).toContain("DeploymentReleased");
  });

  it("a pin updates the deployment, unpinning returns to the channel, and each is told once", async () => {
    const site = await newSite(world);
    const [one, two] = [await release(site, "1.0.0"), await release(site, "2.0.0")];
    await promote(site, one);
    const id = await site.deploy("shop");
    await site.report(id, "running", {}, { currentRelease: { releaseId: one } });
    expect((await post(site, id, "pin-release", { releaseId: two })).status).toBe(202);
    expect((await post(site, id, "pin-release", { releaseId: two })).status).toBe(202);
    expect(await read(site, id)).toMatchObject({
      status: "update-pending",
      pinnedReleaseId: two,
      desiredReleaseId: two,
      updateState: { active: { status: "queued", reasons: ["release"], targetReleaseId: two } },
    });
    await site.report(id, "updating");
    await site.report(id, "running", {}, { currentRelease: { releaseId: two } });
    expect((await post(site, id, "pin-release", { releaseId: null })).status).toBe(202);
    expect(await read(site, id)).toMatchObject({
      status: "update-pending",
      pinnedReleaseId: null,
      desiredReleaseId: one,
    });
    const told = (await eventsOf(site, id)).filter((type: string) => type.includes("inned"));
    expect(told).toEqual(["DeploymentReleaseUnpinned", "DeploymentReleasePinned"]);
  });

  it("only the project's own releases with the platform can be pinned, and not on a deployment that ends", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const id = await site.deploy("shop");
    const pin = (releaseId: string) => post(site, id, "pin-release", { releaseId });
    expect((await pin(newId("rel"))).body.code).toBe("NOT_FOUND");
    expect((await pin(await release(other, "1.0.0"))).body.code).toBe("NOT_FOUND");
    expect((await pin(await release(site, "1.0.0", { aws: { id: "s" }, kubernetes: null }))).body.code).toBe(
      "RELEASE_NOT_DEPLOYABLE",
    );
    const good = await release(site, "2.0.0");
    await site.call("DELETE", `/v1/deployments/${id}`);
    expect((await pin(good)).body).toMatchObject({
      code: "INVALID_STATE_TRANSITION",
      context: { from: "delete-pending" },
    });
  });

  it("redeploy is for running deployments and carries its operation to the end", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    expect((await post(site, id, "redeploy")).body.code).toBe("INVALID_STATE_TRANSITION");
    await site.report(id, "running");
    const { operation } = (await post(site, id, "redeploy")).body;
    expect(operation).toMatchObject({ status: "queued", reasons: ["redeploy"] });
    await site.report(id, "updating");
    expect((await read(site, id)).updateState.active).toMatchObject({ id: operation.id, status: "applying" });
    await site.report(id, "update-failed", {}, { error: { code: "UPDATE_FAILED", message: "no", internal: false } });
    expect((await read(site, id)).updateState).toMatchObject({
      active: null,
      latest: { id: operation.id, status: "failed" },
    });
    expect(await eventsOf(site, id)).toEqual(expect.arrayContaining(["UpdatingAgent", "DeploymentFailed"]));
  });

  it("a channel is followed at once, changes the target only when nothing is pinned, and must exist", async () => {
    const site = await newSite(world);
    const [one, two] = [await release(site, "1.0.0"), await release(site, "2.0.0")];
    await promote(site, one);
    await promote(site, two, "beta");
    const id = await site.deploy("shop");
    expect((await post(site, id, "release-channel", { channel: "none-such" })).body.code).toBe("NOT_FOUND");
    const followed = await post(site, id, "release-channel", { channel: "beta" });
    expect(followed.body).toMatchObject({ releaseChannel: "beta", desiredReleaseId: two });
    await post(site, id, "pin-release", { releaseId: two });
    const pinned = await post(site, id, "release-channel", { channel: "production" });
    expect(pinned.body).toMatchObject({ releaseChannel: "production", desiredReleaseId: two });
  });

  it("inputs are checked against the release, secrets never read back, and only a change makes an update", async () => {
    const site = await newSite(world);
    await promote(site, await release(site, "1.0.0"));
    const id = await site.deploy("shop");
    const path = `/v1/deployments/${id}/inputs`;
    const patch = (inputValues: object) => site.call("PATCH", path, { body: { inputValues } });
    const bad = await patch({ size: 11, unknown: "x", color: "green" });
    expect(bad.body.code).toBe("INPUT_VALUES_INVALID");
    expect(bad.body.context.issues.map((issue: { path: string }) => issue.path)).toEqual([
      "body.inputValues.size",
      "body.inputValues.unknown",
      "body.inputValues.color",
    ]);
    const canary = "canary-input-secret";
    const good = await patch({ size: 3, password: canary });
    expect(good.body).toMatchObject({
      outcome: "accepted",
      values: { size: 3 },
      providedInputIds: ["password", "size"],
    });
    expect(JSON.stringify(good.body)).not.toContain(canary);
    const again = await patch({ size: 3, password: canary });
    expect(again.body).toMatchObject({ outcome: "unchanged", runtimeUpdateRequested: false, operation: null });
    const context = await site.sync("context", { deploymentId: id });
    expect(context.body.config.inputValues).toEqual({ size: 3, password: canary });
    const cleared = await site.call("PATCH", path, { body: { clearInputIds: ["password"] } });
    expect(cleared.body.providedInputIds).toEqual(["size"]);
    const stored = await world.platform.db.selectFrom("deployments").selectAll().where("id", "=", id).execute();
    expect(JSON.stringify(stored)).not.toContain(canary);
  });

  it("a required input has to be given, unless it has a default or is another platform's, and stays", async () => {
    const site = await newSite(world);
    const input = (id: string, more: object = {}) => ({ id, kind: "string", label: id, required: true, ...more });
    const inputs = [
      input("name"),
      input("size", { kind: "integer" }),
      input("region", { default: { type: "string", value: "eu" } }),
      input("account", { platforms: ["aws"] }),
      input("note", { required: false }),
    ];
    await promote(site, await release(site, "1.0.0", { kubernetes: { id: "s", inputs } }));
    const create = (inputValues?: object) => {
      const to = { name: "shop", platform: "kubernetes", project: site.project.name, deploymentGroupId: site.group.id };
      const body = { ...to, managerId: site.manager.id, ...(inputValues && { inputValues }) };
      return site.call("POST", "/v1/deployments", { body });
    };
    const refused = await create({ size: 0.5 });
    expect([refused.status, refused.body.code]).toEqual([400, "INPUT_VALUES_INVALID"]);
    expect(refused.body.context.issues).toEqual([
      { path: "body.inputValues.size", message: "must be an integer" },
      { path: "body.inputValues.name", message: "is required" },
    ]);
    expect((await create()).body.context.issues).toHaveLength(2);
    const made = await create({ name: "a", size: 1 });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const path = `/v1/deployments/${made.body.deployment.id}/inputs`;
    const clear = (ids: string[], inputValues?: object) =>
      site.call("PATCH", path, { body: { clearInputIds: ids, ...(inputValues && { inputValues }) } });
    expect((await clear(["name", "note"])).body.context.issues).toEqual([
      { path: "body.inputValues.name", message: "is required" },
    ]);
    expect((await clear(["name"], { name: "b" })).body.values).toEqual({ name: "b", size: 1 });
    expect((await clear(["region"])).body.providedInputIds).toEqual(["name", "size"]);
    expect((await site.deploy("later", { initialDesiredRelease: "none" })).startsWith("dep_")).toBe(true);
  });
});

const INPUTS = [
  { id: "size", kind: "integer", label: "Size", required: false, validation: { min: 1, max: 10 } },
  { id: "password", kind: "secret", label: "Password", required: false },
  { id: "color", kind: "enum", label: "Colour", required: false, validation: { values: ["red", "blue"] } },
];
