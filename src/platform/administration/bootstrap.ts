import { sql } from "kysely";
import type { Clock } from "../../base/clock.ts";
import type { PLATFORMS } from "../../contract/wire/schema.ts";
import { insertKey, type NewKey } from "../areas/api-keys/mint.ts";
import { type Served, servedAs } from "../areas/managers/served.ts";
import type { Db } from "../database/db.ts";
import { newId } from "../kernel/ids.ts";
import { addMember } from "./user-administration.ts";

type Platform = (typeof PLATFORMS)[number];

/**
 * Creates what must exist before the API can be called: the first workspace, its first key, system managers. For the
 * server's own commands, `npm start` and tests; everything else goes through the API.
 */
export interface Bootstrap {
  workspace(name: string): Promise<{ readonly id: string; readonly name: string }>;
  /** `key` is the secret, which is not stored: this is the only place that shows it. */
  key(key: NewKey): Promise<{ readonly id: string; readonly key: string }>;
  /**
   * A private manager that needs no setup, with its runtime key. It serves one deployment group, or with `shared` all
   * groups of its workspace, or with neither no customer.
   */
  manager(manager: {
    readonly workspaceId: string;
    readonly name: string;
    readonly targets?: readonly Platform[];
    readonly deploymentGroupId?: string | undefined;
    readonly shared?: boolean | undefined;
  }): Promise<{ readonly id: string; readonly keyId: string; readonly key: string }>;
  /**
   * Creates the first workspace and its admin's key on a database without a workspace; else undefined. Only one of
   * several replicas creates it.
   * @param firstAdmin address of a user who becomes its admin too. The user need not have signed in yet.
   */
  first(
    name: string,
    firstAdmin?: string,
  ): Promise<{ readonly workspaceId: string; readonly keyId: string; readonly key: string } | undefined>;
  /** A manager that every workspace may use. */
  systemManager(manager: {
    readonly name: string;
    readonly targets?: readonly Platform[];
  }): Promise<{ readonly id: string; readonly keyId: string; readonly key: string }>;
}

/** Id of the advisory lock; no other lock of this database has it. */
const FIRST_LOCK = 7_400_001;
const SYSTEM_WORKSPACE = "sallyport-system";
const DEFAULT_TARGETS: readonly Platform[] = ["kubernetes", "machines"];

export function createBootstrap(db: Db, clock: Clock): Bootstrap {
  const workspace = async (name: string, is_system = false): Promise<{ id: string; name: string }> => {
    const id = newId("ws");
    await db.insertInto("workspaces").values({ id, name, is_system, created_at: clock.wallNow() }).execute();
    return { id, name };
  };
  const systemWorkspace = async (): Promise<string> => {
    const found = await db.selectFrom("workspaces").select("id").where("is_system", "=", true).executeTakeFirst();
    return found?.id ?? (await workspace(SYSTEM_WORKSPACE, true)).id;
  };
  const first: Bootstrap["first"] = (name, firstAdmin) =>
    db.transaction().execute(async (transaction) => {
      // Replicas that start on an empty database at once wait here until the first one has committed.
      await sql`select pg_advisory_xact_lock(${FIRST_LOCK})`.execute(transaction);
      const some = await transaction
        .selectFrom("workspaces")
        .select("id")
        .where("is_system", "=", false)
        .executeTakeFirst();
      if (some !== undefined) return undefined;
      const inside = createBootstrap(transaction, clock);
      const { id: workspaceId } = await inside.workspace(name);
      if (firstAdmin !== undefined) {
        const order = { workspaceId, email: firstAdmin, role: "workspace.admin" };
        await addMember(transaction, order, clock.wallNow());
      }
      const scope = { type: "workspace" } as const;
      const minted = await inside.key({ workspaceId, role: "workspace.admin", scope, description: "first admin" });
      return { workspaceId, keyId: minted.id, key: minted.key };
    });
  return {
    first,
    workspace: (name) => workspace(name),
    async key(key) {
      const minted = await insertKey(db, key, clock.wallNow());
      return { id: minted.row.id, key: minted.secret };
    },
    manager: ({ workspaceId, name, targets = DEFAULT_TARGETS, ...served }) =>
      makeManager(db, clock.wallNow(), { workspaceId, name, targets }, servedAs(served)),
    systemManager: async ({ name, targets = DEFAULT_TARGETS }) =>
      makeManager(db, clock.wallNow(), { workspaceId: await systemWorkspace(), name, targets }, "system"),
  };
}

async function makeManager(
  db: Db,
  now: Date,
  order: { readonly workspaceId: string; readonly name: string; readonly targets: readonly Platform[] },
  kind: Served | "system",
): Promise<{ id: string; keyId: string; key: string }> {
  const { workspaceId, name, targets } = order;
  const id = newId("mgr");
  const isSystem = kind === "system";
  await db
    .insertInto("managers")
    .values({
      id,
      workspace_id: workspaceId,
      name,
      is_system: isSystem,
      targets: [...targets],
      setup_status: isSystem ? null : "provisioning",
      setup_changed_at: now,
      management_configs: "{}",
      ...(kind !== "system" && kind),
      created_at: now,
    })
    .execute();
  const scope = { type: "manager", managerId: id } as const;
  const description = `runtime key of ${name}`.slice(0, 128);
  const minted = await insertKey(db, { workspaceId, role: "manager.runtime", scope, description }, now);
  return { id, keyId: minted.row.id, key: minted.secret };
}
