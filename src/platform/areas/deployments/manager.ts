import type { Call } from "../../kernel/call.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { choose } from "../resolve/choice.ts";
import { candidates, defaultManager } from "../resolve/store.ts";
import type { DeploymentRow } from "./store.ts";

type Context = Pick<Call, "db" | "now">;
type Owner = Pick<DeploymentRow, "workspace_id" | "project_id" | "platform">;

/** The manager of a new deployment that names none: the one that resolve would name (§12.2). */
export async function managerFor({ db, now }: Context, owner: Owner): Promise<string> {
  const project = { id: owner.project_id, workspaceId: owner.workspace_id };
  const preferred = await defaultManager(db, project, owner.platform);
  const chosen = choose(preferred, await candidates(db, owner.workspace_id, owner.platform), now);
  if (chosen === undefined) throw new PlatformError("MANAGER_NOT_AVAILABLE");
  return chosen.id;
}

/** One that is named may still be setting itself up; it must be visible, not on its way out, and serve the platform. */
export async function servingManager({ db }: Context, owner: Owner, id: string): Promise<string | undefined> {
  const all = await candidates(db, owner.workspace_id, owner.platform);
  const found = all.find((manager) => manager.id === id);
  const leaving = found?.setup_status === "deleting" || found?.setup_status === "deleted";
  return found === undefined || leaving ? undefined : found.id;
}
