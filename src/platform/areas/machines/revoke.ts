import type { Db } from "../../database/db.ts";
import type { Call } from "../../kernel/call/call.ts";

/** All of a deployment's join tokens end at `at`, which may lie ahead; none lives longer by it than before. */
export async function revokeJoinTokens(db: Db, deploymentId: string, at: Date): Promise<void> {
  await db
    .updateTable("join_tokens")
    .set({ revoked_at: at })
    .where("deployment_id", "=", deploymentId)
    .where((eb) => eb.or([eb("revoked_at", "is", null), eb("revoked_at", ">", at)]))
    .execute();
}

/** A deleted deployment lets no machine in. */
export async function closeToMachines(
  { db, now }: Pick<Call, "db" | "now">,
  { id }: { readonly id: string },
): Promise<void> {
  await revokeJoinTokens(db, id, now);
}
