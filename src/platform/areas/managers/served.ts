import type { Selectable } from "kysely";
import type { Db } from "../../database/db.ts";
import type { ManagerRow } from "../../database/tables/managers.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, invalidTransition, PlatformError } from "../../kernel/errors.ts";
import { giveWaiting, takeFrom, unserved } from "../deployments/lifecycle/waiting.ts";
import { isLive, setupStatusOf } from "./record/state.ts";

/** What a private manager serves: a group, or all of its workspace, or with neither no customer. */
export interface Served {
  readonly deployment_group_id: string | null;
  readonly shared: boolean;
}

export interface ServedRequest {
  readonly deploymentGroupId?: string | null | undefined;
  readonly shared?: boolean | undefined;
}

const NO_CUSTOMER: Served = { deployment_group_id: null, shared: false };

/** Applies a request to the current setting: a group replaces `shared`, and `shared` replaces a group. */
export function servedAs({ deploymentGroupId, shared }: ServedRequest, before: Served = NO_CUSTOMER): Served {
  if (deploymentGroupId != null && shared === true) {
    throw invalid({ path: "body.shared", message: "must not be true beside a deploymentGroupId" });
  }
  if (deploymentGroupId != null) return { deployment_group_id: deploymentGroupId, shared: false };
  if (shared === true) return { deployment_group_id: null, shared: true };
  return {
    deployment_group_id: deploymentGroupId === null ? null : before.deployment_group_id,
    shared: shared ?? before.shared,
  };
}

/**
 * Allows only one manager, unless deleted, for each cloud, region and customer, and one shared one. Managers that serve
 * no customer may exist in any number, except on creation: a second one is then taken for a repeated setup of the
 * first.
 * @throws MANAGER_EXISTS
 */
export async function refuseTwin(
  { db, now }: { readonly db: Db; readonly now: Date },
  wanted: Served & Pick<ManagerRow, "workspace_id" | "cloud" | "region"> & { readonly id?: string },
): Promise<void> {
  // Created by the server's own command: it has no cloud, so it is never a duplicate.
  if (wanted.cloud === null) return;
  if (wanted.id !== undefined && wanted.deployment_group_id === null && !wanted.shared) return;
  const siblings = await db
    .selectFrom("managers")
    .selectAll()
    .where("workspace_id", "=", wanted.workspace_id)
    .where("is_system", "=", false)
    .where("cloud", "=", wanted.cloud)
    .where("region", "=", wanted.region)
    .where("deployment_group_id", "is not distinct from", wanted.deployment_group_id)
    .where("shared", "=", wanted.shared)
    .where("id", "<>", wanted.id ?? "")
    .orderBy("id")
    .execute();
  const twin = siblings.find((row) => setupStatusOf(row, now) !== "deleted");
  if (twin === undefined) return;
  throw new PlatformError("MANAGER_EXISTS", {
    context: { managerId: twin.id },
    hint: `let ${twin.id} serve, or take what it serves from it: PATCH /v1/managers/${twin.id}`,
  });
}

type Context = Pick<Call, "db" | "now" | "emit" | "raise" | "hooks">;

/**
 * Changes what a manager serves. Deployments that it no longer serves lose it and wait. Waiting deployments that it
 * serves now are given a manager, once it is live. This call handles the first of both; the sweep does the rest.
 * @throws INVALID_STATE_TRANSITION for a system manager, which serves all, and for one that is being deleted
 */
export async function serveAnew(call: Context, manager: Selectable<ManagerRow>, wanted: Served): Promise<void> {
  const status = setupStatusOf(manager, call.now);
  if (status === null) throw invalidTransition("system", "private", []);
  if (status === "deleting" || status === "deleted") throw invalidTransition(status, "serving", []);
  await refuseTwin(call, { ...manager, ...wanted });
  await call.db.updateTable("managers").set(wanted).where("id", "=", manager.id).execute();
  await takeFrom(call, await unserved(call.db, manager.id));
  if (isLive(manager, call.now)) await giveWaiting(call, manager.id);
}
