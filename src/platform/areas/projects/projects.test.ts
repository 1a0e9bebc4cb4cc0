import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase("projects", (world) => {
  it("a project is made once a name, with its defaults, and is found by id and by name", async () => {
    const site = await newSite(world);
    const made = await site.call("POST", "/v1/projects", { body: { name: "shop" } });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: "shop",
      enabledCapabilities: ["deployments"],
      gitRepository: null,
      rootDirectory: null,
      packagesConfig: null,
      defaultManagers: null,
      deploymentPortalAppearance: null,
    });
    for (const ref of [made.body.id, "shop"]) {
      expect((await site.call("GET", `/v1/projects/${ref}`)).body).toEqual(made.body);
    }
    const again = await site.call("POST", "/v1/projects", { body: { name: "shop" } });
    expect(again.body.code).toBe("NAME_TAKEN");
  });

  it("fifty creators of one name make one project, with its production channel", async () => {
    const site = await newSite(world);
    const create = async () => {
      for (;;) {
        const answer = await site.call("POST", "/v1/projects", { body: { name: "race" } });
        if (answer.body.code !== "CONFLICT") return answer;
      }
    };
    const answers = await Promise.all(Array.from({ length: 50 }, create));
    const winners = answers.filter(({ status }) => status === 201);
    expect(winners).toHaveLength(1);
    const channels = await world.platform.db
      .selectFrom("release_channels")
      .select(["name", "current_release_id"])
      .where("project_id", "=", winners[0]?.body.id)
      .execute();
    expect(channels).toEqual([{ name: "production", current_release_id: null }]);
  });

  it("names that look like ids, unknown keys and bad bodies are named", async () => {
    const site = await newSite(world);
    const cases = [
      [{ name: "prj_shop" }, "body.name"],
      [{ name: "abc" }, "body.name"],
      [{ name: "shop", colour: "red" }, "body.colour"],
      [{ name: "shop", gitRepository: { type: "git-host", repo: "a", extra: 1 } }, "body.gitRepository.extra"],
    ] as const;
    for (const [body, path] of cases) {
      const answer = await site.call("POST", "/v1/projects", { body });
      expect(answer.body.code).toBe("VALIDATION_ERROR");
      expect(answer.body.context.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    }
  });

  it("an address of the portal's appearance that its page could not use is refused", async () => {
    const site = await newSite(world);
    const patch = (deploymentPortalAppearance: object) =>
      site.call("PATCH", `/v1/projects/${site.project.id}`, { body: { deploymentPortalAppearance } });
    const refused = [
      ...[
        "http://example.com/a.png",
        "https://10.0.0.1/a.png",
        "https://localhost/a.png",
        "https://u:p@example.com/a.png",
      ],
      ...["javascript:alert(1)", "data:text/html;base64,PGI+", "data:image/png,x", "https://a;b.example.com/"],
    ].map((avatarUrl) => ({ avatarUrl }));
    const links = ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"];
    for (const each of [...refused, ...links.flatMap((url) => [{ supportUrl: url }, { docsUrl: url }])]) {
      const { status, body } = await patch(each);
      const path = `body.deploymentPortalAppearance.${Object.keys(each)[0]}`;
      expect([status, body.context?.issues[0].path], JSON.stringify(each)).toEqual([400, path]);
    }
    const [said] = (await patch({ avatarUrl: "http://a.example/x.png" })).body.context.issues;
    expect(said.message).toMatch(/^must be https:\/\/ with the name of a host/);
    const taken = { avatarUrl: "https://images.example.com/a.png?v=1", supportUrl: "mailto:help@example.com" };
    const all = { ...taken, docsUrl: "http://docs.example.com/" };
    expect((await patch(all)).body.deploymentPortalAppearance).toEqual(all);
    expect((await patch({ avatarUrl: "data:image/png;base64,iVBORw0KGgo=" })).status).toBe(200);
  });

  it("a patch changes what it names, clears with null, and checks default managers", async () => {
    const site = await newSite(world);
    const path = `/v1/projects/${site.project.id}`;
    const patch = (body: object) => site.call("PATCH", path, { body });
    const set = await patch({
      rootDirectory: "apps/shop",
      deploymentPortalAppearance: { preset: "technical", title: "Shop" },
      defaultManagers: { kubernetes: site.manager.id },
      enabledCapabilities: ["deployments", "keys"],
    });
    expect(set.body).toMatchObject({
      rootDirectory: "apps/shop",
      deploymentPortalAppearance: { preset: "technical", title: "Shop" },
      defaultManagers: { kubernetes: site.manager.id },
      enabledCapabilities: ["deployments", "keys"],
    });
    expect((await patch({ rootDirectory: null })).body).toMatchObject({ rootDirectory: null, name: site.project.name });
    expect((await patch({ defaultManagers: { aws: site.manager.id } })).body.code).toBe("NOT_FOUND");
    expect((await patch({ name: "other" })).body.code).toBe("VALIDATION_ERROR");
  });

  it("only an empty project is deleted, by an admin, and its keys die with it", async () => {
    const site = await newSite(world);
    const path = `/v1/projects/${site.project.id}`;
    const id = await site.deploy("shop");
    const key = await site.workspace.key("project.viewer", { type: "project", projectId: site.project.id });
    expect((await site.call("DELETE", path)).body.code).toBe("FORBIDDEN");
    const remove = () => world.call("DELETE", path, { key: site.admin });
    expect((await remove()).body.code).toBe("PROJECT_NOT_EMPTY");
    await site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: "forget" } });
    expect((await remove()).status).toBe(204);
    expect((await site.call("GET", path)).status).toBe(404);
    expect((await world.call("GET", path, { key })).body.code).toBe("API_KEY_REVOKED");
  });

  it("lists show a project key its own, others all, with counts, page by page", async () => {
    const site = await newSite(world);
    for (const name of ["alpha", "beta", "gamma"]) await site.call("POST", "/v1/projects", { body: { name } });
    await site.deploy("shop");
    const query = { include: "deploymentCount,latestRelease", limit: 3 };
    const first = (await site.call("GET", "/v1/projects", { query })).body;
    expect(first.items.map((item: { name: string }) => item.name)).toEqual(["gamma", "beta", "alpha"]);
    const second = (await site.call("GET", "/v1/projects", { query: { ...query, cursor: first.nextCursor } })).body;
    expect(second).toMatchObject({
      items: [{ id: site.project.id, deploymentCount: 1, latestRelease: null }],
      nextCursor: null,
    });
    const found = (await site.call("GET", "/v1/projects", { query: { search: "LPH" } })).body;
    expect(found.items).toMatchObject([{ name: "alpha" }]);
    for (const role of [
      "project.viewer",
      "project.encryption",
      "project.ai-gateway",
      "project.remote-bindings",
    ] as const) {
      const key = await site.workspace.key(role, { type: "project", projectId: site.project.id });
      const own = await world.call("GET", "/v1/projects", { key });
      expect(own.body.items.map((item: { id: string }) => item.id)).toEqual([site.project.id]);
      expect((await world.call("GET", "/v1/projects/alpha", { key })).status).toBe(404);
    }
  });

  it("another workspace's project looks absent", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    for (const ref of [site.project.id, site.project.name]) {
      expect((await other.call("GET", `/v1/projects/${ref}`)).body.code).toBe("NOT_FOUND");
      expect((await other.call("PATCH", `/v1/projects/${ref}`, { body: {} })).body.code).toBe("NOT_FOUND");
      expect((await world.call("DELETE", `/v1/projects/${ref}`, { key: other.admin })).body.code).toBe("NOT_FOUND");
    }
  });
});
