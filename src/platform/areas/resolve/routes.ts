import type { Selectable } from "kysely";
import type { Manager } from "../../../contract/managers.ts";
import type { Resolved, resolveRoutes } from "../../../contract/resolve.ts";
import type { Call, Handlers } from "../../kernel/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { type ProjectRef, requireProject } from "../../kernel/project-ref.ts";
import { managementConfigOf } from "../managers/runtime.ts";
import type { ManagerRow } from "../managers/store.ts";
import { choose } from "./choice.ts";
import { assignedManager, candidates, defaultManager } from "./store.ts";

type Resolve = Call<(typeof resolveRoutes)["get"]>;

export const handlers: Handlers<typeof resolveRoutes> = {
  async get(call) {
    const { db, principal, query } = call;
    const project = await requireProject(db, principal, query.project);
    const manager = await managerFor(call, project, query.platform);
    if (manager === undefined) throw new PlatformError("MANAGER_NOT_AVAILABLE");
    if (manager.url === null) throw new PlatformError("MANAGER_NOT_READY", { retryAfterSeconds: 5 });
    return toResolved(manager, manager.url, project, query.platform);
  },
};

/** A deployment key's own manager; else the project's default, the workspace's best, the system's best (§12.2). */
async function managerFor(
  { db, principal, now }: Resolve,
  project: ProjectRef,
  platform: Manager["targets"][number],
): Promise<Selectable<ManagerRow> | undefined> {
  if (principal.kind === "serviceAccount" && principal.scope.type === "deployment") {
    return assignedManager(db, principal.scope.deploymentId, platform);
  }
  const preferred = await defaultManager(db, project, platform);
  return choose(preferred, await candidates(db, project.workspaceId, platform), now);
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
