import type { gitNamespaceRoutes } from "../../../contract/projects/git-namespaces.ts";
import type { Handlers } from "../../kernel/call/call.ts";
import { userOf } from "../../kernel/tenancy/principal.ts";
import { repositoriesOf, syncNamespaces } from "./service.ts";
import { namespacesOf, toNamespace } from "./store.ts";

export const handlers: Handlers<typeof gitNamespaceRoutes> = {
  async list({ db, principal, query }) {
    const { provider = "git-host" } = query;
    const rows = await namespacesOf(db, userOf(principal).id).execute();
    return { items: rows.map((row) => toNamespace(row, provider)) };
  },
  sync: async (call) => ({ items: await syncNamespaces(call, userOf(call.principal), call.body.provider) }),
  async listRepositories(call) {
    const { params, query } = call;
    return { items: await repositoriesOf(call, userOf(call.principal), Number(params.id), query.search) };
  },
};
