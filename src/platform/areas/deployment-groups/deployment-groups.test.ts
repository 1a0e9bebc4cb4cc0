import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase("deployment groups", (world) => {
  it("names and external ids are unique in the project, and external ids know case", async () => {
    const site = await newSite(world);
    const project = site.project.name;
    const create = (body: object) => site.call("POST", "/v1/deployment-groups", { body: { project, ...body } });
    expect((await create({ name: "acme", externalId: "Acme-1" })).body).toMatchObject({
      name: "acme",
      externalId: "Acme-1",
      maxDeployments: 100,
    });
    expect((await create({ name: "acme" })).body.code).toBe("NAME_TAKEN");
    expect((await create({ name: "other", externalId: "Acme-1" })).body.code).toBe("EXTERNAL_ID_TAKEN");
    expect((await create({ name: "other", externalId: "acme-1" })).status).toBe(200);
    expect((await create({ name: "dg-x" })).body.code).toBe("VALIDATION_ERROR");
  });

  it("fifty callers by name or by external id get the one group", async () => {
    const site = await newSite(world);
    const project = site.project.name;
    const put = async (path: string, body: object) => {
      for (;;) {
        const answer = await site.call("PUT", `/v1/deployment-groups/${path}`, { body: { project, ...body } });
        if (answer.body.code !== "CONFLICT") return answer.body.id;
      }
    };
    const byName = await Promise.all(Array.from({ length: 50 }, () => put("by-name", { name: "acme" })));
    expect(new Set(byName).size).toBe(1);
    const body = { externalId: "x1", name: "globex", maxDeployments: 3 };
    const byId = await Promise.all(Array.from({ length: 50 }, () => put("by-external-id", body)));
    expect(new Set(byId).size).toBe(1);
    const taken = { externalId: "x2", name: "acme" };
    const answer = await site.call("PUT", "/v1/deployment-groups/by-external-id", { body: { project, ...taken } });
    expect(answer.body.code).toBe("NAME_TAKEN");
  });

  it("a group is found by external id, and the external id can be moved and cleared", async () => {
    const site = await newSite(world);
    const path = `/v1/deployment-groups/${site.group.id}`;
    const find = (externalId: string, project?: string) =>
      site.call("GET", "/v1/deployment-groups/by-external-id", {
        query: { externalId, ...(project !== undefined && { project }) },
      });
    await site.call("PUT", `${path}/external-id`, { body: { externalId: "c-1" } });
    expect((await find("c-1", site.project.name)).body.id).toBe(site.group.id);
    expect((await find("c-1")).body.code).toBe("PROJECT_REQUIRED");
    expect((await site.call("PUT", `${path}/external-id`, { body: { externalId: null } })).body.externalId).toBeNull();
    expect((await find("c-1", site.project.name)).body.code).toBe("NOT_FOUND");
  });

  it("a limit below the present count only blocks creation; a group with deployments is not deleted", async () => {
    const site = await newSite(world);
    const path = `/v1/deployment-groups/${site.group.id}`;
    const ids = [await site.deploy("one"), await site.deploy("two")];
    expect((await site.call("PATCH", path, { body: { maxDeployments: 1 } })).body.maxDeployments).toBe(1);
    const body = { name: "three", platform: "kubernetes", project: site.project.id, deploymentGroupId: site.group.id };
    expect((await site.call("POST", "/v1/deployments", { body })).body.code).toBe("MAX_DEPLOYMENTS_REACHED");
    expect((await site.call("GET", path, { query: { include: "project" } })).body).toMatchObject({
      deploymentCount: 2,
      project: { id: site.project.id, name: site.project.name },
    });
    expect((await site.call("DELETE", path)).body.code).toBe("DEPLOYMENT_GROUP_NOT_EMPTY");
    for (const id of ids) await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "forget" } });
    const scope = { type: "deployment-group", deploymentGroupId: site.group.id, projectId: site.project.id } as const;
    const key = await site.workspace.key("deployment-group.deployer", scope);
    expect((await site.call("DELETE", path)).status).toBe(204);
    expect((await world.call("GET", path, { key })).body.code).toBe("API_KEY_REVOKED");
  });

  it("a group token sees its own group only, another workspace none", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const extra = { name: "second", project: site.project.name };
    await site.call("POST", "/v1/deployment-groups", { body: extra });
    const scope = { type: "deployment-group", deploymentGroupId: site.group.id, projectId: site.project.id } as const;
    const key = await site.workspace.key("deployment-group.deployer", scope);
    const idsFor = async (as: string) =>
      (await world.call("GET", "/v1/deployment-groups", { key: as })).body.items.map((item: { id: string }) => item.id);
    expect(await idsFor(key)).toEqual([site.group.id]);
    expect(await idsFor(site.member)).toHaveLength(2);
    expect(await idsFor(other.member)).toEqual([other.group.id]);
    expect((await other.call("GET", `/v1/deployment-groups/${site.group.id}`)).body.code).toBe("NOT_FOUND");
    expect((await world.call("PATCH", `/v1/deployment-groups/${site.group.id}`, { key, body: {} })).status).toBe(403);
  });
});
