import { type ChangeCall, storeChange } from "./change.ts";
import { asOf, moved } from "./state.ts";
import { stateOf } from "./store.ts";

/** Stops the sessions of a deleted deployment. The relay disconnects sessions that are stopping. */
export async function stopSessions(call: ChangeCall, { id }: { readonly id: string }): Promise<void> {
  const rows = await call.db
    .selectFrom("debug_sessions")
    .selectAll()
    .where("deployment_id", "=", id)
    .where("state", "in", ["pending", "running"])
    .execute();
  for (const row of rows) {
    const next = moved(asOf(stateOf(row), call.now), "stopping", { closeReason: "revoked" });
    if (next !== undefined) await storeChange(call, row, next);
  }
}
