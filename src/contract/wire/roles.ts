/** Every role a credential can have (§1.2, §27). */
export const ROLES = [
  "workspace.viewer",
  "workspace.member",
  "workspace.admin",
  "project.viewer",
  "project.developer",
  "project.encryption",
  "project.ai-gateway",
  "project.remote-bindings",
  "deployment.viewer",
  "deployment.manager",
  "deployment.telemetry-writer",
  "deployment-group.deployer",
  "manager.runtime",
] as const;

export type Role = (typeof ROLES)[number];

/** What a member of a workspace can be. */
export const WORKSPACE_ROLES = [
  "workspace.viewer",
  "workspace.member",
  "workspace.admin",
] as const satisfies readonly Role[];

export const SCOPE_TYPES = ["workspace", "project", "deployment", "deployment-group", "manager"] as const;
export type ScopeType = (typeof SCOPE_TYPES)[number];

/** A role belongs to the scope that its name starts with. */
export function scopeOf(role: Role): ScopeType {
  return role.slice(0, role.indexOf(".")) as ScopeType;
}

/**
 * Who may call a route: a closed list of roles, or
 * `any` (every signed-in principal), `user` (a signed-in user, no workspace role needed), `public` (no credential),
 * `setup-token`, `ticket`: credentials with a single purpose.
 */
export type Audience = readonly (Role | "user")[] | "any" | "public" | "setup-token" | "ticket";

/** The lists that the tables repeat, by what their callers do there. */
export const READERS = [
  "workspace.viewer",
  "workspace.member",
  "workspace.admin",
  "project.viewer",
  "project.developer",
] as const satisfies readonly Role[];
export const WRITERS = ["workspace.member", "workspace.admin", "project.developer"] as const satisfies readonly Role[];
export const ADMIN = ["workspace.admin"] as const satisfies readonly Role[];
export const MANAGER = ["manager.runtime"] as const satisfies readonly Role[];
