import type { ProgressEvent } from "../../../contract/deployments/sync.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { Call } from "../../kernel/call/call.ts";
import { eventState } from "../../kernel/events/outbox.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";

/**
 * A started event is one row. The end of the same type closes the newest open one, or becomes a row of its own (§13.2).
 */
export async function storeProgress(
  call: Pick<Call, "db" | "now" | "emit">,
  row: Pick<DeploymentRow, "id" | "project_id">,
  events: readonly ProgressEvent[],
): Promise<void> {
  for (const { type, state, data = {} } of events) {
    if (state !== "started") {
      const open = await call.db
        .selectFrom("events")
        .select("id")
        .where("deployment_id", "=", row.id)
        .where("type", "=", type)
        .where("state", "=", eventState("started"))
        .orderBy("created_at", "desc")
        .executeTakeFirst();
      if (open !== undefined) {
        await call.db
          .updateTable("events")
          .set({ state: eventState(kept(state)) })
          .where("id", "=", open.id)
          .execute();
        continue;
      }
    }
    await call.emit({ type, projectId: row.project_id, deploymentId: row.id, data, state: kept(state) });
  }
}
