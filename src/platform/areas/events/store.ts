import type { Selectable } from "kysely";
import type { Event } from "../../../contract/events/events.ts";
import type { Db } from "../../database/db.ts";
import type { EventRow } from "../../database/tables/events.ts";
import { type PageRequest, paged } from "../../kernel/call/page.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { shown } from "../../kernel/tenancy/stored-error.ts";
import { withoutNulls } from "../../kernel/without-nulls.ts";

type ReadEvent = Selectable<EventRow> & { readonly release_created_at: Date | null };

const SCOPE = {
  workspace: "e.workspace_id",
  project: "e.project_id",
  deployment: "e.deployment_id",
  deploymentGroup: "e.deployment_group_id",
} as const;

export interface EventFilter {
  readonly projectId: string | undefined;
  readonly deploymentId: string | undefined;
  readonly releaseId: string | undefined;
}

export function listEvents(
  db: Db,
  principal: Principal,
  { projectId, deploymentId, releaseId }: EventFilter,
  page: PageRequest,
): Promise<ReadEvent[]> {
  return db
    .selectFrom("events as e")
    .leftJoin("releases as r", "r.id", "e.release_id")
    .selectAll("e")
    .select("r.created_at as release_created_at")
    .where(visible(principal, SCOPE))
    .$if(projectId !== undefined, (query) => query.where("e.project_id", "=", projectId ?? ""))
    .$if(deploymentId !== undefined, (query) => query.where("e.deployment_id", "=", deploymentId ?? ""))
    .$if(releaseId !== undefined, (query) => query.where("e.release_id", "=", releaseId ?? ""))
    .$call(paged(page, "e.created_at", "e.id"))
    .execute();
}

export function findEvent(db: Db, principal: Principal, id: string): Promise<ReadEvent | undefined> {
  return db
    .selectFrom("events as e")
    .leftJoin("releases as r", "r.id", "e.release_id")
    .selectAll("e")
    .select("r.created_at as release_created_at")
    .where(visible(principal, SCOPE))
    .where("e.id", "=", id)
    .executeTakeFirst();
}

export function toEvent(row: ReadEvent, principal: Principal, withRelease: boolean): Event {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    deploymentId: row.deployment_id,
    releaseId: row.release_id,
    debugSessionId: row.debug_session_id,
    data: withoutNulls(shown(row.data, principal)),
    state: shown(row.state, principal),
    createdAt: row.created_at.toISOString(),
    ...(withRelease && { releaseCreatedAt: row.release_created_at?.toISOString() ?? null }),
  };
}
