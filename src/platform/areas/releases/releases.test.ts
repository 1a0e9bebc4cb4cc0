import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { promote, release, STACK } from "./testing/releases.ts";

const SHA = "0123456789abcdef0123456789ABCDEF01234567";
const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "a" } };
const stackWith = (config: object, dependencies: readonly string[] = []) => ({
  ...STACK,
  resources: { web: { config, dependencies, lifecycle: "live" } },
});
const idsOf = (answer: Answer): string[] => answer.body.items.map((item: { id: string }) => item.id);

onEachDatabase("releases", (world) => {
  const create = (site: Site, body: object) =>
    site.call("POST", "/v1/releases", { body: { project: site.project.name, ...body } });
  const list = (site: Site, query: Record<string, string | number | boolean> = {}) =>
    site.call("GET", "/v1/releases", { query: { allChannels: true, ...query } });

  it("what is created reads back with every field of git metadata there and one fingerprint a platform", async () => {
    const site = await newSite(world);
    const git = {
      commitSha: SHA,
      commitRef: "refs/heads/main",
      commitDate: "2026-03-01T12:00:00+02:00",
      remoteUrl: "https://ci:canary-token@git.example.com/acme/shop.git",
      provider: { type: "git-host", org: "acme", repo: "shop" },
    };
    const made = await create(site, {
      version: "1.2.3",
      gitMetadata: git,
      rootDirectory: "apps/shop",
      stack: { aws: STACK },
    });
    expect(made.body).toMatchObject({ version: "1.2.3", rootDirectory: "apps/shop", createdByUserId: null });
    expect(made.body.gitMetadata).toEqual({
      commitSha: SHA.toLowerCase(),
      commitMessage: null,
      commitRef: "refs/heads/main",
      commitDate: "2026-03-01T10:00:00.000Z",
      dirty: null,
      remoteUrl: "https://git.example.com/acme/shop.git",
      commitAuthorName: null,
      commitAuthorEmail: null,
      commitAuthorLogin: null,
      commitAuthorAvatarUrl: null,
      provider: git.provider,
    });
    expect(Object.keys(made.body.stack)).toHaveLength(7);
    expect(made.body.stack.aws).toEqual(STACK);
    expect(made.body.setupFingerprints).toEqual({
      aws: { target: "aws", version: 1, fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    const read = await site.call("GET", `/v1/releases/${made.body.id}`, { query: { include: "project,rollout" } });
    expect(read.body).toEqual({
      ...made.body,
      currentChannels: ["production"],
      commitUrl: `https://git.example.com/acme/shop/commit/${SHA.toLowerCase()}`,
      project: { id: site.project.id, name: site.project.name },
      rollout: { updatedCount: 0, pendingCount: 0, avgDurationMs: null },
    });
    expect(JSON.stringify(read.body)).not.toContain("canary");
  });

  it("a live resource leaves the fingerprint as it is, a frozen one changes it", async () => {
    const site = await newSite(world);
    const printOf = async (resources: object) =>
      (await create(site, { stack: { kubernetes: { ...STACK, resources } } })).body.setupFingerprints.kubernetes
        .fingerprint;
    const { data, web } = STACK.resources;
    const first = await printOf({ data, web });
    expect(await printOf({ data })).toBe(first);
    expect(await printOf({ data, web: { ...web, lifecycle: "frozen" } })).not.toBe(first);
  });

  it("versions count by themselves, step over those given by hand, and are taken once", async () => {
    const site = await newSite(world);
    const versions = [];
    for (const body of [{}, { version: "0.0.3" }, {}, {}]) versions.push((await create(site, body)).body.version);
    expect(versions).toEqual(["0.0.1", "0.0.3", "0.0.4", "0.0.5"]);
    expect((await create(site, { version: "0.0.4" })).body.code).toBe("NAME_TAKEN");
    const many = await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (;;) {
          const answer = await create(site, {});
          if (answer.body.code !== "CONFLICT") return answer.body.version;
        }
      }),
    );
    expect(new Set(many).size).toBe(20);
  });

  it.each([
    ["no stack at all in a given one", { stack: { aws: null } }, "body.stack"],
    ["a path that leaves the repository", { rootDirectory: "a/../../b" }, "body.rootDirectory"],
    [
      "a resource without lifecycle",
      { stack: { aws: { ...STACK, resources: { a: {} } } } },
      "body.stack.aws.resources.a",
    ],
    ["a sha of another length", { gitMetadata: { commitSha: "abc" } }, "body.gitMetadata.commitSha"],
    ["an unknown field of git metadata", { gitMetadata: { sha: SHA } }, "body.gitMetadata.sha"],
    [
      "an input's pattern that does not compile",
      {
        stack: {
          aws: {
            ...STACK,
            inputs: [{ id: "a", kind: "string", label: "A", required: true, validation: { pattern: "(" } }],
          },
        },
      },
      "body.stack.aws.inputs.0.validation.pattern",
    ],
    [
      "a stack for Kubernetes whose container has no image",
      { stack: { kubernetes: stackWith({ id: "web", type: "container" }) } },
      "body.stack.kubernetes.resources.web.config.image",
    ],
    [
      "a stack for Kubernetes with a right",
      { stack: { kubernetes: stackWith({ id: "web", type: "manifests", objects: [ROLE] }) } },
      "body.stack.kubernetes.resources.web.config.objects.0.kind",
    ],
    [
      "a stack for Kubernetes that goes in a circle",
      { stack: { kubernetes: stackWith({ id: "web", type: "queue" }, ["web"]) } },
      "body.stack.kubernetes.resources.web.dependencies",
    ],
    ["a stack that is too large", { stack: { aws: { ...STACK, note: "x".repeat(524_288) } } }, "body.stack.aws"],
  ])("%s is refused by name", async (_, body, path) => {
    const site = await newSite(world);
    const answer = await create(site, body);
    expect(answer.body.code).toBe("VALIDATION_ERROR");
    const paths: string[] = answer.body.context.issues.map((issue: { path: string }) => issue.path);
    expect(
      paths.some((each) => each.startsWith(path)),
      paths.join(),
    ).toBe(true);
    // Nothing of the types that are not meant.
    expect(paths.filter((each) => !each.startsWith(path))).toEqual([]);
    expect((await list(site)).body.items).toEqual([]);
  });

  it("what is made for another platform is not judged by the rules of Kubernetes", async () => {
    const site = await newSite(world);
    const free = stackWith({ id: "web", type: "container", cpu: 2 });
    expect((await create(site, { stack: { aws: free } })).status).toBe(201);
  });

  it("a release with an unknown channel leaves nothing behind", async () => {
    const site = await newSite(world);
    expect((await create(site, { channel: "beta" })).body).toMatchObject({ code: "NOT_FOUND" });
    expect((await list(site)).body.items).toEqual([]);
    expect((await create(site, { project: "no-such-project" })).body.code).toBe("NOT_FOUND");
  });

  it("lists show what is or was in the channel, all with allChannels, and every filter narrows", async () => {
    const site = await newSite(world);
    const by = (name: string, login: string | null) => ({ commitAuthorName: name, commitAuthorLogin: login });
    const one = await release(site, {
      version: "1.0.0",
      gitMetadata: {
        commitSha: SHA,
        commitMessage: "Fix 100% of it",
        commitRef: "refs/heads/main",
        ...by("Ada", "ada"),
      },
    });
    world.clock.advance(1000);
    const two = await release(site, {
      version: "2.0.0-rc",
      gitMetadata: { commitRef: "feature/x", ...by("Bo", null) },
    });
    world.clock.advance(1000);
    const three = await release(site, { gitMetadata: { commitRef: "main", ...by("Ada L", "ada") } });
    await promote(site, two);
    const find = async (query: Record<string, string>) => idsOf(await list(site, query));
    expect(idsOf(await site.call("GET", "/v1/releases"))).toEqual([two, one]);
    expect(await find({ allChannels: "false", channel: "beta" })).toEqual([]);
    expect(await find({})).toEqual([three, two, one]);
    expect(await find({ branch: "main" })).toEqual([three, one]);
    expect(await find({ branch: "refs/heads/main" })).toEqual([three, one]);
    expect(await find({ author: "ADA" })).toEqual([three, one]);
    expect(await find({ author: "bo" })).toEqual([two]);
    expect(await find({ search: "100%" })).toEqual([one]);
    expect(await find({ search: "FEATURE" })).toEqual([two]);
    expect(await find({ search: "-RC" })).toEqual([two]);
    expect(await find({ search: "0123" })).toEqual([one]);
    expect(await find({ search: "012" })).toEqual([]);
    expect(await find({ search: one.slice(0, 12) })).toEqual([one]);
    const { createdAt } = (await site.call("GET", `/v1/releases/${two}`)).body;
    expect(await find({ createdAfter: createdAt })).toEqual([three, two]);
    expect(await find({ createdBefore: createdAt })).toEqual([one]);
    expect(await find({ project: site.project.name })).toHaveLength(3);
    const promoted = (query: Record<string, string>) => find({ allChannels: "false", ...query });
    expect(await promoted({ branch: "main" })).toEqual([one]);
    expect(await promoted({ author: "ADA" })).toEqual([one]);
    expect(await promoted({ search: "-RC" })).toEqual([two]);
    expect(await promoted({ createdAfter: createdAt })).toEqual([two]);
    expect(await promoted({ createdBefore: createdAt })).toEqual([one]);
    expect(await promoted({ project: site.project.name })).toEqual([two, one]);
    expect((await site.call("GET", "/v1/releases/branches")).body.items).toEqual(["main", "feature/x"]);
    expect((await site.call("GET", "/v1/releases/branches", { query: { search: "FEAT" } })).body.items).toEqual([
      "feature/x",
    ]);
    expect((await site.call("GET", "/v1/releases/authors")).body.items).toEqual([
      { login: "ada", name: "Ada L", avatarUrl: null },
      { login: null, name: "Bo", avatarUrl: null },
    ]);
    expect((await site.call("GET", "/v1/releases/authors", { query: { search: "b", limit: 1 } })).body.items).toEqual([
      { login: null, name: "Bo", avatarUrl: null },
    ]);
  });

  it("pages miss and repeat nothing while releases are made", async () => {
    const site = await newSite(world);
    const there = [];
    for (let n = 0; n < 7; n += 1) there.push(await release(site));
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Answer = await list(site, { limit: 2, ...(cursor !== "" && { cursor }) });
      seen.push(...idsOf(page));
      cursor = page.body.nextCursor;
      await release(site);
    }
    expect(seen).toHaveLength(7);
    expect(new Set(seen)).toEqual(new Set(there));
    expect((await list(site, { cursor: "nonsense" })).body.code).toBe("INVALID_CURSOR");
  });

  it("promoted ones are listed by their own age, page by page", async () => {
    const site = await newSite(world);
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      world.clock.advance(1000);
      made.push(await release(site));
    }
    for (const n of [4, 2, 3]) await promote(site, made[n] ?? "");
    const newestFirst = [4, 3, 2, 0].map((n) => made[n]);
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const more = cursor === "" ? {} : { cursor };
      const page: Answer = await site.call("GET", "/v1/releases", { query: { limit: 1, ...more } });
      seen.push(...idsOf(page));
      cursor = page.body.nextCursor;
    }
    expect(seen).toEqual(newestFirst);
    const of = async (key: string) => idsOf(await world.call("GET", "/v1/releases", { key }));
    expect(
      await of(await site.workspace.key("project.viewer", { type: "project", projectId: site.project.id })),
    ).toEqual(newestFirst);
    expect(await of((await newSite(world)).admin)).toEqual([]);
  });

  it("another workspace sees nothing of it; a deployment's key and manager see what concerns the deployment", async () => {
    const [site, other] = [await newSite(world), await newSite(world)];
    const [one, two] = [await release(site), await release(site)];
    expect((await list(other)).body.items).toEqual([]);
    const read = async (key: string, id: string) => (await world.call("GET", `/v1/releases/${id}`, { key })).status;
    expect(await read(other.admin, one)).toBe(404);
    const deploymentId = await site.deploy("shop");
    const projectId = site.project.id;
    const own = await site.workspace.key("deployment.viewer", { type: "deployment", deploymentId, projectId });
    const group = { type: "deployment-group", deploymentGroupId: site.group.id, projectId } as const;
    const deployer = await site.workspace.key("deployment-group.deployer", group);
    expect([await read(own, one), await read(own, two), await read(other.manager.key, one)]).toEqual([200, 404, 404]);
    expect([await read(site.manager.key, one), await read(site.manager.key, two)]).toEqual([200, 404]);
    expect([await read(deployer, one), await read(deployer, two)]).toEqual([200, 200]);
    await site.call("POST", `/v1/deployments/${deploymentId}/pin-release`, { body: { releaseId: two } });
    expect([await read(own, two), await read(site.manager.key, two)]).toEqual([200, 200]);
  });

  it("creating is told as an event with the release", async () => {
    const site = await newSite(world);
    const id = await release(site);
    const events = (await site.call("GET", "/v1/events", { query: { releaseId: id } })).body.items;
    expect(events.map(({ data, state }: { data: { type: string }; state: string }) => [data.type, state])).toEqual(
      expect.arrayContaining([
        ["CreatingRelease", "success"],
        ["ReleaseChannelUpdated", "none"],
      ]),
    );
  });
});
