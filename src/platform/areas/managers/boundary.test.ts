import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../../contract/table.ts";
import type { Route } from "../../../contract/wire/route.ts";
import { newId } from "../../kernel/ids.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { beat } from "../deployments/testing/site.ts";
import { type Customer, newVendor, type Vendor } from "./testing/customers.ts";

const SECRET = "the third customer's password";

/** Of the manager's key: about itself, or about what every project of the platform has. */
const OF_ITSELF = new Set([
  "GET /v1/managers/{id}",
  "POST /v1/managers/{id}/heartbeat",
  "GET /v1/managers/{id}/management-config",
  "POST /v1/packages/lease",
  "POST /v1/packages/{id}/progress",
  "POST /v1/packages/{id}/complete",
]);

const ofManagers = Object.values(ROUTES)
  .flatMap((area): Route[] => Object.values(area))
  .filter(({ roles }) => Array.isArray(roles) && roles.includes("manager.runtime"))
  .map(({ method, path }) => `${method} ${path}`)
  .filter((name) => !OF_ITSELF.has(name));

onEachDatabase("the boundary between customers", (world) => {
  let vendor: Vendor;
  let one: Customer;
  beforeAll(async () => {
    vendor = await newVendor(world);
    one = await vendor.customer("one");
  });
  const sync = (key: string, path: string, body: object = {}): Promise<Answer> =>
    vendor.as(key, "POST", `/v1/sync/${path}`, body);
  const developerOf = (projectId: string) => vendor.workspace.key("project.developer", { type: "project", projectId });

  it("a group's token gets its own group's manager, and no manager of another customer", async () => {
    const two = await vendor.group("two");
    const deployment = await vendor.deploy(two.token, "intruder");
    expect(deployment.managerId).toBeNull();
    const read = await vendor.as(deployment.token, "GET", `/v1/deployments/${deployment.id}`);
    expect(read.body).toMatchObject({ id: deployment.id, waitsFor: "manager" });
    expect((await sync(one.manager.key, "list")).body.deployments).toEqual([]);
    const report = { status: "running", platform: "kubernetes", protocolVersion: 1 };
    const reported = await sync(one.manager.key, "reconcile", { deploymentId: deployment.id, state: report });
    expect(reported.body.code).toBe("NOT_FOUND");
    const own = await vendor.deploy(one.token, "own");
    expect(own.managerId).toBe(one.manager.id);
    expect((await sync(one.manager.key, "list")).body.deployments).toMatchObject([{ id: own.id }]);
  });

  it("a group's token names no manager, not even its own", async () => {
    const three = await vendor.customer("naming");
    for (const { id } of [one.manager, three.manager]) {
      const body = { name: "named", platform: "kubernetes", managerId: id };
      const answer = await vendor.as(three.token, "POST", "/v1/deployments", body);
      expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_ERROR"]);
      expect(answer.body.context.issues).toMatchObject([{ path: "body.managerId" }]);
    }
  });

  it("nobody names a manager that does not serve the group, and what waits runs nothing", async () => {
    const other = (await vendor.as(vendor.admin, "POST", "/v1/projects", { name: "another" })).body;
    const developer = await developerOf(other.id);
    const group = await vendor.as(developer, "POST", "/v1/deployment-groups", { name: "mine", project: other.id });
    const body = { name: "mine", platform: "kubernetes", project: other.id, deploymentGroupId: group.body.id };
    for (const key of [developer, vendor.admin]) {
      const named = await vendor.as(key, "POST", "/v1/deployments", { ...body, managerId: one.manager.id });
      expect([named.status, named.body.code]).toEqual([404, "MANAGER_NOT_AVAILABLE"]);
    }
    const created = await vendor.as(developer, "POST", "/v1/deployments", body);
    expect(created.body.deployment).toMatchObject({ waitsFor: "manager" });
    const { id } = created.body.deployment;
    const moved = await vendor.as(developer, "PATCH", `/v1/deployments/${id}`, { managerId: one.manager.id });
    expect([moved.status, moved.body.code]).toEqual([403, "FORBIDDEN"]);
    expect(
      (await vendor.as(vendor.admin, "PATCH", `/v1/deployments/${id}`, { managerId: one.manager.id })).body.code,
    ).toBe("NOT_FOUND");
    const look = { plugin: "kubernetes", operation: "get-pods", params: { namespace: "shop" } };
    const invoked = await vendor.as(developer, "POST", `/v1/operations/invoke?project=${other.id}`, {
      deploymentId: id,
      ...look,
    });
    expect(invoked.body.code).toBe("DEPLOYMENT_HAS_NO_MANAGER");
    const request = await vendor.as(developer, "POST", "/v1/access-requests", {
      deploymentId: id,
      remediationPlanId: "p",
      title: "Look",
      commands: [{ command: "kubernetes/get-pods", summary: "See", params: { namespace: "shop" } }],
    });
    expect(request.body.code).toBe("DEPLOYMENT_HAS_NO_MANAGER");
    expect((await vendor.as(developer, "GET", `/v1/deployments/${id}/info`)).body.code).toBe(
      "DEPLOYMENT_HAS_NO_MANAGER",
    );
    const token = await vendor.as(developer, "POST", `/v1/managers/${one.manager.id}/token`, { project: other.id });
    expect(token.body.code).toBe("NOT_FOUND");
  });

  it("a manager that reports last or best attracts nothing", async () => {
    const { workspace, group, deploy } = await newVendor(world);
    const first = await workspace.manager();
    await beat(world, first);
    world.clock.advance(1000);
    const second = await workspace.manager();
    for (let n = 0; n < 3; n += 1) {
      world.clock.advance(1000);
      await beat(world, second);
      expect((await deploy((await group(`g-${n}`)).token, "shop")).managerId).toBe(first.id);
    }
  });

  it("a group's key reads the configuration of managers that serve it, and of no other", async () => {
    const two = await vendor.group("reading");
    const path = `/v1/managers/${one.manager.id}/management-config?platform=kubernetes`;
    expect((await vendor.as(one.token, "GET", path)).status).toBe(200);
    expect((await vendor.as(two.token, "GET", path)).body.code).toBe("NOT_FOUND");
  });

  describe("a deployment that the table gives to another customer's manager", () => {
    let thief: Customer["manager"];
    let three: Customer;
    let projectId: string;
    let deploymentId: string;
    let calls: Readonly<Record<string, object>>;
    const paths: Record<string, string> = {};

    beforeAll(async () => {
      ({ manager: thief } = await vendor.customer("thief"));
      projectId = (await vendor.as(vendor.admin, "POST", "/v1/projects", { name: "of-the-third" })).body.id;
      three = await vendor.customer("three", projectId);
      const variables = [{ name: "PASSWORD", value: SECRET, type: "secret" }];
      const more = { environmentVariables: variables, operatorPermission: "manage" };
      deploymentId = (await vendor.deploy(three.token, "shop", more)).id;
      const ids = await furnish();
      Object.assign(paths, ids);
      const { db } = world.platform;
      const planted = db.updateTable("deployments").set({ manager_id: thief.id });
      await planted.where("id", "=", deploymentId).execute();
      calls = callsOf(ids);
    });

    /** Open work of every topic. */
    async function furnish() {
      const { as } = vendor;
      const stack = { api: { type: "container", status: "running", config: {} } };
      const state = {
        status: "running",
        platform: "kubernetes",
        protocolVersion: 1,
        stackState: { platform: "kubernetes", resourcePrefix: "shop", resources: stack },
      };
      const report = await sync(three.manager.key, "reconcile", { deploymentId, state });
      expect(report.status, JSON.stringify(report.body)).toBe(200);
      const release = await as(vendor.admin, "POST", "/v1/releases", {
        project: projectId,
        version: "1.0.0",
        stack: { kubernetes: {} },
      });
      const command = await as(vendor.admin, "POST", "/v1/commands", { deploymentId, name: "reload" });
      expect(command.status, JSON.stringify(command.body)).toBe(201);
      const request = await as(vendor.admin, "POST", "/v1/access-requests", {
        deploymentId,
        remediationPlanId: "p",
        title: "Look",
        commands: [{ command: "kubernetes/get-pods", summary: "See", params: { namespace: "shop" } }],
      });
      await as(vendor.admin, "POST", `/v1/access-requests/${request.body.id}/queue`);
      const expiresAt = new Date(world.clock.wallNow().getTime() + 3_600_000).toISOString();
      const session = await as(three.manager.key, "POST", "/v1/debug-sessions", { deploymentId, expiresAt });
      expect(session.status, JSON.stringify(session.body)).toBe(201);
      return {
        command: command.body.id as string,
        request: request.body.id as string,
        session: session.body.id as string,
        release: (release.body?.id as string | undefined) ?? newId("rel"),
        expiresAt,
      };
    }

    /** What a runtime key can ask, about that deployment. */
    function callsOf(ids: Awaited<ReturnType<typeof furnish>>): Readonly<Record<string, object>> {
      const at = world.clock.wallNow().toISOString();
      const session = "s";
      const requestIds = [ids.request];
      return {
        "GET /v1/access-requests/pending": { deploymentId },
        "POST /v1/access-requests/materialized": {
          ...{ deploymentId, requestIds, namespace: "g", resourcePlural: "a.b" },
        },
        "POST /v1/access-requests/approvals": {
          ...{ deploymentId, approvals: [{ requestId: ids.request, approvedUntil: ids.expiresAt }] },
        },
        "POST /v1/access-requests/decisions": {
          ...{ deploymentId, decisions: [{ requestId: ids.request, outcome: "denied" }] },
        },
        "POST /v1/access-requests/receipts": {
          ...{ deploymentId, receipts: [{ requestId: ids.request, digest: `sha256:${"0".repeat(64)}`, receipt: {} }] },
        },
        "GET /v1/commands": {},
        "POST /v1/commands": { deploymentId, name: "reload" },
        "GET /v1/commands/{id}": {},
        "PATCH /v1/commands/{id}": { attempt: 2 },
        "POST /v1/commands/{id}/dispatch": { dispatchedAt: at },
        "POST /v1/commands/{id}/complete": { state: "SUCCEEDED", completedAt: at },
        "POST /v1/commands/{id}/increment-attempt": {},
        "POST /v1/debug-sessions/{id}/tickets": {},
        "GET /v1/debug-sessions": {},
        "POST /v1/debug-sessions": { deploymentId, expiresAt: ids.expiresAt },
        "GET /v1/debug-sessions/{id}": {},
        "PATCH /v1/debug-sessions/{id}": { state: "running" },
        "GET /v1/deployments/{id}": {},
        "POST /v1/machines/joins": { joinToken: `spj_${"0".repeat(16)}.${"0".repeat(32)}`, machineId: "m" },
        "GET /v1/machines/actions": { managerId: thief.id },
        "POST /v1/machines/deployments/{id}/inventory": { observedAt: at, complete: true, machines: [] },
        "GET /v1/machines/deployments/{id}/inventory": {},
        "PUT /v1/machines/deployments/{id}/join-server": {
          ...{ url: "https://thief.example.com", pins: [`sha256//${"A".repeat(43)}=`] },
        },
        "POST /v1/managers/{id}/token": { project: projectId },
        "GET /v1/managers/{id}/work": {},
        "GET /v1/operations/plugins": { project: projectId },
        "GET /v1/operations/policy": { project: projectId },
        "GET /v1/releases/{id}": {},
        "POST /v1/sync/list": { deploymentIds: [deploymentId] },
        "POST /v1/sync/context": { deploymentId },
        "POST /v1/sync/acquire": {
          ...{ session, requestId: "r", deploymentModel: "pull", deploymentIds: [deploymentId] },
        },
        "POST /v1/sync/renew": { session, deploymentIds: [deploymentId] },
        "POST /v1/sync/reconcile": {
          ...{ deploymentId, session: null, state: { status: "running", platform: "kubernetes", protocolVersion: 1 } },
        },
        "POST /v1/sync/release": { session, deploymentId },
      };
    }

    const ask = (name: string, key: string): Promise<Answer> => {
      const [method = "", route = ""] = name.split(" ");
      const sent = calls[name] ?? {};
      const id = route.startsWith("/v1/commands")
        ? paths.command
        : route.startsWith("/v1/debug-sessions")
          ? paths.session
          : route.startsWith("/v1/managers")
            ? thief.id
            : route.startsWith("/v1/releases")
              ? paths.release
              : deploymentId;
      const query = method === "GET" ? (sent as Record<string, string>) : {};
      const body = method === "GET" || Object.keys(sent).length === 0 ? {} : { body: sent };
      return world.call(method, route.replace("{id}", id ?? ""), { key, query, ...body });
    };

    it("has every route of runtime keys here", () => {
      expect(Object.keys(calls).toSorted()).toEqual(ofManagers.toSorted());
    });

    it.each(ofManagers)("stays out of its reach: %s", async (name) => {
      const answer = await ask(name, thief.key);
      const text = JSON.stringify(answer.body);
      for (const hidden of [SECRET, deploymentId, paths.command, paths.request, paths.session]) {
        expect(text).not.toContain(hidden);
      }
      if (answer.status >= 400) expect(["NOT_FOUND", "JOIN_TOKEN_INVALID"], text).toContain(answer.body.code);
      const empty = /"(?:deployments|topics|items|actions)":\[\]/;
      if (answer.status < 400) expect(text).toMatch(empty);
    });

    it("waits for its customer's: what is asked of it is refused, and its change is told to nobody", async () => {
      const { cursor } = (await vendor.as(thief.key, "GET", `/v1/managers/${thief.id}/work`)).body;
      const renamed = await vendor.as(vendor.admin, "PATCH", `/v1/deployments/${deploymentId}`, { name: "renamed" });
      expect(renamed.status).toBe(200);
      const work = await vendor.as(thief.key, "GET", `/v1/managers/${thief.id}/work?cursor=${cursor}`);
      expect(work.body.topics).toEqual([]);
      const command = await vendor.as(vendor.admin, "POST", "/v1/commands", { deploymentId, name: "reload" });
      expect(command.body.code).toBe("DEPLOYMENT_HAS_NO_MANAGER");
    });

    it("is worked on again once it is back", async () => {
      const move = { managerId: three.manager.id };
      expect((await vendor.as(vendor.admin, "PATCH", `/v1/deployments/${deploymentId}`, move)).status).toBe(200);
      expect(JSON.stringify((await sync(three.manager.key, "context", { deploymentId })).body)).toContain(SECRET);
    });
  });
});
