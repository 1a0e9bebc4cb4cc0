import type { Call } from "../../kernel/call/call.ts";
import { lapse } from "./reports.ts";
import { settled, stateOf, withState } from "./settle.ts";
import { moved } from "./state.ts";
import { updateRequest } from "./store.ts";

/** A deleted deployment has nobody left to decide: its queued requests are rejected, outcome expired (§24.4). */
export async function abandonRequests(
  { db, now }: Pick<Call, "db" | "now">,
  deployment: { readonly id: string },
): Promise<void> {
  const rows = await db
    .selectFrom("access_requests")
    .selectAll()
    .where("deployment_id", "=", deployment.id)
    .where("status", "=", "queued")
    .execute();
  for (const stored of rows) {
    const row = settled(stored, now);
    const ended =
      row.status === "queued" ? withState(row, moved(stateOf(row), "deny", now), lapse(now, null), now) : row;
    await updateRequest(db, ended);
  }
}
