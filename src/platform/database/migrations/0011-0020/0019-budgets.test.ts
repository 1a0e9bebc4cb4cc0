import { type Kysely, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { schemaBefore } from "../../../testing/old-schema.ts";

const NAME = "0019-budgets";

describe("what was stored before tenants had budgets", () => {
  let db: Kysely<unknown>;

  beforeAll(async () => {
    const { migrate, ...old } = await schemaBefore(NAME);
    db = old.db;
    await sql`insert into workspaces (id, name, created_at) values ('ws', 'acme', now())`.execute(db);
    await sql`
      insert into projects (id, workspace_id, name, enabled_capabilities, created_at)
      values ('prj', 'ws', 'shop', '{}', now())`.execute(db);
    await sql`
      insert into deployment_groups (id, workspace_id, project_id, name, max_deployments, created_at)
      values ('dg', 'ws', 'prj', 'customer', 10, now())`.execute(db);
    await sql`
      insert into deployments (id, workspace_id, project_id, deployment_group_id, name, platform, purpose,
        deployment_model, status, release_channel, stack_settings, created_at, updated_at)
      values ('dep', 'ws', 'prj', 'dg', 'shop', 'kubernetes', 'application', 'pull', 'running', 'production', '{}',
        now(), now())`.execute(db);
    await sql`
      insert into api_keys (id, workspace_id, key_id, key_prefix, secret_hash, type, role, deployment_id, description,
        created_by_user, created_at)
      values
        ('of a group token', 'ws', '1', '', '', 'deployment', 'deployment.manager', 'dep', null, null, now()),
        ('of a user', 'ws', '2', '', '', 'deployment', 'deployment.manager', 'dep', null, '{}', now()),
        ('named', 'ws', '3', '', '', 'deployment', 'deployment.manager', 'dep', 'for the pipeline', null, now()),
        ('of the vendor', 'ws', '4', '', '', 'workspace', 'workspace.admin', null, null, null, now())`.execute(db);
    await sql`
      insert into resource_heartbeats (deployment_id, resource_type, resource_id, observed_at, body)
      values ('dep', 'queue', 'mail', now(), '{"name": "mail"}')`.execute(db);
    await migrate();
  }, 120_000);
  afterAll(() => db.destroy());

  it("counts for the customer whose token minted it; a report counts once it is reported again", async () => {
    const { rows } = await sql<{ id: string }>`select id, minted_for from api_keys order by key_id`.execute(db);
    expect(rows).toEqual([
      { id: "of a group token", minted_for: "dg" },
      { id: "of a user", minted_for: null },
      { id: "named", minted_for: null },
      { id: "of the vendor", minted_for: null },
    ]);
    const { rows: reports } = await sql`select bytes from resource_heartbeats`.execute(db);
    expect(reports).toEqual([{ bytes: 0 }]);
  });
});
