import type { Static } from "typebox";
import type { debugSessionRoutes } from "../../../contract/debug-sessions/debug-sessions.ts";
import { type Call, type Handlers, reply } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { getDeployment } from "../deployments/read/get.ts";
import { filesOf } from "./files.ts";
import { getSession, patchSession, recordSession } from "./service.ts";
import { sessionsOf, stateIn, toSession } from "./store.ts";

type Routes = typeof debugSessionRoutes;

export const handlers: Handlers<Routes> = {
  list,
  async create(call) {
    const { row, isNew } = await recordSession(call, call.body);
    return reply(isNew ? 201 : 200, toSession(row, call));
  },
  async get(call) {
    const row = await getSession(call, call.params.id);
    return toSession(row, call, await filesOf(row, call));
  },
  patch: async (call) => toSession(await patchSession(call, call.params.id, call.body), call),
};

async function list(call: Call<Routes["list"]>): Promise<Static<Routes["list"]["response"]>> {
  const { db, principal, query, page, now } = call;
  const project = await optionalProject(db, principal, query.project);
  if (query.deploymentId !== undefined) await getDeployment(call, query.deploymentId);
  let found = sessionsOf(db, principal);
  if (project !== undefined) found = found.where("s.project_id", "=", project.id);
  if (query.deploymentId !== undefined) found = found.where("s.deployment_id", "=", query.deploymentId);
  if (query.state !== undefined) found = found.where(stateIn(query.state, now));
  if (query.mode !== undefined) found = found.where("s.mode", "=", query.mode);
  if (query.provider !== undefined) found = found.where("s.provider", "=", query.provider);
  const rows = await found.$call(paged(page, "s.created_at", "s.id")).execute();
  return toPage(
    page,
    rows,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => toSession(row, call),
  );
}
