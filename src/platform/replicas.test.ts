import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Logger } from "../base/log.ts";
import { type RunningPlatform, startPlatform } from "./server.ts";
import { call } from "./testing/harness.ts";
import { findPostgres, type TestPostgres } from "./testing/postgres.ts";

const postgres = findPostgres();

describe.skipIf(postgres === undefined)("two replicas on one PostgreSQL", () => {
  let server: TestPostgres | undefined;
  let replicas: readonly RunningPlatform[] = [];

  beforeAll(async () => {
    server = await postgres?.();
    const options = { database: { postgres: server?.url ?? "" }, sealingKey: new Uint8Array(32), rateLimits: false };
    replicas = await Promise.all([startPlatform(options), startPlatform(options)]);
  }, 120_000);
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await server?.stop();
  });

  it("migrate once between them, and one wakes a poll that the other holds", async () => {
    const [one, two] = replicas;
    if (one === undefined || two === undefined) throw new Error("no replicas");
    const { id: workspaceId } = await one.bootstrap.workspace("replicas");
    const { key } = await one.bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } });
    const manager = await two.bootstrap.manager({ workspaceId, name: "m", shared: true });
    const body = { status: "healthy", url: "https://manager.example.com", managementConfigs: {} };
    await call(one.url, "POST", `/v1/managers/${manager.id}/heartbeat`, { key: manager.key, body });
    await call(two.url, "POST", "/v1/projects", { key, body: { name: "shop" } });
    const group = await call(one.url, "POST", "/v1/deployment-groups", { key, body: { name: "eu", project: "shop" } });

    const path = `/v1/managers/${manager.id}/work`;
    const { cursor } = (await call(two.url, "GET", path, { key: manager.key })).body;
    const held = call(two.url, "GET", path, { key: manager.key, query: { cursor, wait: 30 } });
    const deployment = { name: "one", platform: "kubernetes", project: "shop", deploymentGroupId: group.body.id };
    const created = await call(one.url, "POST", "/v1/deployments", {
      key,
      body: { ...deployment, managerId: manager.id },
    });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    // One that ends by itself, after its 30 s, names nothing.
    expect((await held).body.topics).toEqual([{ topic: "deployments", deploymentId: created.body.deployment.id }]);
  });

  it("an Idempotency-Key is one on both", async () => {
    const [one] = replicas;
    const { id: workspaceId } = (await one?.bootstrap.workspace("idempotent")) ?? { id: "" };
    const key = (await one?.bootstrap.key({ workspaceId, role: "workspace.admin", scope: { type: "workspace" } }))?.key;
    const post = (replica: RunningPlatform) =>
      call(replica.url, "POST", "/v1/projects", {
        ...(key !== undefined && { key }),
        body: { name: "shop" },
        headers: { "idempotency-key": "k" },
      });
    const answers = await Promise.all([...replicas, ...replicas, ...replicas].map(post));
    for (const { status, body } of answers) expect([201, 409], JSON.stringify(body)).toContain(status);
    const created = answers.filter(({ status }) => status === 201).map(({ body }) => body.id);
    expect(new Set(created).size).toBe(1);
    for (const { body } of answers) expect(body.code).not.toBe("NAME_TAKEN");
  });

  it("survive that every connection is cut, and say so", async () => {
    const lost: unknown[] = [];
    const ignore = (): void => undefined;
    const warn = (_: object, text: string): void => void lost.push(text);
    const log: Logger = { debug: ignore, info: ignore, error: ignore, warn, child: () => log };
    const options = { database: { postgres: server?.url ?? "" }, sealingKey: new Uint8Array(32), log };
    const [one] = replicas;
    if (one === undefined) throw new Error("no replicas");
    const platform = await startPlatform(options);
    const { id: workspaceId } = await platform.bootstrap.workspace("cut");
    const { key } = await platform.bootstrap.key({
      workspaceId,
      role: "workspace.admin",
      scope: { type: "workspace" },
    });
    const others = "where pid <> pg_backend_pid() and datname = current_database()";
    await sql.raw(`select pg_terminate_backend(pid) from pg_stat_activity ${others}`).execute(one.db);
    await expect
      .poll(async () => (await call(platform.url, "GET", "/v1/whoami", { key })).status, { timeout: 60_000 })
      .toBe(200);
    expect(lost).toContain("database connection lost");
    await platform.close();
  });
});
