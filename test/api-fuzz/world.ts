import type { Client } from "../../src/api-client/client.ts";
import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";
import { PLATFORMS } from "../../src/contract/wire/schema.ts";
import type { SampleObjects } from "../platform/sample-objects.ts";

/**
 * What hooks.py reads. Keys of the two maps are the words that stand before an id in a path, or the names of parameters and
 * fields that are no ids.
 */
export interface FuzzWorld {
  readonly lasting: Readonly<Record<string, readonly string[]>>;
  readonly spare: Readonly<Record<string, readonly string[]>>;
  readonly protected: readonly string[];
  /** Operations in which a key of the whole workspace must name a project. */
  readonly needProject: readonly string[];
  readonly inAnHour: string;
  /** The name of a user's workspace; a key's own is implied. */
  readonly workspace?: string;
}

const BUILDER = "builder";
export const SPARES = 3;

export async function worldOf(admin: Client, made: SampleObjects, signal: AbortSignal): Promise<FuzzWorld> {
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
  // With one input to set up on every platform.
  const stack = Object.fromEntries(PLATFORMS.map((platform) => [platform, { id: "shop", resources: {} }]));
  const body = { project: made.project, version: "2.0.0", stack, channel: "production" };
  const { id: release } = await admin.releases.create({ body }, signal);
  const packagesConfig = { cloudformation: { enabled: true } };
  const packed = await admin.projects.create({ body: { name: "packed", packagesConfig } }, signal);
  await admin.packages.rebuild({ body: { project: packed.id } }, signal);
  // Not `helm`: the platform builds those itself, at times of its own.
  const { packages } = await admin.packageBuilder.lease(
    { body: { builderId: BUILDER, types: ["cloudformation"] } },
    signal,
  );
  return {
    lasting: {
      packages: packages.map(({ id }) => id),
      builderId: [BUILDER],
      projects: [made.project, made.projectName],
      "deployment-groups": [made.group],
      managers: [made.manager],
      deployments: [made.deployment, made.machines],
      releases: [release, made.release],
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
    inAnHour: inAnHour(),
  };
}

export function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}
