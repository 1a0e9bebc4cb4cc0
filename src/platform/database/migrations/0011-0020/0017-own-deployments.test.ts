import { type Kysely, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { schemaBefore } from "../../../testing/old-schema.ts";

const NAME = "0017-own-deployments";
const WORKSPACE = `ws_${"w".repeat(24)}`;

describe("managers that there were before their deployments had rows", () => {
  let db: Kysely<unknown>;
  const manager = (status: string, bootstrapped: boolean) => {
    const of = (prefix: string) => `${prefix}_${status.padEnd(28, "x")}`;
    return sql`
      insert into managers (id, workspace_id, name, cloud, region, targets, setup_status, setup_method, setup_changed_at,
        network, internal_project_id, internal_group_id, internal_deployment_id, created_at)
      values (${of("mgr")}, ${WORKSPACE}, ${status}, 'aws', ${status}, '{aws}', ${status}, 'terraform', now(), 'default',
        ${of("prj")}, ${of("dg")}, ${bootstrapped ? of("dep") : null}, now())`.execute(db);
  };

  beforeAll(async () => {
    const { migrate, ...old } = await schemaBefore(NAME);
    db = old.db;
    await sql`insert into workspaces (id, name, created_at) values (${WORKSPACE}, 'acme', now())`.execute(db);
    for (const status of ["provisioning", "active", "deleting", "deleted"]) await manager(status, true);
    // One that was set up anew after it had failed, and the server's own kind without a setup.
    await manager("pending", true);
    await sql`
      insert into managers (id, workspace_id, name, targets, setup_status, setup_changed_at, created_at)
      values ('mgr_made', ${WORKSPACE}, 'made', '{aws}', 'active', now(), now())`.execute(db);
    await migrate();
  }, 120_000);
  afterAll(() => db.destroy());

  it("have them, as far along as the manager is", async () => {
    const { rows } = await sql<{ manager: string; status: string }>`
      select m.name as manager, d.status
      from managers m join deployments d on d.id = m.internal_deployment_id and d.manager_id = m.id
        join deployment_groups g on g.id = m.internal_group_id and g.id = d.deployment_group_id
        join projects p on p.id = m.internal_project_id and p.id = d.project_id
        join workspaces w on w.id = d.workspace_id and w.deleted_at > '9000-01-01'
      where d.platform = 'aws' and d.stack_settings = '{"network": {"type": "use-default"}}'
      order by m.name`.execute(db);
    expect(rows).toEqual([
      { manager: "active", status: "running" },
      { manager: "deleted", status: "deleted" },
      { manager: "deleting", status: "delete-pending" },
      { manager: "provisioning", status: "pending" },
    ]);
    const { rows: pending } = await sql<{ id: string | null }>`
      select internal_deployment_id as id from managers m join projects p on p.id = m.internal_project_id
      where m.name = 'pending'`.execute(db);
    expect(pending).toEqual([{ id: null }]);
  });

  it("take them along, whatever ends them", async () => {
    await sql`delete from workspaces where id = ${WORKSPACE}`.execute(db);
    const { rows } = await sql`select id from projects union all select id from deployments`.execute(db);
    expect(rows).toEqual([]);
  });
});
