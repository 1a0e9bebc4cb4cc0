import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newSite, type Site } from "../../../platform/areas/deployments/testing/site.ts";
import { promote, release, STACK } from "../../../platform/areas/releases/testing/releases.ts";
import { onEachDatabase, type World } from "../../../platform/testing/harness.ts";
import { typeCommand } from "./testing/type-command.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-rollouts-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

onEachDatabase("sallyport rollouts watch", (world: World) => {
  const watch = (site: Site, words: readonly string[], onOut?: (said: string) => void) => {
    const env = { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: site.member };
    return typeCommand(folder, ["rollouts", "watch", ...words], { env, ...(onOut !== undefined && { onOut }) });
  };
  const runs = (releaseId: string) => ({ currentRelease: { releaseId } });
  const error = (code: string) => ({ error: { code, message: "so it is", internal: false } });

  it("does not take the failed setup of another release for one of its own", async () => {
    const site = await newSite(world);
    const old = await release(site);
    const id = await site.deploy("acme-eu");
    await site.report(id, "initial-setup");
    await site.report(id, "initial-setup-failed", {}, error("ROLLOUT_DENIED"));
    const own = await watch(site, [old]);
    expect([own.code, own.error]).toEqual([8, "1 failed\n"]);
    expect(own.out).toMatch(
      / failed +initial-setup-failed +ROLLOUT_DENIED: so it is; ask; then retry, or promote another release; its setup begins again with a retry alone/,
    );
    const next = await release(site);
    await promote(site, next);
    const other = await watch(site, [next]);
    const line = `sallyport deployments retry ${id}`;
    expect([other.code, other.error]).toEqual([8, `1 waiting for a retry; to begin: ${line}\n`]);
    expect(other.out).toContain(`${old} has failed: ROLLOUT_DENIED: so it is; this one begins with: ${line}`);
    await site.call("POST", `/v1/deployments/${id}/retry`);
    const asked = await watch(site, [next, "--once"]);
    expect([asked.code, asked.error]).toEqual([9, "1 pending\n"]);
    expect(asked.out).toContain("a retry is asked for");
    await site.report(id, "initial-setup");
    await site.report(id, "initial-setup-failed", {}, error("ROLLOUT_DENIED"));
    expect(await watch(site, [next])).toMatchObject({ code: 8, error: "1 failed\n" });
  });

  it("follows a redeploy, and calls nothing updated that has drifted or is to be deleted", async () => {
    const site = await newSite(world);
    const one = await release(site);
    const id = await site.deploy("acme-eu");
    await site.report(id, "running", {}, runs(one));
    await site.call("POST", `/v1/deployments/${id}/redeploy`);
    await site.report(id, "update-pending", {}, { ...runs(one), ...error("APPROVAL_PENDING") });
    const once = await watch(site, [one, "--once"]);
    expect([once.code, once.error]).toEqual([9, "1 updating; wait for the customer: acme-eu\n"]);
    const steps: (readonly [RegExp, () => Promise<unknown>])[] = [
      [/applied again; APPROVAL_PENDING/, () => site.report(id, "updating", {}, runs(one))],
      [/ updating +updating /, () => site.report(id, "running", {}, runs(one))],
    ];
    const followed = await watch(site, [one], (text) => {
      const [next] = steps;
      if (next === undefined || !next[0].test(text)) return;
      steps.shift();
      void next[1]();
    });
    expect([followed.code, steps.length, followed.error]).toEqual([0, 0, expect.stringMatching(/\n1 updated\n$/)]);
    expect(followed.out).toMatch(/\nacme-eu +group +updated +running +-\n$/);
    await site.report(id, "refresh-failed", {}, { ...runs(one), ...error("RESOURCE_DRIFT") });
    const drifted = await watch(site, [one, "-o", "json"]);
    expect([drifted.code, drifted.error]).toEqual([8, "1 refresh-failed\n"]);
    expect(JSON.parse(drifted.out)).toMatchObject([
      { id, state: "refresh-failed", deploymentGroup: { name: "group" } },
    ]);
    await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "cleanup" } });
    expect(await watch(site, [one])).toMatchObject({ code: 0, error: "1 being deleted\n" });
    await site.report(id, "delete-failed", {}, error("DELETE_FAILED"));
    expect(await watch(site, [one])).toMatchObject({ code: 8, error: "1 delete-failed\n" });
  });

  it("says which release a pinned deployment stays at, and where the release has nothing to install", async () => {
    const site = await newSite(world);
    const one = await release(site);
    const [eu, us] = [await site.deploy("acme-eu"), await site.deploy("acme-us")];
    for (const id of [eu, us]) await site.report(id, "running", {}, runs(one));
    await site.call("POST", `/v1/deployments/${eu}/pin-release`, { body: { releaseId: one } });
    const cloud = await release(site, { stack: { aws: STACK } });
    await promote(site, cloud);
    const said = await watch(site, [cloud]);
    expect([said.code, said.error]).toEqual([
      0,
      `pinned to another release, and not updated: acme-eu (${one})\n1 without a stack for its platform\n`,
    ]);
    expect(said.out).toMatch(/acme-us .* no-stack +running +the release has nothing for the platform kubernetes\n/);
  });
});
