import type { Actor } from "../../../contract/wire/actor.ts";
import type { Role } from "../../../contract/wire/roles.ts";

/** What a key may reach. The scope holds the ids of the owners too: a deployment key carries its project and group. */
export type Scope =
  | { readonly type: "workspace" }
  | { readonly type: "project"; readonly projectId: string }
  | { readonly type: "deployment-group"; readonly deploymentGroupId: string; readonly projectId: string }
  | { readonly type: "deployment"; readonly deploymentId: string; readonly projectId: string }
  | { readonly type: "manager"; readonly managerId: string };

interface Identity {
  /** The workspace in which the call acts. For a system manager's key: the system workspace. */
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly role: Role;
}

export interface ServiceAccount extends Identity {
  readonly kind: "serviceAccount";
  /** The API key's id. */
  readonly id: string;
  readonly scope: Scope;
  readonly expiresAt: Date | null;
  /** For a system manager's key: it reaches the deployments assigned to it in all workspaces. */
  readonly system: boolean;
  /** The manager that this setup token may bootstrap. */
  readonly setupFor: string | null;
}

/** A signed-in user in a workspace, with the role of its membership at the time of this request. */
export interface User extends Identity {
  readonly kind: "user";
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly image: string | null;
}

/** A signed-in user without a workspace: on the routes of §0.5 that need none. */
export interface Person extends Omit<User, keyof Identity | "kind"> {
  readonly kind: "person";
}

/** The caller within a workspace, after the credential and the workspace rules. */
export type Principal = ServiceAccount | User;

/** The caller, with or without a workspace. */
export type Caller = Principal | Person;

/** The scope of the caller. A user reaches its whole workspace. */
export function scopeOfPrincipal(principal: Principal): Scope {
  return principal.kind === "user" ? { type: "workspace" } : principal.scope;
}

/** The caller as a user, on a route that only users may call. */
export function userOf(caller: Caller): User | Person {
  if (caller.kind === "serviceAccount") throw new Error("a key came to a route for users");
  return caller;
}

/** The project that the credential implies (§0.3), if any. */
export function impliedProject(principal: Principal): string | undefined {
  const scope = scopeOfPrincipal(principal);
  return "projectId" in scope ? scope.projectId : undefined;
}

/**
 * Identifies the caller: distinct for each user in each workspace. Idempotency records and other things kept for a
 * caller are stored under it.
 */
export function callerKey(caller: Caller): string {
  return caller.kind === "user" ? `${caller.id} ${caller.workspaceId}` : caller.id;
}

/** The caller in the form of records: `queuedBy`, `createdBy`, event `actor`. */
export function actorOf(principal: Principal): Actor {
  return { kind: principal.kind, id: principal.id, email: principal.kind === "user" ? principal.email : null };
}
