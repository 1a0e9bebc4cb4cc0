import { randomBytes } from "node:crypto";
import { expect, it, test } from "vitest";
import { ROUTES } from "../../contract/table.ts";
import { BUDGETS } from "../kernel/budgets/budget-table.ts";
import { BUDGET_SIZES, type BudgetName } from "../kernel/budgets/budgets.ts";
import { type Answer, onEachDatabase } from "../testing/harness.ts";
import { requestsOf } from "./access-requests/testing/requests.ts";
import { newSite } from "./deployments/testing/site.ts";
import { newSite as operationsSite } from "./operations/testing/site.ts";
import { STACK } from "./releases/testing/releases.ts";

/** Changes what is there, or what is counted elsewhere: it adds no row that a tenant could have without end. */
const NO_ROWS = "adds no row";

/**
 * What bounds the rows that each writing route adds. A new route fails the test below until it is here: a rate alone bounds
 * nothing, because a database fills at any rate.
 */
const BOUNDS: Readonly<Record<string, BudgetName | readonly BudgetName[] | { readonly by: string }>> = {
  "accessRelay.materialized": { by: NO_ROWS },
  "accessRelay.approvals": { by: NO_ROWS },
  "accessRelay.decisions": { by: NO_ROWS },
  "accessRelay.receipts": { by: "one of a request" },
  "accessRequests.create": ["deployment-new-access-requests", "deployment-access-request-bytes"],
  "accessRequests.queue": { by: "the lines of the request" },
  "accessRequests.reject": { by: NO_ROWS },
  "apiKeys.create": ["workspace-api-keys", "minter-api-keys", "workspace-new-api-keys"],
  "apiKeys.update": { by: NO_ROWS },
  "apiKeys.batchDelete": { by: NO_ROWS },
  "commands.create": ["deployment-commands", "deployment-command-bytes"],
  "commands.patch": { by: NO_ROWS },
  "commands.dispatch": { by: NO_ROWS },
  "commands.complete": { by: NO_ROWS },
  "commands.incrementAttempt": { by: NO_ROWS },
  "debugRelay.request": ["deployment-debug-sessions", "deployment-new-debug-sessions"],
  "debugRelay.ticket": { by: "a sweep, minutes later" },
  "debugSessions.create": ["deployment-debug-sessions", "deployment-new-debug-sessions"],
  "debugSessions.patch": { by: NO_ROWS },
  "deploymentGroups.create": "project-groups",
  "deploymentGroups.putByName": "project-groups",
  "deploymentGroups.putByExternalId": "project-groups",
  "deploymentGroups.patch": { by: NO_ROWS },
  "deploymentGroups.putExternalId": { by: NO_ROWS },
  "deploymentGroups.createToken": ["workspace-api-keys", "minter-api-keys"],
  "deploymentGroups.firstPartySession": ["group-api-keys", "group-new-api-keys"],
  "deploymentPortal.computePlan": { by: NO_ROWS },
  "deploymentPortal.prepareStack": { by: NO_ROWS },
  "deployments.create": "group-deployments",
  "deployments.patch": { by: NO_ROWS },
  "deployments.delete": { by: NO_ROWS },
  "deployments.redeploy": { by: NO_ROWS },
  "deployments.retry": { by: NO_ROWS },
  "deployments.pinRelease": { by: NO_ROWS },
  "deployments.setReleaseChannel": { by: NO_ROWS },
  "deployments.patchInputs": { by: NO_ROWS },
  "deployments.setEnvironmentVariables": { by: NO_ROWS },
  "deployments.createToken": ["deployment-api-keys", "group-api-keys"],
  "gitNamespaces.sync": { by: "what the git host says of the user" },
  "invitations.create": "workspace-invitations",
  "invitations.resend": { by: NO_ROWS },
  "invitations.putLink": { by: "one of a workspace" },
  "invitations.accept": { by: "users who signed in" },
  "machineRuntime.join": "deployment-machines",
  "machineRuntime.report": ["deployment-machines", "deployment-machine-bytes"],
  "machineRuntime.joinServer": { by: "one of a deployment" },
  "machines.createToken": "deployment-join-tokens",
  "machines.rotateTokens": "deployment-join-tokens",
  "machines.drain": { by: "one of a machine" },
  // Each has a key of its own.
  "managers.create": ["workspace-api-keys", "workspace-new-api-keys"],
  "managers.setupToken": ["workspace-api-keys", "workspace-new-api-keys"],
  "managers.retry": { by: NO_ROWS },
  "managers.cancelSetup": { by: NO_ROWS },
  "managers.patch": { by: NO_ROWS },
  "managerRuntime.heartbeat": { by: NO_ROWS },
  "managerRuntime.token": ["workspace-api-keys", "workspace-new-api-keys"],
  "managerRuntime.bootstrap": ["workspace-api-keys", "workspace-new-api-keys"],
  "members.add": { by: "users who signed in" },
  "members.patch": { by: NO_ROWS },
  "operations.registerPlugin": "project-plugins",
  "operations.enableBuiltins": { by: "the built-in plugins" },
  "operations.uploadUrl": { by: NO_ROWS },
  "operations.enablePlugin": { by: NO_ROWS },
  "operations.putPolicy": { by: "one of a project" },
  "operations.invoke": ["deployment-commands", "deployment-command-bytes"],
  "packageBuilder.lease": { by: NO_ROWS },
  "packageBuilder.progress": { by: NO_ROWS },
  "packageBuilder.complete": { by: NO_ROWS },
  "packages.rebuild": {
    by: "one that is not finished of a type; those that ended have the length of their type's config",
  },
  "packages.cancel": { by: NO_ROWS },
  "projects.create": "workspace-projects",
  "projects.patch": { by: "packages, as packages.rebuild" },
  "releaseChannels.create": "project-channels",
  "releaseChannels.promote": { by: "one of a channel and a release" },
  "releases.create": ["project-releases", "project-release-bytes"],
  "sync.list": { by: NO_ROWS },
  "sync.context": { by: NO_ROWS },
  "sync.acquire": "manager-acquires",
  "sync.renew": { by: NO_ROWS },
  "sync.reconcile": ["deployment-resources", "deployment-inventory", "deployment-report-bytes"],
  "sync.release": { by: NO_ROWS },
  "user.patchProfile": { by: NO_ROWS },
  "user.setupProfile": { by: NO_ROWS },
  "workspaces.create": "user-workspaces",
  "workspaces.patch": { by: NO_ROWS },
  "workspaces.patchSettings": { by: NO_ROWS },
};

test("each route that may write says what bounds the rows that it adds", () => {
  const writing = Object.entries(ROUTES).flatMap(([area, routes]) =>
    Object.entries(routes).flatMap(([name, { method }]) =>
      method === "GET" || method === "DELETE" ? [] : [`${area}.${name}`],
    ),
  );
  expect(Object.keys(BOUNDS).sort()).toEqual(writing.sort());
  for (const bound of Object.values(BOUNDS)) {
    if (typeof bound === "object" && "by" in bound) continue;
    for (const name of [bound].flat()) {
      expect(Object.keys(BUDGETS)).toContain(name);
      expect(BUDGET_SIZES[name]).toBeGreaterThan(0);
    }
  }
});

const SMALL = {
  ...{ "project-groups": 3, "group-deployments": 2 },
  ...{ "project-releases": 4, "project-release-bytes": 20_000 },
  ...{ "deployment-new-access-requests": 3 },
};

onEachDatabase(
  "what a tenant may store",
  (world) => {
    /** What the answers say until the first refusal, and of that which budget. */
    async function filled(make: (at: number) => Promise<Answer>): Promise<readonly unknown[]> {
      const said: unknown[] = [];
      for (let at = 0; said.length === at && at < 10; at += 1) {
        const { status, body } = await make(at);
        said.push(status < 300 ? "made" : body.context?.budget);
        if (status >= 300) break;
      }
      return said;
    }

    it("groups and deployments", async () => {
      const site = await newSite(world);
      const project = site.project.name;
      const group = (at: number) => site.call("POST", "/v1/deployment-groups", { body: { name: `g-${at}`, project } });
      // One is the site's own.
      expect(await filled(group)).toEqual(["made", "made", "project-groups"]);
      const byName = (name: string) => site.call("PUT", "/v1/deployment-groups/by-name", { body: { name, project } });
      expect((await byName("g-0")).status).toBe(200);
      expect((await byName("another")).body.context).toMatchObject({ budget: "project-groups" });
      const deployment = (at: number) =>
        site.call("POST", "/v1/deployments", {
          body: { name: `d-${at}`, platform: "kubernetes", project, deploymentGroupId: site.group.id },
        });
      expect(await filled(deployment)).toEqual(["made", "made", "group-deployments"]);
    });

    it("releases, by their number and by their bytes", async () => {
      const release = (site: Awaited<ReturnType<typeof newSite>>, bytes: number) => () => {
        const web = {
          config: { id: "web", type: "queue", note: randomBytes(bytes / 2).toString("hex") },
          dependencies: [],
          lifecycle: "live",
        };
        const stack = { aws: { ...STACK, resources: { web } } };
        return site.call("POST", "/v1/releases", { body: { project: site.project.name, stack } });
      };
      expect(await filled(release(await newSite(world), 20))).toEqual(
        [..."1234"].map(() => "made").concat("project-releases"),
      );
      expect(await filled(release(await newSite(world), 8_000))).toEqual(["made", "made", "project-release-bytes"]);
    });

    it("access requests", async () => {
      const site = await operationsSite(world);
      const { create } = requestsOf(world);
      expect(await filled(() => create(site, {}))).toEqual(["made", "made", "made", "deployment-new-access-requests"]);
    });
  },
  { budgets: SMALL },
);
