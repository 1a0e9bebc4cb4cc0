import type { Selectable } from "kysely";
import type { InstallTarget } from "../../../contract/deployment-portal/deployment-info.ts";
import type { PLATFORMS } from "../../../contract/wire/schema.ts";
import type { Db } from "../../database/db.ts";
import type { ManagerRow } from "../../database/tables/managers.ts";
import { type Principal, scopeOfPrincipal } from "../../kernel/tenancy/principal.ts";
import { assignedManager, candidates, defaultManager } from "../managers/record/candidates.ts";
import { choose } from "../managers/record/choice.ts";
import { statusOf } from "../managers/record/state.ts";
import { managementConfigOf } from "../managers/runtime.ts";

type Platform = (typeof PLATFORMS)[number];

/**
 * A platform with the manager that would run it, the same as in `GET /v1/resolve`. Platforms without a manager are left
 * out.
 */
export interface ServedPlatform {
  readonly platform: Platform;
  readonly target: InstallTarget;
  readonly heard: boolean;
}

export async function servedPlatforms(
  { db, principal, now }: { readonly db: Db; readonly principal: Principal; readonly now: Date },
  project: { readonly id: string },
  platforms: readonly Platform[],
): Promise<readonly ServedPlatform[]> {
  const served: ServedPlatform[] = [];
  for (const platform of platforms) {
    const manager = await managerOf(db, principal, project, platform, now);
    if (manager === undefined) continue;
    const heard = statusOf(manager, now) !== "unknown";
    served.push({ platform, heard, target: toTarget(manager, platform) });
  }
  return served;
}

async function managerOf(
  db: Db,
  principal: Principal,
  project: { readonly id: string },
  platform: Platform,
  now: Date,
): Promise<Selectable<ManagerRow> | undefined> {
  const scope = scopeOfPrincipal(principal);
  if (scope.type === "deployment") return assignedManager(db, scope.deploymentId, platform);
  const groupId = scope.type === "deployment-group" ? scope.deploymentGroupId : null;
  const customer = { workspaceId: principal.workspaceId, projectId: project.id, groupId };
  const preferred = await defaultManager(db, customer, platform);
  return choose(preferred, await candidates(db, customer, platform), now);
}

function toTarget(manager: Selectable<ManagerRow>, platform: Platform): InstallTarget {
  const managementConfig = managementConfigOf(manager, platform);
  const account =
    managementConfig?.platform === "aws" ? /^arn:[^:]*:iam::(\d{12}):/.exec(managementConfig.managingRoleArn) : null;
  return {
    platform,
    ...(manager.url !== null && { managerUrl: manager.url }),
    ...(managementConfig && { managementConfig }),
    ...(account?.[1] !== undefined && { awsManagingAccountId: account[1] }),
  };
}
