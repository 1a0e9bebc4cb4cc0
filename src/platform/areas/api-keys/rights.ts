import { ROLES, type Role } from "../../../contract/wire/roles.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";

/**
 * The keys that a caller may mint, see and change: those with these roles, and only in this project if one is named
 * (§1.2).
 */
export interface KeyRights {
  readonly roles: readonly Role[];
  readonly projectId: string | undefined;
}

const MEMBER_ROLES = ROLES.filter((role) => /^(project|deployment|deployment-group)\./.test(role));
const DEVELOPER_ROLES = MEMBER_ROLES.filter((role) => {
  return !role.startsWith("project.") || role === "project.viewer" || role === "project.developer";
});

export function keyRights(principal: Principal): KeyRights {
  switch (principal.role) {
    case "workspace.admin":
      return { roles: ROLES, projectId: undefined };
    case "workspace.member":
      return { roles: MEMBER_ROLES, projectId: undefined };
    case "project.developer":
      return { roles: DEVELOPER_ROLES, projectId: projectOf(principal) };
    default:
      return { roles: [], projectId: undefined };
  }
}

function projectOf(principal: Principal): string {
  if (principal.kind === "serviceAccount" && principal.scope.type === "project") return principal.scope.projectId;
  throw new Error("project.developer without a project");
}
