import type { DeploymentListItem } from "../../../../contract/deployments/deployment.ts";
import type { ServiceAccount } from "../../../kernel/tenancy/principal.ts";
import { toListItem } from "../../deployments/read/record.ts";
import { deploymentsOf, LISTED } from "../../deployments/read/store.ts";
import { setupStatusOf, statusOf } from "../../managers/record/state.ts";
import { setupOfManager } from "../../managers/setup/setup.ts";
import type { PortalCall } from "../subject.ts";
import type { ManagerView } from "./setup-page.ts";

type Context = PortalCall & { readonly principal: ServiceAccount };

/** A group may have thousands. */
const MOST_SHOWN = 20;

/** The deployments that the token sees, as `GET /v1/deployments` would list them for it. */
export async function listedFor(call: Context): Promise<readonly DeploymentListItem[]> {
  const rows = await deploymentsOf(call.db, call.principal)
    .clearSelect()
    .select(LISTED.map((column) => `d.${column}` as const))
    .where("d.status", "<>", "deleted")
    .orderBy("d.created_at", "desc")
    .orderBy("d.id", "desc")
    .limit(MOST_SHOWN)
    .execute();
  return rows.map((row) => toListItem(row, call));
}

/** The manager that a setup token is for. */
export async function managerOf({ db, principal, config, now }: Context): Promise<ManagerView | undefined> {
  if (principal.setupFor === null) return undefined;
  const row = await db.selectFrom("managers").selectAll().where("id", "=", principal.setupFor).executeTakeFirst();
  const setup = row && setupOfManager(row, config);
  if (row === undefined || setup === undefined) return undefined;
  return { id: row.id, setupStatus: setupStatusOf(row, now) ?? "active", status: statusOf(row, now), setup };
}
