import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { ROUTES } from "../../contract/table.ts";
import { ROLES, type Role, scopeOf, WORKSPACE_ROLES } from "../../contract/wire/roles.ts";
import type { Route } from "../../contract/wire/route.ts";
import type { WorkspaceRole } from "../database/tables/identity.ts";
import { type Answer, onEachDatabase, type TestWorkspace } from "../testing/harness.ts";
import { sample, samplePath, sampleQuery } from "../testing/sample.ts";
import { keysOfRoles, newSite, type Site } from "./deployments/testing/site.ts";

/** What holds for every route because the table says so, whoever wrote the handler. */
const routes: (readonly [string, Route])[] = Object.values(ROUTES)
  .flatMap((area): Route[] => Object.values(area))
  // WebSocket upgrades have their own tests (relay/relay.test.ts).
  .filter(({ success }) => success !== 101)
  .map((route) => [`${route.method} ${route.path}`, route]);
const withBody = routes.filter(([, { body }]) => body !== undefined);
const strictBody = withBody.filter(([, { body }]) => (body as { type?: string }).type === "object");

/** Routes that an admin's key may not call although an admin may. */
const USERS_ONLY = new Set(["DELETE /v1/workspaces/{id}"]);

/** Every user may call it, of itself: the sample is another. */
const OWN_ROW = "DELETE /v1/workspaces/{id}/members/{userId}";

/** A gateway's key may call the route for its own gateway, which the sample is not. */
const ELSEWHERE = new Set(["project.encryption /v1/gateways/ai/overview"]);

onEachDatabase("every route", (world) => {
  let site: Site;
  let foreign: Readonly<Record<string, string>>;
  let siblings: Readonly<Record<string, string>>;
  const keys = new Map<Role | "user", string>();
  /** Their tokens, by the role that they have in the site's workspace. */
  const users = new Map<WorkspaceRole, string>();
  /** Belongs nowhere. */
  let stranger: string;
  let elsewhere: TestWorkspace;

  beforeAll(async () => {
    site = await newSite(world);
    const deploymentId = await site.deploy("sample");
    for (const [role, key] of await keysOfRoles(site, deploymentId)) keys.set(role, key);
    for (const role of WORKSPACE_ROLES) {
      const user = await world.user();
      await site.workspace.member(user, role);
      users.set(role, user.token);
    }
    keys.set("user", users.get("workspace.viewer") ?? "");
    stranger = (await world.user()).token;
    elsewhere = await world.workspace();
    foreign = await objectsOf(await newSite(world));
    siblings = await objectsOf(await besides(site));
  }, 120_000);

  /** Of an object that is nowhere, in the caller's own workspace. */
  const nowhere = (route: Route): string =>
    samplePath(route, route.workspace === "path" ? { id: site.workspace.id } : {});
  const call = (route: Route, key: string | undefined, body: unknown, path = nowhere(route)): Promise<Answer> =>
    world.call(route.method, path, {
      query: { ...needed(route, site.project.id), ...sampleQuery(route.query) },
      ...(key !== undefined && { key }),
      ...(route.method !== "GET" && body !== undefined && { body }),
    });
  const keyFor = (route: Route): string | undefined => {
    if (route.roles === "setup-token") return undefined;
    return keys.get(typeof route.roles === "string" ? "workspace.admin" : firstRole(route.roles));
  };

  describe("asks for a credential", () => {
    it.each(routes)("%s", async (_, route) => {
      const answer = await call(route, undefined, {});
      expect([answer.status, answer.body.code]).toEqual([401, "UNAUTHENTICATED"]);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(Object.keys(answer.body)).toHaveLength(9);
      expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
    });
  });

  describe("lets in the roles of its line and no other", () => {
    it.each(routes)("%s", async (name, route) => {
      for (const role of ROLES) {
        const answer = await call(route, keys.get(role), undefined);
        const listed = route.roles === "any" || (Array.isArray(route.roles) && route.roles.includes(role));
        const about = `${role}: ${answer.status} ${JSON.stringify(answer.body)}`;
        if (listed && !ELSEWHERE.has(`${role} ${samplePath(route)}`) && !USERS_ONLY.has(name))
          expect(answer.body?.code, about).not.toBe("FORBIDDEN");
        else if (route.errors.includes("WRONG_TOKEN_KIND")) expect(answer.body.code, about).toBe("WRONG_TOKEN_KIND");
        else expect([answer.status, answer.body.code], about).toEqual([403, "FORBIDDEN"]);
        expect(answer.status, about).toBeLessThan(500);
      }
    });
  });

  describe("asks a user for a workspace, and lets it in by its role there", () => {
    const ask = (route: Route, key: string | undefined, query: Record<string, string>): Promise<Answer> =>
      world.call(route.method, nowhere(route), { key: key ?? "", query });

    it.each(routes)("%s", async (name, route) => {
      const query = { ...needed(route, site.project.id), ...sampleQuery(route.query) };
      const roles: readonly string[] = typeof route.roles === "string" ? [] : route.roles;
      for (const [role, token] of users) {
        if (route.workspace === undefined) {
          const unnamed = await ask(route, token, query);
          expect([unnamed.status, unnamed.body.code]).toEqual([400, "WORKSPACE_REQUIRED"]);
        }
        const answer = await ask(route, token, { ...query, workspace: site.workspace.name });
        const listed = route.roles === "any" || roles.includes(role) || roles.includes("user");
        const about = `${role}: ${answer.status} ${JSON.stringify(answer.body)}`;
        if (name === OWN_ROW && role !== "workspace.admin") expect(answer.body.code, about).toBe("FORBIDDEN");
        else if (listed) expect(answer.body?.code, about).not.toBe("FORBIDDEN");
        else expect(["FORBIDDEN", "WRONG_TOKEN_KIND"], about).toContain(answer.body?.code);
        if (!unavailable(route, answer)) expect(answer.status, about).toBeLessThan(500);
      }
    });
  });

  describe("does not know a workspace to which the user does not belong", () => {
    it.each(routes)("%s", async (_, route) => {
      const query = { ...needed(route, site.project.id), ...sampleQuery(route.query) };
      const code = async (token: string | undefined, workspace: string | undefined, path = nowhere(route)) => {
        const named = workspace === undefined ? {} : { workspace };
        const { status, body } = await world.call(route.method, path, {
          key: token ?? "",
          query: { ...query, ...named },
        });
        return [status, body?.code];
      };
      const absent = [404, route.workspace === "path" ? "NOT_FOUND" : "WORKSPACE_NOT_FOUND"];
      const admin = users.get("workspace.admin");
      expect(await code(stranger, site.workspace.name)).toEqual(absent);
      expect(await code(stranger, "no-such-workspace")).toEqual(absent);
      expect(await code(admin, elsewhere.name)).toEqual(absent);
      if (route.workspace !== "path") return;
      // The path alone names it, and a name that is given too must agree.
      const there = samplePath(route, { id: elsewhere.id });
      expect(await code(stranger, undefined)).toEqual(absent);
      expect(await code(admin, undefined, there)).toEqual(absent);
      expect(await code(admin, site.workspace.name, there)).toEqual(absent);
    });
  });

  describe("refuses an unknown key in its body by name", () => {
    it.each(strictBody)("%s", async (_, route) => {
      const answer = await call(route, keyFor(route), { ...(sample(route.body ?? {}) as object), zzUnknown: 1 });
      expectIssue(answer, "body.zzUnknown");
    });
  });

  describe("names each required field that is missing or of another type", () => {
    it.each(strictBody)("%s", async (_, route) => {
      const good = sample(route.body ?? {}) as Record<string, unknown>;
      for (const name of (route.body as { required?: string[] }).required ?? []) {
        const { [name]: _dropped, ...without } = good;
        expectIssue(await call(route, keyFor(route), without), `body.${name}`);
        expectIssue(await call(route, keyFor(route), { ...good, [name]: { "no\u0000pe": [] } }), `body.${name}`);
      }
    });
  });

  describe("refuses a body that is no object, no JSON, no JSON type, or too large", () => {
    it.each(withBody)("%s", async (_, route) => {
      for (const body of [[], "text", 5, null, "nul \u0000", "\ud800"]) {
        expectIssue(await call(route, keyFor(route), JSON.stringify(body)));
      }
      const code = async (body: string, type = "application/json") => {
        const headers = { "content-type": type, authorization: `Bearer ${keyFor(route)}` };
        return (await world.call(route.method, nowhere(route), { body, headers })).body.code;
      };
      expect(await code("{")).toBe("MALFORMED_JSON");
      expect(await code("{}", "text/plain")).toBe("UNSUPPORTED_MEDIA_TYPE");
      expect(await code(`"${"x".repeat(1_048_577)}"`)).toBe("PAYLOAD_TOO_LARGE");
      expect(await code("[".repeat(100_000) + "]".repeat(100_000))).toBe("VALIDATION_ERROR");
    });
  });

  describe("does not know another workspace's objects", () => {
    const named = routes.filter(([, { path, roles }]) => namesObject(path) && roles !== "setup-token");
    it.each(named)("%s", async (_, route) => {
      const id = foreign[ownerOf(route.path)];
      expect(id, "the test has no such object").toBeDefined();
      const path = samplePath(route, { id: id ?? "", idOrName: id ?? "", deploymentId: id ?? "" });
      const body = route.body === undefined ? undefined : sample(route.body);
      for (const role of route.roles === "any" ? ROLES : route.roles) {
        const answer = await call(route, keys.get(role as Role | "user"), body, path);
        expect([answer.status, answer.body?.code], `${role} ${JSON.stringify(answer.body)}`).toEqual([
          404,
          "NOT_FOUND",
        ]);
      }
    });
  });

  describe("does not know its own workspace's objects outside the key's scope", () => {
    const narrow = routes
      .filter(([, { path, workspace }]) => workspace !== "path" && /\{(id|idOrName|deploymentId)\}/.test(path))
      .flatMap(([name, route]) =>
        (Array.isArray(route.roles) ? (route.roles as Role[]) : [])
          .filter((role) => scopeOf(role) !== "workspace" && (role as string) !== "user")
          // A manager serves the whole workspace: all of its readers may read it.
          .filter((role) => ownerOf(route.path) !== "managers" || role === "manager.runtime")
          .map((role) => [role, name, route] as const),
      );
    it.each(narrow)("%s %s", async (role, _, route) => {
      const id = siblings[ownerOf(route.path)] ?? "";
      const body = route.body === undefined ? undefined : sample(route.body);
      const answer = await call(route, keys.get(role), body, samplePath(route, { id, idOrName: id, deploymentId: id }));
      expect([answer.status, answer.body?.code], JSON.stringify(answer.body)).toEqual([404, "NOT_FOUND"]);
    });
  });

  describe("answers whatever is sent with an answer of its line", () => {
    it.each(routes)("%s", async (_, route) => {
      const text = fc.oneof(
        fc.string(),
        fc.string({ unit: "binary" }),
        fc.constantFrom("", "0", "-1", "true", "1e9", ","),
      );
      const names = [...Object.keys(route.query?.properties ?? {}), "workspace"].filter((name) => name !== "wait");
      const request = fc.record({
        body: fc.oneof(fc.jsonValue(), fc.constant({}), mutated(route)),
        query: fc.dictionary(fc.constantFrom(...names), text, { maxKeys: 3 }),
        segment: fc.option(fc.string({ minLength: 1, maxLength: 40 }).filter((each) => !/^\.{1,2}$/.test(each))),
      });
      await fc.assert(
        fc.asyncProperty(request, async ({ body, query, segment }) => {
          const given =
            segment === null || !segment.isWellFormed() ? {} : { id: segment, idOrName: segment, name: segment };
          const key = keyFor(route);
          const answer = await world.call(route.method, samplePath(route, given), {
            query: { ...sampleQuery(route.query), ...query },
            ...(key !== undefined && { key }),
            ...(route.method !== "GET" && { body: JSON.stringify(body) }),
          });
          if (!unavailable(route, answer)) expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
          if (answer.body?.code === "VALIDATION_ERROR") expect(answer.body.context.issues.length).toBeGreaterThan(0);
        }),
        { numRuns: runs(15, 3) },
      );
    });
  });

  /** A second project, group and manager in the same workspace. */
  async function besides(first: Site): Promise<Site> {
    const project = (await first.call("POST", "/v1/projects", { body: { name: "project-besides" } })).body;
    const group = (
      await first.call("POST", "/v1/deployment-groups", { body: { name: "besides", project: project.id } })
    ).body;
    const manager = await first.workspace.manager();
    const deploy = async (name: string): Promise<string> => {
      const body = {
        name,
        platform: "kubernetes",
        project: project.id,
        deploymentGroupId: group.id,
        managerId: manager.id,
      };
      return (await first.call("POST", "/v1/deployments", { body })).body.deployment.id;
    };
    return { ...first, project, group, manager, deploy };
  }

  /** One object of each kind that a path can name, in another workspace. */
  async function objectsOf(other: Site): Promise<Readonly<Record<string, string>>> {
    const deploymentId = await other.deploy("other");
    const key = await world.call("POST", "/v1/api-keys", {
      key: other.admin,
      body: { description: null, scope: { type: "workspace", role: "workspace.viewer" } },
    });
    const [event] = (await other.call("GET", "/v1/events", { query: { deploymentId } })).body.items;
    const asked = await other.call("POST", "/v1/access-requests", {
      body: {
        deploymentId,
        remediationPlanId: "plan-1",
        title: "Scale the web tier",
        commands: [{ command: "kubernetes/get-pods", summary: "see what runs", params: { namespace: "web" } }],
      },
    });
    expect(asked.status, JSON.stringify(asked.body)).toBe(201);
    const query = { project: other.project.id };
    await other.call("PUT", "/v1/operations/policy", { query, body: { rules: [{ pattern: "*", decision: "auto" }] } });
    const read = { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "web" } };
    const invoked = await other.call("POST", "/v1/operations/invoke", { query, body: read });
    expect(invoked.status, JSON.stringify(invoked.body)).toBe(200);
    const release = await other.call("POST", "/v1/releases", { body: { project: other.project.id } });
    expect(release.status, JSON.stringify(release.body)).toBe(201);
    const packagesConfig = { helm: { enabled: true, chartName: "shop", description: "" } };
    await other.call("PATCH", `/v1/projects/${other.project.id}`, { body: { packagesConfig } });
    await other.call("POST", "/v1/packages/rebuild", { body: { project: other.project.id } });
    const [built] = (await other.call("GET", "/v1/packages", { query: { project: other.project.id } })).body.items;
    const opened = await world.call("POST", "/v1/debug-sessions", {
      key: other.manager.key,
      body: { deploymentId, expiresAt: new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString() },
    });
    expect(opened.status, JSON.stringify(opened.body)).toBe(201);
    return {
      "api-keys": key.body.keyInfo.id,
      events: event.id,
      managers: other.manager.id,
      projects: other.project.id,
      "deployment-groups": other.group.id,
      deployments: deploymentId,
      "access-requests": asked.body.id,
      commands: invoked.body.commandId,
      operations: "kubernetes",
      releases: release.body.id,
      packages: built.id,
      "release-channels": "no-such-channel",
      resources: deploymentId,
      machines: deploymentId,
      "debug-sessions": opened.body.id,
      workspaces: other.workspace.id,
    };
  }
});

/** `/v1/managers/{id}/work` → `managers`. */
function ownerOf(path: string): string {
  return path.split("/")[2] ?? "";
}

/** Some paths name a kind of thing only, which is nobody's. */
function namesObject(path: string): boolean {
  if (path.startsWith("/v1/gateways/")) return false;
  // Whoever holds an invitation's token may use it; what is a user's own has its own tests.
  if (path.startsWith("/v1/invitations/") || path.startsWith("/v1/user/")) return false;
  return path.startsWith("/v1/resources/") ? path.includes("{deploymentId}") : path.includes("{");
}

/** The project that a caller must name where its key implies none. */
function needed(route: Route, projectId: string): Record<string, string> {
  return route.query !== undefined && "project" in route.query.properties ? { project: projectId } : {};
}

/** What the test's platform is not connected to. */
function unavailable(route: Route, { body }: Answer): boolean {
  return body?.code === "GIT_HOST_NOT_CONFIGURED" && route.errors.includes("GIT_HOST_NOT_CONFIGURED");
}

function firstRole(roles: readonly string[]): Role {
  return (roles.find((role) => role === "workspace.admin") ?? roles[0]) as Role;
}

function expectIssue(answer: Answer, path?: string): void {
  const about = JSON.stringify(answer.body);
  expect([answer.status, answer.body?.code], about).toEqual([400, "VALIDATION_ERROR"]);
  const paths: string[] = answer.body.context.issues.map((issue: { path: string }) => issue.path);
  expect(paths.length, about).toBeGreaterThan(0);
  expect(paths.length, about).toBeLessThanOrEqual(50);
  if (path !== undefined)
    expect(
      paths.some((each) => each === path || each.startsWith(`${path}.`)),
      about,
    ).toBe(true);
}

/** A good body with one field replaced. */
function mutated(route: Route): fc.Arbitrary<unknown> {
  if (route.body === undefined) return fc.constant({});
  const good = sample(route.body);
  const names = Object.keys((route.body as { properties?: object }).properties ?? {});
  if (names.length === 0 || typeof good !== "object") return fc.constant(good);
  return fc
    .tuple(fc.constantFrom(...names), fc.jsonValue())
    .map(([name, value]) => ({ ...(good as object), [name]: value }));
}
