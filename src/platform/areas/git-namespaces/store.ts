import { type Selectable, sql } from "kysely";
import type { GitNamespace, GitProvider } from "../../../contract/projects/git-namespaces.ts";
import type { Db } from "../../database/db.ts";
import type { GitNamespaceRow } from "../../database/tables/git-namespaces.ts";

/** The user's own namespace comes first. */
export function namespacesOf(db: Db, userId: string) {
  return db
    .selectFrom("git_namespaces as g")
    .selectAll()
    .where("g.user_id", "=", userId)
    .orderBy(sql`g.type = 'user'`, "desc")
    .orderBy(sql`g.slug collate "C"`);
}

/** @param provider the caller's name for the git host */
export function toNamespace(row: Selectable<GitNamespaceRow>, provider: GitProvider): GitNamespace {
  return {
    id: row.host_id,
    name: row.name,
    slug: row.slug,
    installationId: row.installation_id,
    type: row.type,
    provider,
    createdAt: row.created_at.toISOString(),
  };
}
