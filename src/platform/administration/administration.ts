import type { Selectable } from "kysely";
import { type Clock, systemClock } from "../../base/clock.ts";
import { ROLES, type Role, scopeOf } from "../../contract/wire/roles.ts";
import { isWorkspaceName } from "../../contract/wire/schema.ts";
import type { Db } from "../database/db.ts";
import { type DatabaseLocation, openDatabase } from "../database/open.ts";
import type { ApiKeyRow } from "../database/tables/api-keys.ts";
import type { Scope } from "../kernel/tenancy/principal.ts";
import { createBootstrap } from "./bootstrap.ts";
import { createManager, type ManagerOrder, type ServedOrder, serveManager } from "./manager-administration.ts";
import { RefusedError } from "./refused-error.ts";
import { addMember, listMembers, type MemberLine } from "./user-administration.ts";

export interface KeyOrder {
  readonly workspace: string;
  readonly role: string;
  /** Ids, or for the project its name. The object of the role's scope is required; the others are refused. */
  readonly project?: string | undefined;
  readonly deployment?: string | undefined;
  readonly deploymentGroup?: string | undefined;
  readonly manager?: string | undefined;
  readonly description?: string | undefined;
  readonly expiresAt?: Date | undefined;
}

export interface KeyLine {
  readonly id: string;
  readonly workspace: string;
  readonly role: Role;
  readonly object: string | null;
  readonly description: string | null;
  readonly state: "live" | "disabled" | "expired" | "revoked";
  readonly createdAt: string;
}

/**
 * What an administrator may do directly on the platform's database, without a key: the rights on the machine protect
 * it. It refuses what the API would refuse too, such as a role without its object.
 */
export interface Administration {
  createWorkspace(name: string): Promise<{ readonly id: string; readonly name: string }>;
  workspaces(): Promise<readonly { readonly id: string; readonly name: string; readonly createdAt: string }[]>;
  createKey(order: KeyOrder): Promise<{ readonly id: string; readonly key: string }>;
  keys(workspace: string | undefined): Promise<readonly KeyLine[]>;
  /** False when it was revoked already. */
  revokeKey(id: string): Promise<boolean>;
  /** @returns the user's id. */
  addMember(order: { readonly workspace: string; readonly email: string; readonly role: string }): Promise<string>;
  members(workspace: string): Promise<readonly MemberLine[]>;
  /** Without a workspace: a manager that every workspace may use. */
  createManager(
    order: ManagerOrder & { readonly workspace?: string | undefined },
  ): Promise<{ readonly id: string; readonly keyId: string; readonly key: string }>;
  /** Replaces the setting which groups a private manager serves. */
  serveManager(id: string, served: ServedOrder): Promise<void>;
}

/**
 * Opens and migrates the database while `work` runs.
 * @throws RefusedError; FolderInUseError while a platform runs on that folder.
 */
export async function administer<T>(
  location: DatabaseLocation,
  work: (administration: Administration) => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const { db, close } = await openDatabase(location);
  try {
    return await work(administration(db, clock));
  } finally {
    await close();
  }
}

function administration(db: Db, clock: Clock): Administration {
  const bootstrap = createBootstrap(db, clock);
  return {
    async createWorkspace(name) {
      if (!isWorkspaceName(name)) {
        throw new RefusedError(`${name} cannot be a workspace: 4 to 100 of a-z, 0-9 and single dashes, such as acme`);
      }
      const taken = await db
        .selectFrom("workspaces")
        .select("id")
        .where("name", "=", name)
        .where("deleted_at", "is", null)
        .executeTakeFirst();
      if (taken !== undefined) throw new RefusedError(`there is a workspace ${name} already`);
      return bootstrap.workspace(name);
    },
    async workspaces() {
      const rows = await db
        .selectFrom("workspaces")
        .selectAll()
        .where("is_system", "=", false)
        .where("deleted_at", "is", null)
        .orderBy("name")
        .execute();
      return rows.map(({ id, name, created_at }) => ({ id, name, createdAt: created_at.toISOString() }));
    },
    async createKey(order) {
      const role = ROLES.find((known) => known === order.role);
      if (role === undefined) throw new RefusedError(`${order.role} is no role; there are ${ROLES.join(", ")}`);
      const workspaceId = await requireWorkspace(db, order.workspace);
      const scope = await scopeFor(db, workspaceId, role, order);
      const { description = null, expiresAt = null } = order;
      if (expiresAt !== null && expiresAt <= clock.wallNow()) throw new RefusedError("the expiry lies in the past");
      return bootstrap.key({ workspaceId, role, scope, description, expiresAt });
    },
    async keys(workspace) {
      const rows = await db
        .selectFrom("api_keys as k")
        .innerJoin("workspaces as w", "w.id", "k.workspace_id")
        .selectAll("k")
        .select("w.name as workspace")
        .$if(workspace !== undefined, (query) => query.where("w.name", "=", workspace ?? ""))
        .orderBy("k.created_at", "desc")
        .orderBy("k.id", "desc")
        .execute();
      return rows.map((row) => keyLine(row, row.workspace, clock.wallNow()));
    },
    async revokeKey(id) {
      const key = await db.selectFrom("api_keys").select("revoked_at").where("id", "=", id).executeTakeFirst();
      if (key === undefined) throw new RefusedError(`there is no key ${id}`);
      if (key.revoked_at !== null) return false;
      await db.updateTable("api_keys").set({ revoked_at: clock.wallNow() }).where("id", "=", id).execute();
      return true;
    },
    async addMember({ workspace, email, role }) {
      const workspaceId = await requireWorkspace(db, workspace);
      return addMember(db, { workspaceId, email, role }, clock.wallNow());
    },
    async members(workspace) {
      return listMembers(db, await requireWorkspace(db, workspace));
    },
    async createManager({ workspace, ...order }) {
      const workspaceId = workspace === undefined ? undefined : await requireWorkspace(db, workspace);
      return createManager(db, bootstrap, workspaceId, order);
    },
    serveManager: (id, served) => serveManager(db, clock, id, served),
  };
}

async function requireWorkspace(db: Db, name: string): Promise<string> {
  const found = await db
    .selectFrom("workspaces")
    .select("id")
    .where("name", "=", name)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (found !== undefined) return found.id;
  throw new RefusedError(`there is no workspace ${name}; sallyport platform workspaces create ${name} makes it`);
}

/** The scope of the role, with its object found in the workspace. */
async function scopeFor(db: Db, workspaceId: string, role: Role, order: KeyOrder): Promise<Scope> {
  const type = scopeOf(role);
  const given = { project: order.project, deployment: order.deployment, "deployment-group": order.deploymentGroup };
  for (const [name, value] of Object.entries({ ...given, manager: order.manager })) {
    if (name === type && value === undefined) throw new RefusedError(`a ${role} key needs --${name}`);
    if (name !== type && value !== undefined) throw new RefusedError(`a ${role} key takes no --${name}`);
  }
  switch (type) {
    case "workspace":
      return { type };
    case "project": {
      const ref = order.project ?? "";
      const row = await db
        .selectFrom("projects")
        .select("id")
        .where("workspace_id", "=", workspaceId)
        .where(ref.startsWith("prj_") ? "id" : "name", "=", ref)
        .executeTakeFirst();
      return { type, projectId: there(row, type, ref).id };
    }
    case "deployment": {
      const deploymentId = order.deployment ?? "";
      const row = await db
        .selectFrom("deployments")
        .select("project_id")
        .where("workspace_id", "=", workspaceId)
        .where("id", "=", deploymentId)
        .executeTakeFirst();
      return { type, deploymentId, projectId: there(row, type, deploymentId).project_id };
    }
    case "deployment-group": {
      const deploymentGroupId = order.deploymentGroup ?? "";
      const row = await db
        .selectFrom("deployment_groups")
        .select("project_id")
        .where("workspace_id", "=", workspaceId)
        .where("id", "=", deploymentGroupId)
        .executeTakeFirst();
      return { type, deploymentGroupId, projectId: there(row, type, deploymentGroupId).project_id };
    }
    case "manager": {
      const managerId = order.manager ?? "";
      const row = await db
        .selectFrom("managers")
        .select("id")
        .where("workspace_id", "=", workspaceId)
        .where("id", "=", managerId)
        .executeTakeFirst();
      return { type, managerId: there(row, type, managerId).id };
    }
  }
}

function there<T>(row: T | undefined, what: string, name: string): T {
  if (row === undefined) throw new RefusedError(`there is no ${what} ${name} in that workspace`);
  return row;
}

function keyLine(row: Selectable<ApiKeyRow>, workspace: string, now: Date): KeyLine {
  const object = row.manager_id ?? row.deployment_id ?? row.deployment_group_id ?? row.project_id;
  const { id, role, description } = row;
  return {
    id,
    workspace,
    role,
    object,
    description,
    state: stateOf(row, now),
    createdAt: row.created_at.toISOString(),
  };
}

function stateOf(row: Selectable<ApiKeyRow>, now: Date): KeyLine["state"] {
  if (row.revoked_at !== null) return "revoked";
  if (!row.enabled) return "disabled";
  return row.expires_at !== null && row.expires_at <= now ? "expired" : "live";
}
