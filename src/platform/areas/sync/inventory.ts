import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ObservedInventoryBatch } from "../../../contract/resources/resource-heartbeat.ts";
import { rowHash } from "../../../contract/resources/resource-level.ts";
import { json } from "../../database/json.ts";
import type { InventoryScopeRow } from "../../database/tables/sync.ts";
import type { Call } from "../../kernel/call/call.ts";
import { bytesOf } from "../../kernel/input/document-bounds.ts";
import { capped } from "./observations.ts";

type Context = Pick<Call, "db" | "now">;
type ScopeState = Omit<InventoryScopeRow, "deployment_id">;

/** One statement's worth of rows: the embedded database runs in this process, and holds it for as long. */
const ROWS_A_STATEMENT = 1_000;

/** What the batches of one call change, each in one statement. */
interface Changes {
  /** Lists whose rows the last confirmation was of: the operator's that were complete before this call. */
  readonly confirmed: ReadonlySet<string>;
  readonly scopes: Map<string, ScopeState>;
  readonly rows: Map<string, object>;
  readonly removed: { source_kind: string; inventory_scope: string; raw_identity: string }[];
  /** Lists of which all parts have arrived: rows that were not told at that time go. */
  readonly swept: { source_kind: string; inventory_scope: string; told_at: Date }[];
}

const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts);

/**
 * §11.6: in a scope the newer list counts. A complete list removes resources that it does not name, once all its parts
 * have arrived; a delta removes those that it names.
 */
export async function storeInventory(
  call: Context,
  deploymentId: string,
  batches: readonly ObservedInventoryBatch[],
): Promise<void> {
  if (batches.length === 0) return;
  const scopes = await knownScopes(call, deploymentId, batches);
  const confirmed = [...scopes].filter(([, scope]) => scope.complete && scope.source_kind === "operator");
  const changes: Changes = {
    confirmed: new Set(confirmed.map(([key]) => key)),
    scopes,
    rows: new Map(),
    removed: [],
    swept: [],
  };
  for (const batch of batches) change(changes, batch, call.now);
  await write(call, deploymentId, changes);
}

async function knownScopes(
  { db }: Context,
  deploymentId: string,
  batches: readonly ObservedInventoryBatch[],
): Promise<Map<string, ScopeState>> {
  const named = [...new Set(batches.map(({ inventoryScope }) => inventoryScope))];
  const known = await db
    .selectFrom("inventory_scopes")
    .selectAll()
    .where("deployment_id", "=", deploymentId)
    .where("inventory_scope", "in", named)
    .execute();
  return new Map(
    known.map(({ deployment_id: _, ...scope }) => [keyOf(scope.source_kind, scope.inventory_scope), scope]),
  );
}

function change({ confirmed, scopes, rows, removed, swept }: Changes, batch: ObservedInventoryBatch, now: Date): void {
  const scope = { source_kind: batch.sourceKind, inventory_scope: batch.inventoryScope };
  const key = keyOf(batch.sourceKind, batch.inventoryScope);
  const known = scopes.get(key);
  const at = capped(batch.observedAt, now);
  if (known !== undefined && at < known.observed_at) return;
  const toldAt = new Date(batch.observedAt);
  const isDelta = batch.mode === "delta";
  const sameList = !isDelta && known?.told_at?.getTime() === toldAt.getTime();
  const parts = isDelta ? [] : [...new Set([...(sameList ? known.parts : []), batch.part?.index ?? 0])];
  const complete = batch.complete && (!sameList || known.complete);
  const { controllerPlatform: controller_platform, backend } = batch;
  scopes.set(key, { ...scope, controller_platform, backend, observed_at: at, told_at: toldAt, complete, parts });
  removed.push(...(batch.removed ?? []).map((raw_identity) => ({ ...scope, raw_identity })));
  for (const resource of batch.resources) {
    // A resource named twice: the last entry counts, because one statement must not write a row twice.
    rows.set(keyOf(batch.sourceKind, batch.inventoryScope, resource.rawIdentity), {
      ...scope,
      raw_identity: resource.rawIdentity,
      observed_at: at,
      told_at: toldAt,
      hash: String(rowHash(batch, resource)),
      bytes: bytesOf(resource),
      body: resource,
      confirmed: confirmed.has(key),
    });
  }
  if (!isDelta && complete && parts.length >= (batch.part?.count ?? 1)) swept.push({ ...scope, told_at: toldAt });
}

async function write({ db, now }: Context, deploymentId: string, changes: Changes): Promise<void> {
  await sql`
    insert into inventory_scopes
      (deployment_id, source_kind, inventory_scope, controller_platform, backend, observed_at, told_at, complete, parts)
    select ${deploymentId}, r.*
    from jsonb_to_recordset(${json([...changes.scopes.values()])}) as r (source_kind text, inventory_scope text,
      controller_platform text, backend text, observed_at timestamptz, told_at timestamptz, complete boolean,
      parts integer[])
    on conflict (deployment_id, source_kind, inventory_scope) do update set
      controller_platform = excluded.controller_platform, backend = excluded.backend,
      observed_at = excluded.observed_at, told_at = excluded.told_at, complete = excluded.complete,
      parts = excluded.parts`.execute(db);
  if (changes.removed.length > 0) {
    await sql`
      update inventory_rows i set removed_at = ${now}
      from jsonb_to_recordset(${json(changes.removed)}) as r (source_kind text, inventory_scope text, raw_identity text)
      where i.deployment_id = ${deploymentId} and i.source_kind = r.source_kind
        and i.inventory_scope = r.inventory_scope and i.raw_identity = r.raw_identity and i.removed_at is null`.execute(
      db,
    );
  }
  const rows = [...changes.rows.values()];
  for (let from = 0; from < rows.length; from += ROWS_A_STATEMENT) {
    await sql`
      insert into inventory_rows (deployment_id, source_kind, inventory_scope, raw_identity, observed_at, told_at, hash,
        bytes, body, stale_since, removed_at)
      select ${deploymentId}, r.source_kind, r.inventory_scope, r.raw_identity, r.observed_at, r.told_at, r.hash,
        r.bytes, r.body, case when r.body ->> 'providerStale' = 'true' then least(r.observed_at, coalesce(known.stale_since,
          greatest(known.observed_at, case when r.confirmed then l.confirmed_at end))) end, null::timestamptz
      from jsonb_to_recordset(${json(rows.slice(from, from + ROWS_A_STATEMENT))}) as r (source_kind text,
        inventory_scope text, raw_identity text, observed_at timestamptz, told_at timestamptz, hash bigint,
        bytes integer, body jsonb, confirmed boolean)
      left join inventory_rows known on known.deployment_id = ${deploymentId} and known.source_kind = r.source_kind
        and known.inventory_scope = r.inventory_scope and known.raw_identity = r.raw_identity and known.removed_at is null
      left join resource_levels l on l.deployment_id = ${deploymentId}
      on conflict (deployment_id, source_kind, inventory_scope, raw_identity) do update set
        observed_at = excluded.observed_at, told_at = excluded.told_at, hash = excluded.hash, bytes = excluded.bytes,
        body = excluded.body, stale_since = excluded.stale_since, removed_at = null`.execute(db);
    await setImmediate();
  }
  if (changes.swept.length === 0) return;
  await sql`
    update inventory_rows i set removed_at = ${now}
    from jsonb_to_recordset(${json(changes.swept)}) as r (source_kind text, inventory_scope text, told_at timestamptz)
    where i.deployment_id = ${deploymentId} and i.source_kind = r.source_kind
      and i.inventory_scope = r.inventory_scope and i.told_at is distinct from r.told_at and i.removed_at is null`.execute(
    db,
  );
}
