import fc from "fast-check";
import { expect, it } from "vitest";
import { commandRoutes } from "../../../contract/commands.ts";
import { deploymentGroupRoutes } from "../../../contract/deployment-groups.ts";
import { deploymentRoutes } from "../../../contract/deployments.ts";
import { projectRoutes } from "../../../contract/projects.ts";
import { ROLES, scopeOf } from "../../../contract/roles.ts";
import type { Route } from "../../../contract/route.ts";
import { syncRoutes } from "../../../contract/sync.ts";
import { newId } from "../../ids.ts";
import type { Scope } from "../../kernel/principal.ts";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";

/** The areas that a deployment's life passes through. */
const ALL: readonly Route[] = [
  projectRoutes,
  deploymentGroupRoutes,
  deploymentRoutes,
  syncRoutes,
  commandRoutes,
].flatMap((table) => Object.values(table));

onEachDatabase("bad input", (world) => {
  const pathOf = (route: Route, site: Site, deploymentId: string): string =>
    route.path
      .replace("/deployment-groups/{id}", `/deployment-groups/${site.group.id}`)
      .replace("/deployments/{id}", `/deployments/${deploymentId}`)
      .replace("/commands/{id}", `/commands/${newId("cmd")}`)
      .replace("{idOrName}", site.project.id);
  const keyFor = (route: Route, site: Site): string =>
    Array.isArray(route.roles) && route.roles.includes("workspace.admin") ? site.admin : site.manager.key;

  it("an unknown key is refused in every body, with its path", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    for (const route of ALL.filter(({ body }) => body !== undefined)) {
      const answer = await world.call(route.method, pathOf(route, site, id), {
        key: keyFor(route, site),
        body: { surprise: 1 },
      });
      expect([route.path, answer.status, answer.body.code]).toEqual([route.path, 400, "VALIDATION_ERROR"]);
      const paths = answer.body.context.issues.map((issue: { path: string }) => issue.path);
      expect([route.path, paths]).toEqual([route.path, expect.arrayContaining(["body.surprise"])]);
    }
  });

  it("every role outside a route's list is forbidden, whatever it sends", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const scopes: Record<string, Scope> = {
      workspace: { type: "workspace" },
      project: { type: "project", projectId: site.project.id },
      deployment: { type: "deployment", deploymentId: id, projectId: site.project.id },
      "deployment-group": {
        type: "deployment-group",
        deploymentGroupId: site.group.id,
        projectId: site.project.id,
      },
      manager: { type: "manager", managerId: site.manager.id },
    };
    for (const role of ROLES) {
      const key = await site.workspace.key(role, scopes[scopeOf(role)]);
      for (const route of ALL) {
        if ((route.roles as readonly string[]).includes(role)) continue;
        const answer = await world.call(route.method, pathOf(route, site, id), { key });
        expect([role, route.method, route.path, answer.body?.code]).toEqual([
          role,
          route.method,
          route.path,
          "FORBIDDEN",
        ]);
      }
    }
  });

  it("no body and no query makes a 500", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const keys = [
      "name",
      "project",
      "state",
      "deploymentId",
      "session",
      "limit",
      "cursor",
      "status",
      "search",
      "params",
    ];
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constantFrom(
        id,
        site.project.id,
        site.group.id,
        "pending",
        "running",
        "2026-01-01T00:00:00Z",
        "\u0000",
        "\ud800",
        -1,
      ),
    );
    const body = fc.oneof(value, fc.dictionary(fc.constantFrom(...keys), value));
    const query = fc.dictionary(
      fc.constantFrom(...keys),
      fc.oneof(fc.string(), fc.constantFrom("running", "0", "101")),
    );
    const route = fc.constantFrom(...ALL.filter(({ path }) => !path.includes("idOrName")));
    await fc.assert(
      fc.asyncProperty(route, body, query, async (route, body, query) => {
        const sent = route.body === undefined ? {} : { body: body === undefined ? {} : body };
        const answer = await world.call(route.method, pathOf(route, site, id), {
          key: keyFor(route, site),
          query,
          ...sent,
        });
        expect([route.path, answer.status]).toEqual([route.path, Math.min(answer.status, 499)]);
      }),
      { numRuns: 250 },
    );
  });
});
