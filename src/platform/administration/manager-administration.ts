import type { Clock } from "../../base/clock.ts";
import { PLATFORMS } from "../../contract/wire/schema.ts";
import { HOOKS } from "../areas/hooks.ts";
import { type ServedRequest, serveAnew, servedAs } from "../areas/managers/served.ts";
import type { Db } from "../database/db.ts";
import { changeUnrequested } from "../kernel/call/unrequested.ts";
import { PlatformError } from "../kernel/errors.ts";
import type { Bootstrap } from "./bootstrap.ts";
import { RefusedError } from "./refused-error.ts";

/**
 * Which groups a private manager serves: one deployment group by its id, all groups of its workspace, or with neither
 * no customer.
 */
export interface ServedOrder {
  readonly group?: string | undefined;
  readonly shared?: boolean | undefined;
}

export interface ManagerOrder extends ServedOrder {
  readonly name: string;
  readonly targets?: readonly string[] | undefined;
}

/** Creates a manager; without a workspace a system manager. @throws RefusedError */
export async function createManager(
  db: Db,
  bootstrap: Bootstrap,
  workspaceId: string | undefined,
  { name, targets: given, ...served }: ManagerOrder,
): ReturnType<Bootstrap["manager"]> {
  const targets = given?.map((word) => {
    const platform = PLATFORMS.find((known) => known === word);
    if (platform === undefined) throw new RefusedError(`${word} is no target; there are ${PLATFORMS.join(", ")}`);
    return platform;
  });
  const order = { name, ...(targets !== undefined && { targets }) };
  if (workspaceId === undefined) {
    if (served.group === undefined && served.shared !== true) return bootstrap.systemManager(order);
    throw new RefusedError("a system manager serves every group; --group and --shared are for --workspace");
  }
  const { deploymentGroupId, shared } = await servedIn(db, workspaceId, served);
  return bootstrap.manager({ ...order, workspaceId, deploymentGroupId: deploymentGroupId ?? undefined, shared });
}

/** Converts the order to a request of the API, with its group found in the workspace. @throws RefusedError */
async function servedIn(db: Db, workspaceId: string, { group, shared }: ServedOrder): Promise<ServedRequest> {
  if (group !== undefined && shared === true) {
    throw new RefusedError("a manager serves one group or is shared: --group and --shared exclude each other");
  }
  if (group === undefined) return { shared };
  const found = await db
    .selectFrom("deployment_groups")
    .select("id")
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", group)
    .executeTakeFirst();
  if (found === undefined) throw new RefusedError(`there is no deployment-group ${group} in that workspace`);
  return { deploymentGroupId: group };
}

/** The same as `PATCH /v1/managers/{id}`. @throws RefusedError */
export async function serveManager(db: Db, clock: Clock, id: string, order: ServedOrder): Promise<void> {
  try {
    await changeUnrequested(db, clock.wallNow(), HOOKS, async (call) => {
      const manager = await call.db.selectFrom("managers").selectAll().where("id", "=", id).executeTakeFirst();
      if (manager === undefined) throw new RefusedError(`there is no manager ${id}`);
      await serveAnew(call, manager, servedAs(await servedIn(call.db, manager.workspace_id, order)));
    });
  } catch (error) {
    if (error instanceof PlatformError) throw new RefusedError(`manager ${id}: ${error.message}`, { cause: error });
    throw error;
  }
}
