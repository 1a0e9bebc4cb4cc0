import type { ServiceAccount } from "../../kernel/tenancy/principal.ts";

/**
 * The principal of the built-in builder. External builders use a system manager's key; it has the same rights without a
 * key.
 */
export const BUILT_IN_BUILDER: ServiceAccount = {
  kind: "serviceAccount",
  id: "builder",
  workspaceId: "",
  workspaceName: "",
  role: "manager.runtime",
  scope: { type: "manager", managerId: "" },
  expiresAt: null,
  system: true,
  setupFor: null,
};
