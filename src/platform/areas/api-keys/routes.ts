import type { apiKeyRoutes } from "../../../contract/api-keys/api-keys.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { optionalProject } from "../../kernel/tenancy/project-ref.ts";
import { keyRights } from "./rights.ts";
import { changeKey, createKey, findKey, revoke } from "./service.ts";
import { keysOf, removeKeys, toApiKey, toApiKeyWithCreator } from "./store.ts";

export const handlers: Handlers<typeof apiKeyRoutes> = {
  async list({ db, principal, page, query }) {
    const project = query.project === undefined ? undefined : await optionalProject(db, principal, query.project);
    const rows = await keysOf(db, principal, keyRights(principal))
      .$if(project !== undefined, (keys) => keys.where("k.project_id", "=", project?.id ?? ""))
      .$call(paged(page, "k.created_at", "k.id"))
      .execute();
    return toPage(page, rows, (row) => ({ at: row.created_at, id: row.id }), toApiKeyWithCreator);
  },

  async create(call) {
    const { description, scope, expiresAt } = call.body;
    const request = { description, scope, expiresAt: expiresAt == null ? null : new Date(expiresAt) };
    const { row, secret } = await createKey(call, request);
    return { apiKey: secret, keyInfo: toApiKey(row) };
  },

  async get({ db, principal, params }) {
    return toApiKeyWithCreator(await findKey(db, principal, params.id));
  },

  async update(call) {
    const { enabled, description, expiresAt, deploymentSetupConfig: setupConfig } = call.body;
    const until = typeof expiresAt === "string" ? new Date(expiresAt) : expiresAt;
    const change = { enabled, description, expiresAt: until, setupConfig };
    return toApiKeyWithCreator(await changeKey(call, call.params.id, change));
  },

  async revoke({ db, principal, params, now }) {
    await revoke(db, principal, params.id, now);
  },

  async batchDelete({ db, workspaceId, body }) {
    return { deletedCount: await removeKeys(db, workspaceId, body.ids) };
  },
};
