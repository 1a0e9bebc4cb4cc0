import type { Db } from "../../database/db.ts";
import type { Call } from "../../kernel/call/call.ts";

/** Revokes all join tokens of a deployment at `at`, which may be in the future. No token becomes valid for longer. */
export async function revokeJoinTokens(db: Db, deploymentId: string, at: Date): Promise<void> {
  await db
    .updateTable("join_tokens")
    .set({ revoked_at: at })
    .where("deployment_id", "=", deploymentId)
    .where((eb) => eb.or([eb("revoked_at", "is", null), eb("revoked_at", ">", at)]))
    .execute();
}

/** On the deletion of a deployment: revokes its join tokens, so that no machine can join. */
export async function closeToMachines(
  { db, now }: Pick<Call, "db" | "now">,
  { id }: { readonly id: string },
): Promise<void> {
  await revokeJoinTokens(db, id, now);
}
