import { describe, expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "./testing/site.ts";

onEachDatabase("deployments", (world) => {
  const eventsOf = async (site: Awaited<ReturnType<typeof newSite>>, deploymentId: string) => {
    const answer = await site.call("GET", "/v1/events", { query: { deploymentId, limit: 100 } });
    return answer.body.items.map((event: { data: { type: string } }) => event.data.type);
  };

  it("a deployment is created pending, pull on Kubernetes, with its event and a hint to its manager", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const read = await site.call("GET", `/v1/deployments/${id}`, { query: { include: "deploymentGroup,project" } });
    expect(read.body).toMatchObject({
      id,
      name: "shop",
      status: "pending",
      deploymentModel: "pull",
      managerId: site.manager.id,
      connectivity: "never",
      releaseChannel: "production",
      project: { id: site.project.id },
      deploymentGroup: { id: site.group.id, name: "group", externalId: null },
    });
    expect(await eventsOf(site, id)).toEqual(["DeploymentCreated"]);
    const work = await world.call("GET", `/v1/managers/${site.manager.id}/work`, { key: site.manager.key });
    expect(work.body.topics).toContainEqual({ topic: "deployments", deploymentId: id });
  });

  it("a name is taken once in a group, and free again when its deployment is deleted", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const body = { name: "shop", platform: "kubernetes", project: site.project.name, deploymentGroupId: site.group.id };
    const again = await site.call("POST", "/v1/deployments", { body });
    expect(again.body.code).toBe("NAME_TAKEN");
    const forget = await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "forget" } });
    expect(forget.status).toBe(202);
    expect(await site.deploy("shop")).not.toBe(id);
  });

  it("a name does not look like an id", async () => {
    const site = await newSite(world);
    const body = { platform: "kubernetes", project: site.project.name, deploymentGroupId: site.group.id };
    const create = (name: string) => site.call("POST", "/v1/deployments", { body: { ...body, name } });
    expect((await create("dep-shop")).body.code).toBe("VALIDATION_ERROR");
    expect((await create("depot")).status).toBe(201);
  });

  it("fifty callers at once never pass the group's limit", async () => {
    const site = await newSite(world, 7);
    const create = async (index: number) => {
      const body = {
        name: `d-${index}`,
        platform: "kubernetes",
        project: site.project.name,
        managerId: site.manager.id,
      };
      for (;;) {
        const answer = await site.call("POST", "/v1/deployments", {
          body: { ...body, deploymentGroupId: site.group.id },
        });
        if (answer.body.code !== "CONFLICT") return answer;
      }
    };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => create(index)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(7);
    expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
      new Set(["MAX_DEPLOYMENTS_REACHED"]),
    );
  });

  it("fifty callers of one name make one deployment", async () => {
    const site = await newSite(world);
    const body = { name: "one", platform: "kubernetes", project: site.project.name, deploymentGroupId: site.group.id };
    const create = async () => {
      for (;;) {
        const answer = await site.call("POST", "/v1/deployments", { body });
        if (answer.body.code !== "CONFLICT") return answer.status;
      }
    };
    const statuses = await Promise.all(Array.from({ length: 50 }, create));
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(49);
  });

  it("a group token creates in its own group only, and a repeat gets the same deployment and a new token", async () => {
    const site = await newSite(world);
    const scope = { type: "deployment-group", deploymentGroupId: site.group.id, projectId: site.project.id } as const;
    const key = await site.workspace.key("deployment-group.deployer", scope);
    const body = { name: "self", platform: "kubernetes" };
    const first = await world.call("POST", "/v1/deployments", { key, body });
    const second = await world.call("POST", "/v1/deployments", { key, body });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.deployment.id).toBe(first.body.deployment.id);
    expect(second.body.token).not.toBe(first.body.token);
    for (const { body } of [first, second]) {
      const seen = await world.call("GET", `/v1/deployments/${first.body.deployment.id}`, { key: body.token });
      expect(seen.status).toBe(200);
    }
    const other = { ...body, deploymentGroupId: "dg_0000000000000000000000000000" };
    expect((await world.call("POST", "/v1/deployments", { key, body: other })).status).toBe(404);
  });

  it("whoever is no group's token must name the group, which says the project", async () => {
    const site = await newSite(world);
    const body = { name: "shop", platform: "kubernetes" };
    const answer = await site.call("POST", "/v1/deployments", { body });
    const message = "is required of all but a deployment group's token";
    expect(answer.body.context.issues).toEqual([{ path: "body.deploymentGroupId", message }]);
    const named = { ...body, deploymentGroupId: site.group.id };
    for (const [index, scope] of [undefined, { type: "project", projectId: site.project.id } as const].entries()) {
      const key = await site.workspace.key(scope ? "project.developer" : "workspace.member", scope);
      const created = await world.call("POST", "/v1/deployments", { key, body: { ...named, name: `shop-${index}` } });
      expect(created.body.deployment).toMatchObject({ projectId: site.project.id });
    }
    const another = await site.call("POST", "/v1/projects", { body: { name: "another" } });
    const wrong = await site.call("POST", "/v1/deployments", { body: { ...named, project: another.body.id } });
    expect(wrong.status).toBe(404);
  });

  it("another workspace's, project's, group's and manager's deployment looks absent", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const id = await site.deploy("shop");
    const strange = [
      await other.workspace.key("workspace.admin"),
      await other.workspace.key("project.developer", { type: "project", projectId: other.project.id }),
      other.manager.key,
      (await site.workspace.manager()).key,
    ];
    for (const key of strange) {
      expect((await world.call("GET", `/v1/deployments/${id}`, { key })).body.code).toBe("NOT_FOUND");
    }
    for (const key of strange.slice(0, 2)) {
      expect((await world.call("DELETE", `/v1/deployments/${id}`, { key })).body.code).toBe("NOT_FOUND");
      expect((await world.call("GET", "/v1/deployments", { key })).body.items).toEqual([]);
    }
  });

  it("lists page through everything once, newest first, and leave deleted ones out unless asked", async () => {
    const site = await newSite(world);
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await site.deploy(`d-${index}`));
    await site.call("POST", `/v1/deployments/${ids[2]}/delete`, { body: { action: "forget" } });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: Record<string, string | number> = { limit: 2, ...(cursor !== null && { cursor }) };
      const { body } = await site.call("GET", "/v1/deployments", { query });
      seen.push(...body.items.map((item: { id: string }) => item.id));
      cursor = body.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual([ids[4], ids[3], ids[1], ids[0]]);
    const deleted = await site.call("GET", "/v1/deployments", { query: { status: "deleted" } });
    expect(deleted.body.items.map((item: { id: string }) => item.id)).toEqual([ids[2]]);
    const stats = await site.call("GET", "/v1/deployments/stats");
    expect(stats.body).toMatchObject({ total: 4, byStatus: { pending: 4 }, byPlatform: { kubernetes: 4 } });
  });

  it("a deployment's key lists its deployment, by its own group and no other", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const other = { name: "other", project: site.project.name, maxDeployments: 1 };
    await site.call("POST", "/v1/deployment-groups", { body: other });
    const scope = { type: "deployment", deploymentId: id, projectId: site.project.id } as const;
    const key = await site.workspace.key("deployment.viewer", scope);
    const list = (query: Record<string, string>) => world.call("GET", "/v1/deployments", { key, query });
    for (const query of [{}, { deploymentGroup: "group" }, { deploymentGroup: site.group.id }, { search: "group" }])
      expect((await list(query)).body.items, JSON.stringify(query)).toMatchObject([{ id }]);
    expect((await list({ deploymentGroup: "other" })).body.code).toBe("NOT_FOUND");
  });

  it("a deleted deployment takes its tokens, its lease and its waiting commands with it", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    await site.report(
      id,
      "running",
      {},
      {
        stackState: {
          platform: "kubernetes",
          resourcePrefix: "shop",
          resources: { api: { type: "container", status: "running", config: {} } },
        },
      },
    );
    const { token } = (await site.call("POST", `/v1/deployments/${id}/token`, { body: { description: null } })).body;
    const command = await site.call("POST", "/v1/commands", { body: { deploymentId: id, name: "reload" } });
    expect(command.status, JSON.stringify(command.body)).toBe(201);
    await site.call("DELETE", `/v1/deployments/${id}`);
    expect((await site.report(id, "running")).body.current.status).toBe("delete-pending");
    expect((await site.report(id, "deleting")).body.current.status).toBe("deleting");
    expect((await site.report(id, "deleted")).body).not.toHaveProperty("target");
    expect((await world.call("GET", "/v1/whoami", { key: token })).body.code).toBe("API_KEY_REVOKED");
    expect((await site.call("GET", `/v1/commands/${command.body.id}`)).body.state).toBe("EXPIRED");
    expect(await eventsOf(site, id)).toEqual(
      expect.arrayContaining(["DeploymentDeletionRequested", "DeletingAgent", "DeploymentDeleted"]),
    );
  });

  it("a setup that waits for a machine in between is told as one progress", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    for (const status of ["initial-setup", "provisioning", "waiting-for-machines", "provisioning", "running"]) {
      expect((await site.report(id, status)).body.current.status).toBe(status);
    }
    expect((await eventsOf(site, id)).filter((type: string) => type === "ProvisioningAgent")).toHaveLength(1);
  });

  it("a deleted deployment's queued request is rejected as expired, and its record stays readable", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const plan = {
      deploymentId: id,
      remediationPlanId: "incident-7",
      title: "Look",
      commands: [{ command: "kubernetes/get-pods", summary: "See", params: { namespace: "shop" } }],
    };
    const request = await site.call("POST", "/v1/access-requests", { body: plan });
    expect(request.status, JSON.stringify(request.body)).toBe(201);
    await site.call("POST", `/v1/access-requests/${request.body.id}/queue`);
    await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "forget" } });
    const read = await site.call("GET", `/v1/access-requests/${request.body.id}`);
    expect(read.body).toMatchObject({ status: "rejected", decision: { outcome: "expired" } });
    world.clock.advance(91 * 86_400_000);
    await world.platform.sweep();
    expect((await site.call("GET", `/v1/deployments/${id}`)).body.status).toBe("deleted");
    world.clock.advance(310 * 86_400_000);
    await world.platform.sweep();
    expect((await site.call("GET", `/v1/deployments/${id}`)).status).toBe(404);
  });

  it("the same delete again is accepted, another one is refused, and forget always works", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const remove = (action: string) => site.call("POST", `/v1/deployments/${id}/delete`, { body: { action } });
    expect((await remove("detach")).status).toBe(202);
    expect((await remove("detach")).status).toBe(202);
    expect((await remove("cleanup")).body.code).toBe("DELETE_CONFLICT");
    expect((await remove("forget")).status).toBe(202);
    expect((await remove("detach")).body.code).toBe("INVALID_STATE_TRANSITION");
  });

  describe("configuration", () => {
    const canary = "canary-7f3a-secret-value";

    it("a secret variable reads empty for all but the manager, and is sealed at rest", async () => {
      const site = await newSite(world);
      const variables = [
        { name: "PLAIN", value: "seen", type: "plain" },
        { name: "SECRET", value: canary, type: "secret" },
      ];
      const id = await site.deploy("shop", { environmentVariables: variables });
      const read = await site.call("GET", `/v1/deployments/${id}`);
      expect(JSON.stringify(read.body)).not.toContain(canary);
      expect(read.body.environmentVariables).toMatchObject([{ value: "seen" }, { value: "" }]);
      const listed = await site.sync("list", {});
      expect(listed.body.deployments[0].environmentVariables).toMatchObject([{ value: "seen" }, { value: canary }]);
      const stored = await world.platform.db.selectFrom("deployments").selectAll().where("id", "=", id).execute();
      expect(JSON.stringify(stored)).not.toContain(canary);
    });

    it("new variables make a running deployment update, and the running set follows when it is done", async () => {
      const site = await newSite(world);
      const id = await site.deploy("shop");
      await site.report(id, "running");
      const body = { variables: [{ name: "A", value: "1", type: "plain" }] };
      const path = `/v1/deployments/${id}/environment-variables`;
      expect((await site.call("PATCH", path, { body })).status).toBe(202);
      const pending = (await site.call("GET", `/v1/deployments/${id}`)).body;
      expect(pending).toMatchObject({
        status: "update-pending",
        updateState: { active: { reasons: ["configuration"] } },
      });
      expect(pending.targetEnvironmentVariables.variables).toHaveLength(1);
      const reported = await site.report(id, "updating");
      expect(reported.body.target.config.environmentVariables.variables).toHaveLength(1);
      await site.report(id, "running");
      const done = (await site.call("GET", `/v1/deployments/${id}`)).body;
      expect(done).toMatchObject({
        status: "running",
        targetEnvironmentVariables: null,
        updateState: { active: null, latest: { status: "succeeded", changedKeys: ["A"] } },
      });
      expect((await site.call("PATCH", path, { body })).status).toBe(202);
      expect((await site.call("GET", `/v1/deployments/${id}`)).body.status).toBe("running");
    });
  });
});
