import { sql } from "kysely";
import type { PolicyRule } from "../../../contract/operations/operations.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { BuiltinPluginRow, CustomPluginRow } from "../../database/tables/operations.ts";

// The functions here take a project that the caller has found in its tenancy (`projectOf`).

export function builtinSwitches(db: Db, projectId: string): Promise<BuiltinPluginRow[]> {
  return db.selectFrom("builtin_plugins").selectAll().where("project_id", "=", projectId).execute();
}

export function customPlugins(db: Db, projectId: string): Promise<CustomPluginRow[]> {
  return db.selectFrom("custom_plugins").selectAll().where("project_id", "=", projectId).orderBy("name").execute();
}

/** What the operator's image of the project holds. */
export function enabledCustomPlugins(db: Db, projectId: string): Promise<CustomPluginRow[]> {
  return db
    .selectFrom("custom_plugins")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("enabled", "=", true)
    .orderBy(sql`name collate "C"`)
    .execute();
}

export async function switchBuiltins(db: Db, rows: readonly BuiltinPluginRow[]): Promise<void> {
  await db
    .insertInto("builtin_plugins")
    .values([...rows])
    .onConflict((oc) =>
      oc.columns(["project_id", "name"]).doUpdateSet((eb) => ({ enabled: eb.ref("excluded.enabled") })),
    )
    .execute();
}

/** False when the project has no such custom plugin. */
export async function switchCustom(db: Db, { project_id, name, enabled }: BuiltinPluginRow): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("custom_plugins")
    .set({ enabled })
    .where("project_id", "=", project_id)
    .where("name", "=", name)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Replaces the plugin of that name and keeps whether it is enabled; a new plugin is enabled. */
export async function putCustom(db: Db, plugin: Omit<CustomPluginRow, "enabled">): Promise<{ enabled: boolean }> {
  const columns = {
    ...plugin,
    operations: json(plugin.operations),
    metadata: json(plugin.metadata),
    bundle: json(plugin.bundle),
  };
  const { project_id: _, name: __, ...replaced } = columns;
  return db
    .insertInto("custom_plugins")
    .values({ ...columns, enabled: true })
    .onConflict((oc) => oc.columns(["project_id", "name"]).doUpdateSet(replaced))
    .returning("enabled")
    .executeTakeFirstOrThrow();
}

export async function policyRules(db: Db, projectId: string): Promise<PolicyRule[]> {
  const found = await db
    .selectFrom("operation_policies")
    .select("rules")
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return found?.rules ?? [];
}

export async function putPolicyRules(db: Db, projectId: string, rules: PolicyRule[], now: Date): Promise<void> {
  const columns = { rules: json(rules), updated_at: now };
  await db
    .insertInto("operation_policies")
    .values({ project_id: projectId, ...columns })
    .onConflict((oc) => oc.column("project_id").doUpdateSet(columns))
    .execute();
}
