import { type Kysely, sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { schemaBefore } from "../../../testing/old-schema.ts";

let db: Kysely<unknown>;

beforeAll(async () => {
  const { migrate, ...old } = await schemaBefore("0035-described-events");
  db = old.db;
  const [workspace, project] = [`ws_${"w".repeat(24)}`, `prj_${"p".repeat(28)}`];
  await sql`insert into workspaces (id, name, created_at) values (${workspace}, 'acme', now())`.execute(db);
  await sql`insert into projects (id, workspace_id, name, enabled_capabilities, created_at)
    values (${project}, ${workspace}, 'shop', '{}', now())`.execute(db);
  for (const [id, data] of Object.entries({
    a: { type: "DeploymentWaitingForManager", deploymentId: "d", platform: "aws" },
    b: { type: "DeploymentManagerChanged", deploymentId: "d", managerId: "m" },
    c: { type: "DeploymentCreated", deploymentId: "d" },
  })) {
    await sql`insert into events (id, workspace_id, project_id, type, data, state, created_at)
      values (${id}, ${workspace}, ${project}, ${data.type}, ${data}, '"none"', now())`.execute(db);
  }
  await migrate();
}, 120_000);
afterAll(() => db.destroy());

it("events of before have a described type, and keep what they say", async () => {
  const { rows } = await sql<{ type: string; data: object }>`select type, data from events order by id`.execute(db);
  const changed = { type: "DeploymentEnvironmentUpdated", changedKeys: ["managerId"], deploymentId: "d" };
  expect(rows.map(({ data }) => data)).toEqual([
    { ...changed, platform: "aws", waitsFor: "manager" },
    { ...changed, managerId: "m" },
    { type: "DeploymentCreated", deploymentId: "d" },
  ]);
  expect(rows.map(({ type }) => type)).toEqual([changed.type, changed.type, "DeploymentCreated"]);
});
