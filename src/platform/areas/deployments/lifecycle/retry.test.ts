import { expect, it } from "vitest";
import type { DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import { onEachDatabase } from "../../../testing/harness.ts";
import { promote, release } from "../../releases/testing/releases.ts";
import { newSite } from "../testing/site.ts";

onEachDatabase("a retry after another release was promoted", (world) => {
  it.each<[DeploymentStatus, DeploymentStatus]>([
    ["preflights-failed", "pending"],
    ["initial-setup-failed", "initial-setup"],
    ["provisioning-failed", "provisioning"],
  ])("onto a setup in %s installs the promoted one, and not the one that failed", async (failed, again) => {
    const site = await newSite(world);
    const [broken, mended] = [await release(site), await release(site)];
    await promote(site, broken);
    const id = await site.deploy("shop");
    const read = async () => (await site.call("GET", `/v1/deployments/${id}`)).body;
    expect(await read()).toMatchObject({ status: "pending", desiredReleaseId: broken });
    const error = { code: "PREFLIGHT_CHECKS_FAILED", message: "no room", internal: false };
    expect((await site.report(id, failed, {}, { error })).status).toBe(200);
    expect((await promote(site, mended)).status).toBe(200);
    // The promotion alone tries nothing: the failure is a person's to look at.
    expect(await read()).toMatchObject({ status: failed, desiredReleaseId: mended, currentReleaseId: null });
    expect((await site.call("POST", `/v1/deployments/${id}/retry`)).status).toBe(202);

    const taken = { session: "s", requestId: "r", deploymentModel: "pull" };
    const { body } = await site.sync("acquire", taken);
    expect(body.deployments).toMatchObject([
      { deploymentId: id, current: { status: again, error: null, targetRelease: { releaseId: mended } } },
    ]);
    const report = await site.report(id, again, { session: "s" });
    expect(report.body.target).toMatchObject({ releaseInfo: { releaseId: mended } });
    const currentRelease = { releaseId: mended, version: null };
    await site.report(id, "running", { session: "s" }, { currentRelease });
    expect(await read()).toMatchObject({ status: "running", currentReleaseId: mended, desiredReleaseId: null });
  });
});

onEachDatabase("a retry of what is not as it was released", (world) => {
  const error = { code: "RESOURCE_DRIFT", message: "1 object is missing", internal: false };

  it("applies the installed release anew, as an update of its own", async () => {
    const site = await newSite(world);
    const installed = await release(site);
    await promote(site, installed);
    const id = await site.deploy("shop");
    const read = async () => (await site.call("GET", `/v1/deployments/${id}`)).body;
    await site.report(id, "running", {}, { currentRelease: { releaseId: installed, version: null } });
    await site.report(id, "refresh-failed", {}, { error });
    expect((await site.call("POST", `/v1/deployments/${id}/retry`)).status).toBe(202);
    const { updateState, ...asked } = await read();
    expect(asked).toMatchObject({ status: "update-pending", retryRequested: false, currentReleaseId: installed });
    expect(updateState.active).toMatchObject({
      ...{ status: "queued", reasons: ["redeploy"], targetReleaseId: installed },
    });
    // Asked twice it is one update.
    expect((await site.call("POST", `/v1/deployments/${id}/retry`)).body.code).toBe("INVALID_STATE_TRANSITION");
    const { items } = (await site.call("GET", "/v1/events", { query: { deploymentId: id } })).body;
    const asks = items.filter(({ data }: { data: { type: string } }) => data.type.endsWith("Requested"));
    expect(asks).toMatchObject([
      { data: { type: "DeploymentRetryRequested", attemptedReleaseId: installed, previousError: error } },
    ]);

    const operationId = updateState.active.id;
    await site.report(id, "updating", { operationId });
    await site.report(id, "running", { operationId }, { currentRelease: { releaseId: installed, version: null } });
    expect(await read()).toMatchObject({
      ...{ status: "running", error: null },
      updateState: { active: null, latest: { id: operationId, status: "succeeded" } },
    });
  });

  it("waits for its manager where no release is installed", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await site.report(id, "running");
    await site.report(id, "refresh-failed", {}, { error });
    expect((await site.call("POST", `/v1/deployments/${id}/retry`)).status).toBe(202);
    expect((await site.call("GET", `/v1/deployments/${id}`)).body).toMatchObject({
      ...{ status: "refresh-failed", retryRequested: true },
    });
  });

  it("is refused with a hint what to do instead where nothing has failed, and so is a redeploy where something has", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const refused = async (verb: string) => (await site.call("POST", `/v1/deployments/${id}/${verb}`)).body;
    expect(await refused("retry")).toMatchObject({
      code: "INVALID_STATE_TRANSITION",
      hint: expect.stringContaining("waits for the agent in the customer's cluster"),
    });
    await site.report(id, "running");
    expect(await refused("retry")).toMatchObject({ hint: expect.stringContaining("a redeploy applies") });
    await site.report(id, "update-pending");
    await site.report(id, "update-failed", {}, { error });
    expect(await refused("redeploy")).toMatchObject({ hint: "retry it: what failed is tried again" });
  });
});
