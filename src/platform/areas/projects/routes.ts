import type { Project, projectRoutes } from "../../../contract/projects/projects.ts";
import { contains } from "../../database/contains.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { visible } from "../../kernel/tenancy/scope.ts";
import { createProject, deleteProject, getProject, patchProject, toProject } from "./service.ts";
import { deploymentCounts, latestReleases } from "./store.ts";

export const handlers: Handlers<typeof projectRoutes> = {
  list,
  create: async (call) => toProject(await createProject(call, call.body)),
  get: async (call) => toProject(await getProject(call, call.params.idOrName)),
  patch: async (call) => toProject(await patchProject(call, call.params.idOrName, call.body)),
  delete: async (call) => deleteProject(call, call.params.idOrName).then(() => undefined),
};

async function list(
  call: Call<(typeof projectRoutes)["list"]>,
): Promise<{ items: Project[]; nextCursor: string | null }> {
  const { db, principal, query, page } = call;
  let found = db
    .selectFrom("projects")
    .selectAll()
    .where(visible(principal, { workspace: "projects.workspace_id", project: "projects.id" }));
  if (query.search !== undefined) found = found.where(contains("projects.name", query.search));
  const rows = await found.$call(paged(page, "projects.created_at", "projects.id")).execute();
  const ids = rows.map((row) => row.id);
  const counts = query.include?.includes("deploymentCount") ? await deploymentCounts(db, ids) : undefined;
  const releases = query.include?.includes("latestRelease") ? await latestReleases(db, ids) : undefined;
  return toPage(
    page,
    rows,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => ({
      ...toProject(row),
      ...(counts !== undefined && { deploymentCount: counts.get(row.id) ?? 0 }),
      ...(releases !== undefined && { latestRelease: releases.get(row.id) ?? null }),
    }),
  );
}
