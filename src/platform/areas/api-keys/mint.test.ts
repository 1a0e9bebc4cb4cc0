import fc from "fast-check";
import { expect, it } from "vitest";
import { ROUTES } from "../../../contract/table.ts";
import type { Role } from "../../../contract/wire/roles.ts";
import type { Scope } from "../../kernel/tenancy/principal.ts";
import { type Answer, onEachDatabase, type World } from "../../testing/harness.ts";
import { MINUTE_MS } from "../../testing/model-step.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

const POLICY = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
const CONFIG = { metadata: {}, policy: POLICY, environmentVariables: [] };

/** A caller's key, and the routes that it can get keys from. */
interface Minter {
  readonly world: World;
  readonly site: Site;
  readonly deploymentId: string;
  key(role: Role, scope: Scope): Promise<string>;
  call(key: string, method: string, path: string, body?: object): Promise<Answer>;
}

let made = 0;
const fresh = (): string => {
  made += 1;
  return `d-${made}`;
};
const workspace = { type: "workspace" } as const;
const project = ({ site }: Minter): Scope => ({ type: "project", projectId: site.project.id });

/** Every route that answers with a key, called by a key that may; `expiresAt` where the body takes one. */
const MINTS: Readonly<Record<string, (by: Minter, expiresAt: string | undefined) => Promise<Answer>>> = {
  "POST /v1/api-keys": async (by, expiresAt) =>
    by.call(await by.key("workspace.member", workspace), "POST", "/v1/api-keys", {
      description: null,
      scope: { type: "project", role: "project.viewer", projectId: by.site.project.id },
      ...(expiresAt !== undefined && { expiresAt }),
    }),
  "POST /v1/deployment-groups/{id}/tokens": async (by, expiresAt) =>
    by.call(
      await by.key("project.developer", project(by)),
      "POST",
      `/v1/deployment-groups/${by.site.group.id}/tokens`,
      { deploymentSetupConfig: CONFIG, ...(expiresAt !== undefined && { expiresAt }) },
    ),
  "POST /v1/deployment-groups/{id}/first-party-session": async (by) =>
    by.call(
      await by.key("project.developer", project(by)),
      "POST",
      `/v1/deployment-groups/${by.site.group.id}/first-party-session`,
    ),
  "POST /v1/deployments": async (by) =>
    by.call(
      await by.key("deployment-group.deployer", {
        type: "deployment-group",
        deploymentGroupId: by.site.group.id,
        projectId: by.site.project.id,
      }),
      "POST",
      "/v1/deployments",
      { name: fresh(), platform: "kubernetes" },
    ),
  "POST /v1/deployments/{id}/token": async (by, expiresAt) =>
    by.call(await by.key("workspace.member", workspace), "POST", `/v1/deployments/${by.deploymentId}/token`, {
      description: null,
      ...(expiresAt !== undefined && { expiresAt }),
    }),
  "POST /v1/managers": async (by) =>
    by.call(await by.key("workspace.admin", workspace), "POST", "/v1/managers", {
      name: fresh(),
      cloud: "aws",
      region: "eu-west-1",
    }),
  "POST /v1/managers/{id}/setup-token": async (by) => {
    const admin = await by.key("workspace.admin", workspace);
    const { managerId } = (await by.call(admin, "POST", "/v1/managers", setup())).body;
    return by.call(admin, "POST", `/v1/managers/${managerId}/setup-token`);
  },
  "POST /v1/managers/{id}/retry": async (by) => {
    const admin = await by.key("workspace.admin", workspace);
    const { managerId } = (await by.call(admin, "POST", "/v1/managers", setup())).body;
    return by.call(admin, "POST", `/v1/managers/${managerId}/retry`);
  },
  // A setup token is exchanged for the runtime key: that one ends with the key that minted the setup token.
  "POST /v1/managers/{id}/bootstrap": async (by) => {
    const admin = await by.key("workspace.admin", workspace);
    const { managerId, setupToken } = (await by.call(admin, "POST", "/v1/managers", setup())).body;
    return by.call(setupToken, "POST", `/v1/managers/${managerId}/bootstrap`);
  },
};
const setup = () => ({ name: fresh(), cloud: "aws", region: "eu-west-1" });

/** Routes that answer with a secret which is no key. */
const NO_KEY = [
  "POST /v1/deployments/{id}/debug-requests",
  "POST /v1/debug-sessions/{id}/tickets",
  "POST /v1/machines/deployments/{id}/join-tokens",
  "POST /v1/machines/deployments/{id}/join-tokens/rotate",
  "POST /v1/managers/{id}/token",
  "POST /v1/operations/plugins/upload-url",
];

it("every route that answers with a key is among those of this file", () => {
  const secret = Object.values(ROUTES).flatMap((area) =>
    Object.values(area).flatMap((route) => ("secret" in route ? [`${route.method} ${route.path}`] : [])),
  );
  expect(secret.sort()).toEqual([...Object.keys(MINTS), ...NO_KEY].sort());
});

onEachDatabase("minting", (world) => {
  async function minter(minutes: number): Promise<Minter & { readonly until: Date }> {
    const site = await newSite(world);
    const until = new Date(world.clock.wallNow().getTime() + minutes * MINUTE_MS);
    return {
      world,
      site,
      until,
      deploymentId: await site.deploy("one"),
      key: async (role, scope) =>
        (
          await world.platform.bootstrap.key({
            workspaceId: site.workspace.id,
            role,
            scope,
            expiresAt: until,
          })
        ).key,
      call: (key, method, path, body) => world.call(method, path, { key, ...(body !== undefined && { body }) }),
    };
  }

  it("no key outlives the key that mints it, whatever route it comes from and whatever end is asked for", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(MINTS)),
        fc.integer({ min: 2, max: 5000 }),
        fc.option(fc.integer({ min: 1, max: 10_000 })),
        async (route, minutes, asked) => {
          const by = await minter(minutes);
          const expiresAt =
            asked === null ? undefined : new Date(world.clock.wallNow().getTime() + asked * MINUTE_MS).toISOString();
          const answer = await MINTS[route]?.(by, expiresAt);
          if (answer?.status === 403) expect(answer.body.code).toBe("PRIVILEGE_ESCALATION");
          else expect(answer?.status, JSON.stringify(answer?.body)).toBeLessThan(300);
          const minted = await world.platform.db
            .selectFrom("api_keys")
            .select(["role", "expires_at"])
            .where("workspace_id", "=", by.site.workspace.id)
            .where("minted_by", "is not", null)
            .execute();
          if (answer?.status !== 403) expect(minted).not.toEqual([]);
          for (const { role, expires_at } of minted) {
            expect(expires_at?.getTime() ?? Number.POSITIVE_INFINITY, role).toBeLessThanOrEqual(by.until.getTime());
          }
        },
      ),
      // Each route at least once.
      { numRuns: 12, examples: Object.keys(MINTS).map((route): [string, number, null] => [route, 5000, null]) },
    );
  });

  it("what a key minted stays when it is revoked: it was handed on, and the role is its own", async () => {
    const by = await minter(60);
    const answer = await MINTS["POST /v1/deployments"]?.(by, undefined);
    const { minted_by } = await world.platform.db
      .selectFrom("api_keys")
      .select("minted_by")
      .where("workspace_id", "=", by.site.workspace.id)
      .where("role", "=", "deployment.manager")
      .executeTakeFirstOrThrow();
    expect((await by.call(by.site.admin, "DELETE", `/v1/api-keys/${minted_by}`)).status).toBe(204);
    expect((await world.call("GET", "/v1/whoami", { key: answer?.body.token })).status).toBe(200);
    world.clock.advance(61 * MINUTE_MS);
    expect((await world.call("GET", "/v1/whoami", { key: answer?.body.token })).body.code).toBe("API_KEY_EXPIRED");
  });
});

onEachDatabase(
  "the budgets of keys",
  (world) => {
    const deploy = (key: string, name: string) =>
      world.call("POST", "/v1/deployments", { key, body: { name, platform: "kubernetes" } });
    const refused = (answer: Answer) => [answer.status, answer.body.code, answer.body.context?.budget];
    const viewer = (site: Site, key: string) =>
      world.call("POST", "/v1/api-keys", {
        key,
        body: { description: null, scope: { type: "project", role: "project.viewer", projectId: site.project.id } },
      });
    const groupToken = async (site: Site, groupId = site.group.id): Promise<string> =>
      site.workspace.key("deployment-group.deployer", {
        type: "deployment-group",
        deploymentGroupId: groupId,
        projectId: site.project.id,
      });

    it("a customer that mints keys without end takes its own part, and the vendor mints on", async () => {
      const site = await newSite(world, 2);
      const [one, other] = [await groupToken(site), await groupToken(site)];
      for (let count = 0; count < 3; count += 1) expect((await deploy(one, "shop")).status).toBeLessThan(300);
      // The group's many tokens are one tenant.
      expect(refused(await deploy(other, "shop"))).toEqual([400, "BUDGET_EXCEEDED", "deployment-api-keys"]);
      expect((await deploy(other, "shop")).body).toMatchObject({ context: { size: 3 }, retryable: false });
      for (let count = 0; count < 2; count += 1) expect((await deploy(one, "more")).status).toBeLessThan(300);
      expect(refused(await deploy(one, "more"))).toEqual([400, "BUDGET_EXCEEDED", "group-api-keys"]);
      const body = { name: "second", project: site.project.name, maxDeployments: 10 };
      const second = (await site.call("POST", "/v1/deployment-groups", { body })).body;
      expect((await deploy(await groupToken(site, second.id), "shop")).status).toBe(201);
      expect((await viewer(site, site.admin)).status).toBe(201);
      const { items } = (await site.call("GET", "/v1/api-keys")).body;
      const { id } = items.find((key: { role: string }) => key.role === "deployment.manager");
      expect((await site.call("DELETE", `/v1/api-keys/${id}`)).status).toBe(204);
    });

    it("a group has keys for all of the deployments that it is declared with", async () => {
      const site = await newSite(world, 8);
      const token = await groupToken(site);
      for (let count = 0; count < 8; count += 1) expect((await deploy(token, `d-${count}`)).status).toBe(201);
    });

    it("nothing of a refused call stays", async () => {
      const site = await newSite(world, 1);
      const token = await groupToken(site);
      for (let count = 0; count < 3; count += 1) expect((await deploy(token, "shop")).status).toBeLessThan(300);
      const live = async () => (await site.call("GET", "/v1/api-keys", { query: { limit: 100 } })).body.items.length;
      const before = await live();
      expect((await deploy(token, "shop")).status).toBe(400);
      expect(await live()).toBe(before);
    });

    it("one member's keys are its own part; an admin's and another member's are not held up by them", async () => {
      const site = await newSite(world);
      for (let count = 0; count < 4; count += 1) expect((await viewer(site, site.member)).status).toBe(201);
      expect(refused(await viewer(site, site.member))).toEqual([400, "BUDGET_EXCEEDED", "minter-api-keys"]);
      expect((await viewer(site, await site.workspace.key("workspace.member"))).status).toBe(201);
      expect((await viewer(site, site.admin)).status).toBe(201);
    });

    it("what a key minted, and what that minted, is one part: the first one's", async () => {
      const site = await newSite(world);
      const developer = async (key: string) =>
        world.call("POST", "/v1/api-keys", {
          key,
          body: {
            description: null,
            scope: { type: "project", role: "project.developer", projectId: site.project.id },
          },
        });
      const [root, other] = [(await developer(site.admin)).body.apiKey, (await developer(site.admin)).body.apiKey];
      const line = [root];
      for (let count = 0; count < 4; count += 1) {
        const { status, body } = await developer(line.at(-1));
        expect(status, JSON.stringify(body)).toBe(201);
        line.push(body.apiKey);
      }
      for (const key of line) {
        expect(refused(await developer(key))).toEqual([400, "BUDGET_EXCEEDED", "minter-api-keys"]);
      }
      expect((await developer(other)).status).toBe(201);
    });

    it("a user's keys, and theirs, are the user's part", async () => {
      const site = await newSite(world);
      const user = await world.user();
      await site.workspace.member(user, "workspace.member");
      const mint = (key: string) =>
        world.call("POST", "/v1/api-keys", {
          key,
          query: { workspace: site.workspace.name },
          body: {
            description: null,
            scope: { type: "project", role: "project.developer", projectId: site.project.id },
          },
        });
      const first = await mint(user.token);
      for (const key of [user.token, first.body.apiKey, first.body.apiKey]) expect((await mint(key)).status).toBe(201);
      for (const key of [user.token, first.body.apiKey]) {
        expect(refused(await mint(key))).toEqual([400, "BUDGET_EXCEEDED", "minter-api-keys"]);
      }
    });

    it("members, however many, leave a part to admins and managers' setups", async () => {
      const site = await newSite(world);
      const last: Answer[] = [];
      for (let member = 0; member < 3; member += 1) {
        const key = await site.workspace.key("workspace.member");
        for (let count = 0; count < 4; count += 1) last.push(await viewer(site, key));
      }
      expect(last.map(({ status }) => status)).toEqual([...Array(10).fill(201), 400, 400]);
      expect(last.slice(10).map(refused)).toEqual(
        Array(2).fill([400, "BUDGET_EXCEEDED", "workspace-members-api-keys"]),
      );
      expect((await viewer(site, site.admin)).status).toBe(201);
      const made = await world.call("POST", "/v1/managers", { key: site.admin, body: setup() });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      const { managerId, setupToken } = made.body;
      expect((await world.call("POST", `/v1/managers/${managerId}/bootstrap`, { key: setupToken })).status).toBe(201);
    });

    it("keys that are revoked or expire at once count for an hour", async () => {
      const site = await newSite(world, 1);
      const revoke = async (role: string): Promise<void> => {
        const { items } = (await world.call("GET", "/v1/api-keys", { key: site.admin, query: { limit: 100 } })).body;
        for (const key of items.filter((each: { role: string }) => each.role === role)) {
          await world.call("DELETE", `/v1/api-keys/${key.id}`, { key: site.admin });
        }
      };
      for (let count = 0; count < 6; count += 1) {
        expect((await viewer(site, site.member)).status).toBe(201);
        await revoke("project.viewer");
      }
      expect(refused(await viewer(site, site.member))).toEqual([429, "RATE_LIMITED", "minter-new-api-keys"]);
      const token = await groupToken(site);
      for (let count = 0; count < 7; count += 1) {
        expect((await deploy(token, "shop")).status).toBeLessThan(300);
        await revoke("deployment.manager");
      }
      expect(refused(await deploy(token, "shop"))).toEqual([429, "RATE_LIMITED", "group-new-api-keys"]);
      for (let count = 0; count < 30; count += 1) {
        const { status, body } = await viewer(site, site.admin);
        await revoke("project.viewer");
        if (status !== 201) expect([status, body.context?.budget]).toEqual([429, "workspace-new-api-keys"]);
        else expect(count).toBeLessThan(25);
      }
      world.clock.advance(60 * MINUTE_MS);
      for (const key of [site.admin, site.member]) expect((await viewer(site, key)).status).toBe(201);
      expect((await deploy(token, "shop")).status).toBeLessThan(300);
    });

    it("keys that time ended are forgotten 400 days later", async () => {
      const site = await newSite(world);
      const ends = (days: number) => new Date(world.clock.wallNow().getTime() - days * 24 * 60 * MINUTE_MS);
      const put = async (days: number) =>
        world.platform.bootstrap.key({
          workspaceId: site.workspace.id,
          role: "workspace.member",
          scope: { type: "workspace" },
          expiresAt: ends(days),
        });
      const [kept, gone] = [await put(399), await put(401)];
      await world.platform.sweep();
      const answers = [kept, gone].map(({ key }) => world.call("GET", "/v1/whoami", { key }));
      expect((await Promise.all(answers)).map(({ body }) => body.code)).toEqual(["API_KEY_EXPIRED", "API_KEY_INVALID"]);
    });

    it("the workspace's own limit counts what the vendor's side minted", async () => {
      const site = await newSite(world);
      let last = await viewer(site, site.admin);
      for (let count = 0; last.status === 201 && count < 40; count += 1) last = await viewer(site, site.admin);
      expect(refused(last)).toEqual([400, "VALIDATION_ERROR", "workspace-api-keys"]);
      expect((await deploy(await groupToken(site), "shop")).status).toBe(201);
    });
  },
  {
    budgets: {
      "workspace-api-keys": 20,
      "workspace-members-api-keys": 10,
      "minter-api-keys": 4,
      "group-api-keys": 1,
      "deployment-api-keys": 3,
      "workspace-new-api-keys": 25,
      "minter-new-api-keys": 6,
      "group-new-api-keys": 5,
    },
  },
);
