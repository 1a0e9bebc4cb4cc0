import type { Client } from "../../src/api-client/client.ts";
import type { Route } from "../../src/contract/route.ts";
import { ROUTES } from "../../src/contract/table.ts";
import type { Furniture } from "../platform/furniture.ts";

/** What hooks.py reads. Keys of the two maps are the words that stand before an id in a path. */
interface FuzzWorld {
  readonly lasting: Readonly<Record<string, readonly string[]>>;
  readonly spare: Readonly<Record<string, readonly string[]>>;
  readonly protected: readonly string[];
  /** Operation ids where a key of the whole workspace must name a project. */
  readonly needProject: readonly string[];
  readonly inAnHour: string;
}

/** No file with failures of the past, no report, no words that depend on the terminal. */
export const CONFIG = `
[cache]
enabled = false

# 426 refuses as well: the checker's own list, and the one status that it lacks.
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 415, 422, 426, 428, 429, "5xx"]
`;

const SPARES = 3;

export async function worldOf(admin: Client, made: Furniture, signal: AbortSignal): Promise<FuzzWorld> {
  const { id: ownKey } = (await admin.whoami.get({}, signal)) as { id: string };
  const spare: Record<string, string[]> = {};
  const add = (word: string, id: string): void => {
    spare[word] = [...(spare[word] ?? []), id];
  };
  for (let i = 0; i < SPARES; i += 1) {
    add("projects", (await admin.projects.create({ body: { name: `spare-${i}` } }, signal)).id);
    const group = { name: `spare-${i}`, project: made.project };
    add("deployment-groups", (await admin.deploymentGroups.create({ body: group }, signal)).id);
    const scope = { type: "workspace", role: "workspace.viewer" } as const;
    add("api-keys", (await admin.apiKeys.create({ body: { description: null, scope } }, signal)).keyInfo.id);
    const body = {
      name: `spare-${i}`,
      platform: "kubernetes",
      project: made.project,
      deploymentGroupId: made.group,
      managerId: made.manager,
    } as const;
    add("deployments", (await admin.deployments.create({ body }, signal)).deployment.id);
    const commands = [{ command: "kubernetes/get-pods", summary: "look", params: { namespace: "shop" } }];
    const asked = { deploymentId: made.deployment, remediationPlanId: `plan-${i}`, title: "Look", commands };
    add("access-requests", (await admin.accessRequests.create({ body: asked }, signal)).id);
  }
  return {
    lasting: {
      projects: [made.project, made.projectName],
      "deployment-groups": [made.group],
      managers: [made.manager],
      deployments: [made.deployment, made.machines],
      releases: [made.release],
      "api-keys": [made.apiKey],
      "access-requests": [made.accessRequest],
      commands: [made.command],
      "debug-sessions": [made.debugSession],
      events: [made.event],
      workspaces: [made.workspaceId],
      "join-tokens": [made.joinToken],
    },
    spare,
    protected: [ownKey, made.workspaceId, made.apiKey],
    needProject: Object.entries(ROUTES).flatMap(([area, routes]) =>
      Object.entries(routes as Readonly<Record<string, Route>>)
        .filter(([, route]) => route.errors.includes("PROJECT_REQUIRED"))
        .map(([name]) => `${area}.${name}`),
    ),
    inAnHour: new Date(Date.now() + 3_600_000).toISOString(),
  };
}
