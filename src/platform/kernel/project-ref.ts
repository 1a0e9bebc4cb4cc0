import type { Db } from "../database.ts";
import { notFound, PlatformError } from "./errors.ts";
import { impliedProject, type Principal } from "./principal.ts";

interface ProjectRef {
  readonly id: string;
  readonly name: string;
}

/**
 * The project that a call means: `ref` is an id or a name of the caller's workspace, or absent when the key implies it.
 * @throws NOT_FOUND for another workspace's or another key's project; PROJECT_REQUIRED when nothing names one.
 */
export async function requireProject(db: Db, principal: Principal, ref: string | undefined): Promise<ProjectRef> {
  const project = await optionalProject(db, principal, ref);
  if (project === undefined) throw new PlatformError("PROJECT_REQUIRED");
  return project;
}

/** The same for lists, where no project means all that the caller sees. */
export async function optionalProject(
  db: Db,
  principal: Principal,
  ref: string | undefined,
): Promise<ProjectRef | undefined> {
  const implied = impliedProject(principal);
  const named = ref ?? implied;
  if (named === undefined) return undefined;
  // Project names may not start with `prj_`, so an id is never read as a name (§0.1).
  const column = named.startsWith("prj_") ? "id" : "name";
  const project = await db
    .selectFrom("projects")
    .select(["id", "name"])
    .where("workspace_id", "=", principal.workspaceId)
    .where(column, "=", named)
    .executeTakeFirst();
  if (project === undefined || (implied !== undefined && project.id !== implied)) throw notFound("project");
  return project;
}
