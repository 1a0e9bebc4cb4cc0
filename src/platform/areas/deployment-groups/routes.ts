import type { DeploymentGroup, deploymentGroupRoutes } from "../../../contract/deployment-groups/deployment-groups.ts";
import { contains } from "../../database/contains.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import {
  createGroup,
  deleteGroup,
  getGroup,
  getGroupByExternalId,
  patchGroup,
  putGroupByExternalId,
  putGroupByName,
  setExternalId,
  toDeploymentGroup,
} from "./service.ts";
import { countDeployments, groupsOf } from "./store.ts";
import { createToken, firstPartySession } from "./tokens.ts";

export const handlers: Handlers<typeof deploymentGroupRoutes> = {
  list,
  get,
  create: async (call) => toDeploymentGroup(await createGroup(call, call.body)),
  putByName: async (call) => toDeploymentGroup(await putGroupByName(call, call.body)),
  getByExternalId: async (call) =>
    toDeploymentGroup(await getGroupByExternalId(call, call.query.project, call.query.externalId)),
  putByExternalId: async (call) => toDeploymentGroup(await putGroupByExternalId(call, call.body)),
  patch: async (call) => toDeploymentGroup(await patchGroup(call, call.params.id, call.body)),
  delete: async (call) => deleteGroup(call, call.params.id).then(() => undefined),
  createToken: (call) => createToken(call, call.params.id, call.body),
  firstPartySession: (call) => firstPartySession(call, call.params.id),
  putExternalId: async (call) => toDeploymentGroup(await setExternalId(call, call.params.id, call.body.externalId)),
};

async function list(
  call: Call<(typeof deploymentGroupRoutes)["list"]>,
): Promise<{ items: DeploymentGroup[]; nextCursor: string | null }> {
  const { db, principal, query, page } = call;
  const project = await optionalProject(db, principal, query.project);
  let found = groupsOf(db, principal);
  if (project !== undefined) found = found.where("g.project_id", "=", project.id);
  if (query.search !== undefined) found = found.where(contains("g.name", query.search));
  const rows = await found.$call(paged(page, "g.created_at", "g.id")).execute();
  const withProject = query.include?.includes("project") ?? false;
  return toPage(
    page,
    rows,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => ({
      ...toDeploymentGroup(row),
      ...(withProject && { project: { id: row.project_id, name: row.project_name } }),
    }),
  );
}

async function get(call: Call<(typeof deploymentGroupRoutes)["get"]>): Promise<DeploymentGroup> {
  const row = await getGroup(call, call.params.id);
  return {
    ...toDeploymentGroup(row),
    deploymentCount: await countDeployments(call.db, row.id),
    ...(call.query.include?.includes("project") && { project: { id: row.project_id, name: row.project_name } }),
  };
}
