import { createHash, randomBytes } from "node:crypto";
import pg from "pg";
import type { Agent } from "./agent-swarm.ts";

/**
 * Makes many rows at once as copies of one that the API made, so that they look like the API's own.
 *
 * @param template the id of that row.
 * @param changed columns to SQL over `n`, the number of the copy from 1 on.
 */
export async function copyRow(
  client: pg.Client,
  table: string,
  template: string,
  count: number,
  changed: Readonly<Record<string, string>>,
): Promise<void> {
  const pairs = Object.entries(changed).map(([column, expression]) => `'${column}', ${expression}`);
  await client.query(
    `insert into ${table}
     select r.* from ${table} t, generate_series(1, $2::int) n,
       lateral jsonb_populate_record(t, jsonb_build_object(${pairs.join(", ")})) r
     where t.id = $1`,
    [template, count],
  );
}

/** An id of that prefix for the n-th copy. */
export function idOf(prefix: string): string {
  return `'${prefix}_' || lpad(n::text, 28, '0')`;
}

export async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Managers that have sent a heartbeat, each with its own runtime key and one deployment like `deploymentId`. */
export async function manyManagers(
  url: string,
  workspaceId: string,
  deploymentId: string,
  count: number,
): Promise<readonly Agent[]> {
  const number = (n: number): string => n.toString().padStart(28, "0");
  const agents = Array.from({ length: count }, (_, n) => {
    const keyId = randomBytes(6).toString("hex");
    return { managerId: `mgr_${number(n + 1)}`, keyId, key: `sp_m_${keyId}_${randomBytes(20).toString("hex")}` };
  });
  await connected(url, async (client) => {
    await client.query(
      `insert into managers (id, workspace_id, name, targets, setup_status, setup_changed_at, url, status, last_heartbeat_at, shared, created_at)
       select id, $2, id, '{kubernetes}', 'active', now(), 'https://manager.example.com', 'healthy', now(), true, now()
       from unnest($1::text[]) id`,
      [agents.map(({ managerId }) => managerId), workspaceId],
    );
    await client.query(
      `insert into api_keys (id, workspace_id, key_id, key_prefix, secret_hash, type, role, manager_id, created_at)
       select 'apikey_' || substr(manager, 5), $1, key_id, 'sp_m_', hash, 'manager', 'manager.runtime', manager, now()
       from unnest($2::text[], $3::text[], $4::text[]) as k (manager, key_id, hash)`,
      [
        workspaceId,
        agents.map(({ managerId }) => managerId),
        agents.map(({ keyId }) => keyId),
        agents.map(({ key }) => createHash("sha256").update(key).digest("hex")),
      ],
    );
    await copyRow(client, "deployments", deploymentId, count, {
      id: idOf("dep"),
      name: "'d' || n",
      manager_id: idOf("mgr"),
    });
    await client.query("analyze");
  });
  return agents;
}
