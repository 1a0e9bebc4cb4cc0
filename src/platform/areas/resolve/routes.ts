import type { Selectable } from "kysely";
import type { Manager } from "../../../contract/managers/managers.ts";
import type { Resolved, resolveRoutes } from "../../../contract/managers/resolve.ts";
import type { ManagerRow } from "../../database/tables/managers.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { notFound, PlatformError } from "../../kernel/errors.ts";
import { scopeOfPrincipal } from "../../kernel/tenancy/principal.ts";
import { type ProjectRef, requireProject } from "../../kernel/tenancy/project-ref.ts";
import { groupsOf } from "../deployment-groups/store.ts";
import { assignedManager, candidates, defaultManager } from "../managers/record/candidates.ts";
import { choose } from "../managers/record/choice.ts";
import { managementConfigOf } from "../managers/runtime.ts";

type Resolve = Call<(typeof resolveRoutes)["get"]>;

export const handlers: Handlers<typeof resolveRoutes> = {
  async get(call) {
    const { db, principal, query } = call;
    const project = await requireProject(db, principal, query.project);
    const manager = await managerFor(call, project, query.platform);
    if (manager === undefined) throw new PlatformError("MANAGER_NOT_AVAILABLE", hintOf(call));
    if (manager.url === null) throw new PlatformError("MANAGER_NOT_READY", { retryAfterSeconds: 5 });
    return toResolved(manager, manager.url, project, query.platform);
  },
};

/**
 * The manager of a deployment key's deployment; else the group's manager. Without a group it is that of the project's
 * only group, and of several what every one of them gets.
 */
async function managerFor(
  call: Resolve,
  project: ProjectRef,
  platform: Manager["targets"][number],
): Promise<Selectable<ManagerRow> | undefined> {
  const { db, principal, now } = call;
  if (principal.kind === "serviceAccount" && principal.scope.type === "deployment") {
    return assignedManager(db, principal.scope.deploymentId, platform);
  }
  const groupId = (await groupOf(call, project)) ?? (await onlyGroupOf(call, project));
  const customer = { workspaceId: project.workspaceId, projectId: project.id, groupId };
  const preferred = await defaultManager(db, customer, platform);
  return choose(preferred, await candidates(db, customer, platform), now);
}

/**
 * The group of the key, or the named one.
 * @throws NOT_FOUND when the named one is not of the project or not the key's.
 */
async function groupOf({ db, principal, query }: Resolve, project: ProjectRef): Promise<string | null> {
  const scope = scopeOfPrincipal(principal);
  const own = scope.type === "deployment-group" ? scope.deploymentGroupId : null;
  const { deploymentGroup: ref } = query;
  if (ref === undefined) return own;
  if (scope.type === "manager") throw notFound("deployment group");
  const group = await groupsOf(db, principal)
    .where("g.project_id", "=", project.id)
    .where((eb) => eb.or([eb("g.id", "=", ref), eb("g.name", "=", ref)]))
    .executeTakeFirst();
  if (group === undefined) throw notFound("deployment group");
  return group.id;
}

/** A manager's key learns nothing of a group that it does not name, because it may not name one. */
async function onlyGroupOf({ db, principal }: Resolve, project: ProjectRef): Promise<string | null> {
  if (scopeOfPrincipal(principal).type === "manager") return null;
  const groups = await groupsOf(db, principal).where("g.project_id", "=", project.id).limit(2).execute();
  const [only] = groups;
  return only !== undefined && groups.length === 1 ? only.id : null;
}

function hintOf({ principal, query }: Resolve) {
  const { type } = scopeOfPrincipal(principal);
  const mayName = (type === "workspace" || type === "project") && query.deploymentGroup === undefined;
  return mayName ? { hint: "A manager may serve one deployment group only: name it in deploymentGroup." } : {};
}

function toResolved(
  manager: Selectable<ManagerRow>,
  managerUrl: string,
  project: ProjectRef,
  platform: Manager["targets"][number],
): Resolved {
  const managementConfig = managementConfigOf(manager, platform);
  return {
    managerId: manager.id,
    managerName: manager.name,
    managerUrl,
    managerIsSystem: manager.is_system,
    managerCloud: manager.is_system ? null : manager.cloud,
    projectId: project.id,
    ...(managementConfig !== undefined && { installContext: { platform, managementConfig } }),
  };
}
