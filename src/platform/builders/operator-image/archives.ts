import { type SqlBool, sql } from "kysely";
import type { Db } from "../../database/db.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { Budgets } from "../../kernel/budgets/budgets.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { type PackageFile, packageKey } from "../package-link.ts";

/** Beside the newest of the project, for a customer who still installs an earlier one. */
const OLDER_OF_PROJECT = 2;

/** Each attempt at a package has a file of its own: one that has lost its lease removes its own alone. */
export function archiveOf({ id, number, retries }: Pick<PackageRow, "id" | "number" | "retries">): PackageFile {
  const attempt = retries === 0 ? "" : `-${retries}`;
  return { packageId: id, file: `operator-image-1.0.${number}${attempt}.tar` };
}

/**
 * Makes room for one more archive: of a project the newest stay, and of a workspace as many as its budget allows. The
 * outputs of the others name no archive any more; the sweep of objects removes what could not be removed now.
 */
export async function dropOldArchives(
  { db, budgets, store }: { readonly db: Db; readonly budgets: Budgets; readonly store: ObjectStore },
  { workspace_id: workspaceId, project_id: projectId }: Pick<PackageRow, "workspace_id" | "project_id">,
  signal: AbortSignal,
): Promise<void> {
  const ready = await db
    .selectFrom("packages")
    .select(["id", "number", "retries", "project_id"])
    .where("workspace_id", "=", workspaceId)
    .where("type", "=", "operator-image")
    .where("status", "=", "ready")
    .where(sql<SqlBool>`outputs ->> 'archive' like '%/images/' || id || '/%'`)
    .orderBy("completed_at", "desc")
    .orderBy("id", "desc")
    .execute();
  const own = ready.filter((row) => row.project_id === projectId);
  const surplus = new Set(own.slice(OLDER_OF_PROJECT));
  const rest = ready.filter((row) => !surplus.has(row));
  rest.forEach((row, older) => {
    if (!budgets.fits("workspace-image-archives", older + 2)) surplus.add(row);
  });
  if (surplus.size === 0) return;
  await db
    .updateTable("packages")
    .set({ outputs: sql`outputs - 'archive'` })
    .where(
      "id",
      "in",
      [...surplus].map(({ id }) => id),
    )
    .execute();
  for (const row of surplus) await store.remove(packageKey(archiveOf(row)), signal);
}
