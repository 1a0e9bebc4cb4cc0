import type { Workspace, workspaceRoutes } from "../../../contract/workspaces/workspaces.ts";
import { contains } from "../../database/contains.ts";
import type { Call, Handlers } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { userOf } from "../../kernel/tenancy/principal.ts";
import {
  createWorkspace,
  deleteWorkspace,
  getSettings,
  getWorkspace,
  patchSettings,
  patchWorkspace,
} from "./service.ts";
import { liveWorkspaces, toMembership, toWorkspace, workspacesOfUser } from "./store.ts";

export const handlers: Handlers<typeof workspaceRoutes> = {
  list,
  async create(call) {
    const row = await createWorkspace(call, userOf(call.principal), call.body);
    return toMembership({ ...row, role: "workspace.admin" });
  },
  get: async (call) => toWorkspace(await getWorkspace(call, call.params.id)),
  patch: async (call) => toWorkspace(await patchWorkspace(call, call.body)),
  delete: (call) => deleteWorkspace(call).then(() => undefined),
  getSettings,
  patchSettings: (call) => patchSettings(call, call.body),
};

/** For a user all workspaces of that user, whichever one the request names; for a key its own workspace. */
async function list(
  call: Call<(typeof workspaceRoutes)["list"]>,
): Promise<{ items: Workspace[]; nextCursor: string | null }> {
  const { db, principal, query, page } = call;
  const own =
    principal.kind === "serviceAccount"
      ? liveWorkspaces(db).where("w.id", "=", principal.workspaceId)
      : workspacesOfUser(db, principal.id);
  const found = query.search === undefined ? own : own.where(contains("w.name", query.search));
  const rows = await found.$call(paged(page, "w.created_at", "w.id")).execute();
  return toPage(page, rows, (row) => ({ at: row.created_at, id: row.id }), toWorkspace);
}
