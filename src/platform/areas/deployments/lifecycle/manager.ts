import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { candidates, defaultManager } from "../../managers/record/candidates.ts";
import { choose } from "../../managers/record/choice.ts";

type Context = Pick<Call, "db" | "now">;
type Owner = Pick<DeploymentRow, "workspace_id" | "project_id" | "deployment_group_id" | "platform">;

/**
 * Chooses the manager of a deployment that names none, by the rule of resolve. Null: none serves the group yet, and the
 * deployment waits.
 */
export async function managerFor({ db, now }: Context, owner: Owner): Promise<string | null> {
  const customer = customerOf(owner);
  const preferred = await defaultManager(db, customer, owner.platform);
  return choose(preferred, await candidates(db, customer, owner.platform), now)?.id ?? null;
}

/**
 * Finds a manager named by the caller. It must serve the group and the platform and must not be deleting; it may still
 * be setting up.
 */
export async function servingManager({ db }: Context, owner: Owner, id: string): Promise<string | undefined> {
  const all = await candidates(db, customerOf(owner), owner.platform);
  const found = all.find((manager) => manager.id === id);
  const leaving = found?.setup_status === "deleting" || found?.setup_status === "deleted";
  return found === undefined || leaving ? undefined : found.id;
}

function customerOf(owner: Owner) {
  return { workspaceId: owner.workspace_id, projectId: owner.project_id, groupId: owner.deployment_group_id };
}
