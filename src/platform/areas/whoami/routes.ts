import type { whoamiRoutes } from "../../../contract/workspaces/whoami.ts";
import type { Handlers } from "../../kernel/call/call.ts";

export const handlers: Handlers<typeof whoamiRoutes> = {
  async get({ principal }) {
    const { id, workspaceId, workspaceName, role } = principal;
    const identity = { id, workspaceId, workspaceName, role };
    return principal.kind === "user"
      ? { kind: "user", email: principal.email, ...identity }
      : { kind: "serviceAccount", ...identity, scope: principal.scope };
  },
};
