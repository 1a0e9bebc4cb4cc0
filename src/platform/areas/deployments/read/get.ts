import type { Call } from "../../../kernel/call/call.ts";
import { notFound } from "../../../kernel/errors.ts";
import { findDeployment, findOwnOfManager, findServed, type VisibleDeployment } from "./store.ts";

/** @throws NOT_FOUND outside the caller's scope. */
export async function getDeployment({ db, principal }: Pick<Call, "db" | "principal">, id: string) {
  const row = await findDeployment(db, principal, id);
  if (row === undefined) throw notFound("deployment");
  return row;
}

/**
 * Also finds the hidden deployment that a manager runs as, for the manager itself and for admins, who know its id from
 * the setup. They may only read it: the manager's own routes change it.
 */
export async function readDeployment(call: Pick<Call, "db" | "principal">, id: string): Promise<VisibleDeployment> {
  const { db, principal } = call;
  if (principal.role === "manager.runtime") return (await findServed(db, principal, id)) ?? getDeployment(call, id);
  const own = principal.role === "workspace.admin" ? await findOwnOfManager(db, principal, id) : undefined;
  return own ?? getDeployment(call, id);
}
