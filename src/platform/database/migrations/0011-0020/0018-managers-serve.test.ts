import { type Kysely, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { schemaBefore } from "../../../testing/old-schema.ts";

const NAME = "0018-managers-serve";
const WORKSPACE = `ws_${"w".repeat(24)}`;
const HIDDEN = "ws_000000000000000000000000";

describe("managers that there were before they served anyone in particular", () => {
  let db: Kysely<unknown>;
  const manager = (name: string, system = false) =>
    sql`
    insert into managers (id, workspace_id, name, is_system, targets, setup_status, setup_changed_at, created_at)
    values (${name}, ${WORKSPACE}, ${name}, ${system}, '{kubernetes}', 'active', now(), now())`.execute(db);
  const group = (id: string, workspace = WORKSPACE) =>
    sql`
    insert into deployment_groups (id, workspace_id, project_id, name, max_deployments, created_at)
    values (${id}, ${workspace}, ${workspace === HIDDEN ? "hidden" : "shop"}, ${id}, 10, now())`.execute(db);
  const deployment = (id: string, managerId: string | null, groupId: string, status = "running") =>
    sql`
    insert into deployments (id, workspace_id, project_id, deployment_group_id, manager_id, name, platform, purpose,
      deployment_model, status, release_channel, stack_settings, lease_session, lease_expires_at, created_at, updated_at)
    select ${id}, g.workspace_id, g.project_id, g.id, ${managerId}, ${id}, 'kubernetes', 'application', 'pull', ${status},
      'production', '{}', 'session', now() + interval '1 hour', now(), now()
    from deployment_groups g where g.id = ${groupId}`.execute(db);

  beforeAll(async () => {
    const { migrate, ...old } = await schemaBefore(NAME);
    db = old.db;
    for (const [id, name] of [
      [WORKSPACE, "acme"],
      [HIDDEN, "hidden"],
    ]) {
      await sql`insert into workspaces (id, name, created_at) values (${id}, ${name}, now())`.execute(db);
    }
    for (const [id, workspace] of [
      ["shop", WORKSPACE],
      ["hidden", HIDDEN],
    ]) {
      await sql`
        insert into projects (id, workspace_id, name, enabled_capabilities, created_at)
        values (${id}, ${workspace}, ${id}, '{}', now())`.execute(db);
    }
    for (const id of ["one", "two", "gone"]) await group(id);
    await group("own", HIDDEN);
    for (const id of ["of-one", "of-both", "of-none", "of-deleted"]) await manager(id);
    await manager("system", true);
    await deployment("a", "of-one", "one");
    await deployment("b", "of-one", "one", "delete-failed");
    // Neither what is deleted nor what the manager itself runs as says whom it serves.
    await deployment("c", "of-one", "two", "deleted");
    await deployment("d", "of-one", "own");
    await deployment("e", "of-both", "one");
    await deployment("f", "of-both", "two");
    await deployment("g", "system", "one");
    await deployment("h", "system", "two");
    await deployment("i", "of-deleted", "gone", "deleted");
    await migrate();
  }, 120_000);
  afterAll(() => db.destroy());

  it("serve the one group that they were used for, or nobody", async () => {
    const { rows } = await sql`
      select id, deployment_group_id as "group", shared from managers order by id`.execute(db);
    expect(rows).toEqual([
      { id: "of-both", group: null, shared: false },
      { id: "of-deleted", group: null, shared: false },
      { id: "of-none", group: null, shared: false },
      { id: "of-one", group: "one", shared: false },
      { id: "system", group: null, shared: false },
    ]);
  });

  it("have what is clearly theirs; the rest waits for the manager that it had, and is leased by nobody", async () => {
    const { rows } = await sql<{ id: string; manager: string | null; previous: string | null; leased: boolean }>`
      select id, manager_id as manager, previous_manager_id as previous, lease_session is not null as leased
      from deployments order by id`.execute(db);
    const served = (id: string, manager: string) => ({ id, manager, previous: null, leased: true });
    const waiting = (id: string, previous: string) => ({ id, manager: null, previous, leased: false });
    expect(rows).toEqual([
      ...["a", "b", "c", "d"].map((id) => served(id, "of-one")),
      ...["e", "f"].map((id) => waiting(id, "of-both")),
      ...["g", "h"].map((id) => served(id, "system")),
      served("i", "of-deleted"),
    ]);
  });

  it("serve nobody once their group is gone, and never a group and all", async () => {
    await sql`delete from deployments where deployment_group_id = 'one'`.execute(db);
    await sql`delete from deployment_groups where id = 'one'`.execute(db);
    const { rows } = await sql`select deployment_group_id as "group" from managers where id = 'of-one'`.execute(db);
    expect(rows).toEqual([{ group: null }]);
    const both = sql`update managers set deployment_group_id = 'two', shared = true where id = 'of-one'`;
    await expect(both.execute(db)).rejects.toThrow(/managers_serve_one/);
  });
});
