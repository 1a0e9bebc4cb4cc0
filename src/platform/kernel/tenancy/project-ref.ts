import type { Db } from "../../database/db.ts";
import { notFound, PlatformError } from "../errors.ts";
import { impliedProject, type Principal, scopeOfPrincipal } from "./principal.ts";
import { servedBy } from "./serves.ts";

export interface ProjectRef {
  readonly id: string;
  readonly name: string;
  readonly workspaceId: string;
}

/**
 * Finds the project that a call means. `ref` is an id or a name in the caller's workspace, or absent when the key
 * implies the project.
 * @throws NOT_FOUND for another workspace's or another key's project; PROJECT_REQUIRED when nothing names one.
 */
export async function requireProject(db: Db, principal: Principal, ref: string | undefined): Promise<ProjectRef> {
  const project = await optionalProject(db, principal, ref);
  if (project === undefined) throw new PlatformError("PROJECT_REQUIRED");
  return project;
}

/**
 * Like `requireProject` where the caller may omit it: the project that the key implies, else the only one of the
 * workspace.
 * @throws PROJECT_REQUIRED when there are several.
 */
export async function meantProject(db: Db, principal: Principal, ref: string | undefined): Promise<ProjectRef> {
  const project = await optionalProject(db, principal, ref);
  if (project !== undefined) return project;
  const [only, ...more] = await db
    .selectFrom("projects as p")
    .select(["p.id", "p.name", "p.workspace_id as workspaceId"])
    .where("p.workspace_id", "=", principal.workspaceId)
    .limit(2)
    .execute();
  if (only === undefined || more.length > 0) throw new PlatformError("PROJECT_REQUIRED");
  return only;
}

/** Like `requireProject` for lists. Undefined means all projects that the caller sees. */
export async function optionalProject(
  db: Db,
  principal: Principal,
  ref: string | undefined,
): Promise<ProjectRef | undefined> {
  const implied = impliedProject(principal);
  const named = ref ?? implied;
  if (named === undefined) return undefined;
  const project = await find(db, principal, named);
  if (project === undefined || (implied !== undefined && project.id !== implied)) throw notFound("project");
  return project;
}

function find(db: Db, principal: Principal, named: string): Promise<ProjectRef | undefined> {
  const scope = scopeOfPrincipal(principal);
  const anywhere = principal.kind === "serviceAccount" && principal.system;
  // Project names may not start with `prj_`, so an id cannot be mistaken for a name (§0.1).
  const query = db
    .selectFrom("projects as p")
    .select(["p.id", "p.name", "p.workspace_id as workspaceId"])
    .where(named.startsWith("prj_") ? "p.id" : "p.name", "=", named)
    .$if(!anywhere, (projects) => projects.where("p.workspace_id", "=", principal.workspaceId));
  if (scope.type !== "manager") return query.executeTakeFirst();
  // A manager reaches the projects that have a deployment which it serves; a system manager in any workspace.
  return query
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom("deployments as d")
          .select("d.id")
          .whereRef("d.project_id", "=", "p.id")
          .where(servedBy(scope.managerId, "d")),
      ),
    )
    .executeTakeFirst();
}
