import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { LOGICAL_ID, STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type { DeployedResource } from "../../../contract/resources/resources.ts";
import type { Db } from "../../database/db.ts";

type Words = Pick<DeployedResource, "health" | "lifecycle" | "backend" | "controllerPlatform" | "source">;

/** One resource of one deployment, from heartbeats or the inventory. */
export interface Report extends Words {
  readonly deployment_id: string;
  readonly deployment_name: string;
  readonly group_id: string;
  readonly group_name: string;
  readonly resource_type: string;
  readonly resource_id: string;
  /** By which the reporter knows it: unique in its deployment and type. */
  readonly object_id: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly message: string | null;
  readonly partial: boolean;
  readonly provider_stale: boolean;
  readonly platform_stale: boolean;
  readonly attention: boolean;
  readonly desired: number | null;
  readonly current: number | null;
  readonly ready: number | null;
  readonly observed_at: Date;
  /** When it was last read; null while that is fresh. */
  readonly stale_since: Date | null;
  /** Of all rows that the list is made of: the oldest report that is not stale yet. */
  readonly next_stale: Date | null;
  readonly raw_kind: string | null;
  readonly managed_resource_id: string | null;
}

/** One resource across deployments (§11.2). */
export interface Aggregate extends Omit<Words, "source"> {
  readonly resource_type: string;
  readonly resource_id: string;
  readonly name: string;
  readonly message: string | null;
  readonly partial: boolean;
  readonly provider_stale: boolean;
  readonly platform_stale: boolean;
  readonly desired: number | null;
  readonly current: number | null;
  readonly ready: number | null;
  readonly deployment_count: number;
  readonly attention_count: number;
  /** Of the report that was not read for the longest time. */
  readonly stale_since: Date | null;
  readonly observed_at: Date;
  readonly next_stale: Date | null;
}

/** One resource in one deployment, which several objects may be. */
export type Merged = Omit<
  Report,
  "source" | "object_id" | "name" | "namespace" | "next_stale" | "raw_kind" | "managed_resource_id"
>;

export interface Reach {
  /** Condition over `d`, `deployments`: the caller's tenancy and filters. */
  readonly within: Expression<SqlBool>;
  readonly resourceType?: string | undefined;
  /** The id over all deployments, or an object's. */
  readonly resourceId?: string | undefined;
  /** The id or the name as a list shows it, also as `namespace/name`. */
  readonly name?: string | undefined;
  readonly now: Date;
}

/** Text of one row of a list: reports of other backends have names of any length. The detail has all of a report. */
const MAX_NAME = 253;
const MAX_MESSAGE = 512;

function cut(text: RawBuilder<unknown>, length: number): RawBuilder<string | null> {
  return sql`case when length(${text}) > ${sql.lit(length)}
    then left(${text}, ${sql.lit(length - 1)}) || '…' else ${text} end`;
}

/** The type of observed rows without a type hint. */
const UNTYPED = "unknown";

/**
 * All reports in scope as one relation. An inventory row is hidden when a heartbeat describes the same resource,
 * because the runtime knows it best. Raw documents are not read: they may have 160 kB each.
 */
function reports({ within, resourceType, resourceId, name, now }: Reach): RawBuilder<Report> {
  const freshSince = new Date(now.getTime() - STALE_AFTER_MS);
  const ofType = resourceType === undefined ? sql`true` : sql`r.resource_type = ${resourceType}`;
  const ofId = resourceId === undefined ? sql`true` : sql`${resourceId} in (r.resource_id, r.object_id)`;
  const named =
    name === undefined ? sql`true` : sql`${name} in (r.resource_id, r.object_id, r.name, r.namespace || '/' || r.name)`;
  return sql`
    select r.*, r.observed_at < ${freshSince} as platform_stale,
      (r.health in ('degraded', 'unhealthy') or r.lifecycle = 'failed' or r.provider_stale
        or r.observed_at < ${freshSince}) as attention,
      case when r.provider_stale or r.observed_at < ${freshSince} then r.observed_at end as stale_since
    from (
      select d.id as deployment_id, d.name as deployment_name, g.id as group_id, g.name as group_name,
        'managed' as source, h.resource_type,
        ${logicalId(sql`h.body #>> '{data,data,logicalId}'`, sql`h.resource_id`)} as resource_id,
        h.resource_id as object_id,
        ${cut(sql`coalesce(h.body #>> '{data,data,name}', h.resource_id)`, MAX_NAME)} as name,
        ${cut(sql`h.body #>> '{data,data,namespace}'`, MAX_NAME)} as namespace,
        h.body ->> 'backend' as backend, h.body ->> 'controllerPlatform' as "controllerPlatform",
        h.body #>> '{data,data,status,health}' as health, h.body #>> '{data,data,status,lifecycle}' as lifecycle,
        ${cut(sql`h.body #>> '{data,data,status,message}'`, MAX_MESSAGE)} as message,
        (h.body #>> '{data,data,status,partial}')::boolean as partial,
        (h.body #>> '{data,data,status,stale}')::boolean as provider_stale,
        ${managedCount("desired")} as desired, ${managedCount("current")} as current,
        ${managedCount("ready")} as ready, h.observed_at,
        null::text as raw_kind, null::text as managed_resource_id
      from live_heartbeats h
      join deployments d on d.id = h.deployment_id
      join deployment_groups g on g.id = d.deployment_group_id
      where d.status <> 'deleted' and ${within}
      union all
      select d.id, d.name, g.id, g.name, 'observed', coalesce(i.body ->> 'resourceTypeHint', ${UNTYPED}),
        ${logicalId(sql`i.body #>> '{attributes,logicalId}'`, sql`i.raw_identity`)}, i.raw_identity,
        ${cut(sql`i.body ->> 'displayName'`, MAX_NAME)},
        ${cut(sql`i.body ->> 'namespace'`, MAX_NAME)}, i.backend, i.controller_platform, i.body ->> 'health',
        i.body ->> 'lifecycle', ${cut(sql`i.body ->> 'message'`, MAX_MESSAGE)}, (i.body ->> 'partial')::boolean,
        (i.body ->> 'providerStale')::boolean, ${countAt(sql`i.body`, "counts,desired")},
        ${countAt(sql`i.body`, "counts,current")}, ${countAt(sql`i.body`, "counts,ready")}, i.observed_at,
        i.body ->> 'providerKind', i.body ->> 'managedResourceId'
      from live_inventory i
      join deployments d on d.id = i.deployment_id
      join deployment_groups g on g.id = d.deployment_group_id
      where d.status <> 'deleted' and ${within}
        and not exists (
          select from live_heartbeats h
          where h.deployment_id = i.deployment_id and h.resource_id = i.body ->> 'managedResourceId'
        )
    ) r
    where ${ofType} and ${ofId} and ${named}`;
}

/** What the reporter says it is over all deployments, where that is an id; else its own id of the object. */
function logicalId(said: RawBuilder<unknown>, otherwise: RawBuilder<unknown>): RawBuilder<string> {
  return sql`case when ${said} ~ ${sql.lit(LOGICAL_ID)} then ${said} else ${otherwise} end`;
}

/** Counts from `replicas`, else `nodeCounts`, else `podCounts`. */
function managedCount(which: string): RawBuilder<number | null> {
  const at = (group: string) => countAt(sql`h.body`, `data,data,${group},${which}`);
  return sql`coalesce(${at("replicas")}, ${at("nodeCounts")}, ${at("podCounts")})`;
}

/**
 * The count at a path of a report, null when there is none. Reports of other backends hold any value there, and rows of
 * before the contract had a maximum any number: a cast that fails would end the whole list with a 500.
 */
function countAt(body: RawBuilder<unknown>, path: string): RawBuilder<number | null> {
  const at = sql.lit(`{${path}}`);
  const text = sql`${body} #>> ${at}`;
  return sql`case when jsonb_typeof(${body} #> ${at}) = 'number' and ${text} ~ '^[0-9]{1,15}$'
    then (${text})::bigint end`;
}

/** A sum of counts, at most what JSON readers hold exactly; null when none is known, which `least` alone would leave out. */
function summed(column: string): RawBuilder<number | null> {
  const sum = sql`sum(${sql.ref(column)})`;
  return sql`case when ${sum} is not null then least(${sum}, ${sql.lit(Number.MAX_SAFE_INTEGER)})::bigint end`;
}

/**
 * Rows of each deployment that come first in a list. They are taken in turns, one of each deployment, so that in a cut
 * list neither many nor long rows of one deployment hide the others: those of before and beyond this share alike.
 */
const SHARE = 100;

const NEXT_STALE = sql`min(observed_at) filter (where not platform_stale)`;

function numbered(reach: Reach): RawBuilder<Report> {
  return sql`
    select a.*, row_number() over (
      partition by deployment_id order by attention desc, resource_type, name, resource_id) as nth
    from (${reports(reach)}) a`;
}

/** In the order in which a list is filled: what needs attention first, and of each deployment one after the other. */
export async function listReports(db: Db, reach: Reach, limit: number): Promise<readonly Report[]> {
  const { rows } = await sql<Report>`
    select a.*, ${NEXT_STALE} over () as next_stale from (${numbered(reach)}) a
    order by nth > ${SHARE}, attention desc, nth, resource_type, name, deployment_id, resource_id limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** How many rows each deployment has, those with most first. */
export async function countReports(
  db: Db,
  reach: Reach,
): Promise<readonly { deployment_id: string; deployment_name: string; count: number }[]> {
  const { rows } = await sql<{ deployment_id: string; deployment_name: string; count: number }>`
    select deployment_id, deployment_name, count(*)::integer as count from (${reports(reach)}) a
    group by deployment_id, deployment_name order by count desc, deployment_id`.execute(db);
  return rows;
}

/** How much a report's word counts: that of a stale one not at all. */
const RANK = sql`case when platform_stale then 0 else
  case health when 'unhealthy' then 4 when 'degraded' then 3 when 'unknown' then 2 else 1 end end`;

/** What several reports say together, beside the words of the worst. */
const TOGETHER = sql`bool_or(partial) as partial, bool_or(provider_stale) as provider_stale,
  bool_or(platform_stale) as platform_stale, bool_or(attention) as attention,
  ${summed("desired")} as desired, ${summed("current")} as current, ${summed("ready")} as ready,
  max(observed_at) as observed_at, min(stale_since) as stale_since`;

/** One resource, a row for each deployment: what is of one id there is judged as in `listAggregates`. */
export async function listByDeployment(db: Db, reach: Reach, limit: number): Promise<readonly Merged[]> {
  const { rows } = await sql<Merged>`
    with ranked as (select a.*, ${RANK} as rank from (${reports(reach)}) a
    ), worst as (
      select distinct on (deployment_id) * from ranked
      order by deployment_id, rank desc, observed_at desc, object_id
    ), sums as (
      select deployment_id, ${TOGETHER} from ranked group by deployment_id
    )
    select s.*, w.deployment_name, w.group_id, w.group_name, w.resource_type, w.resource_id, w.backend,
      w."controllerPlatform", w.lifecycle, w.message, case when w.rank = 0 then 'unknown' else w.health end as health
    from sums s join worst w using (deployment_id)
    order by w.deployment_name, deployment_id limit ${limit}`.execute(db);
  return rows;
}

/** One object with the id, else of the objects of the resource the one that is worst off. */
export async function findReport(db: Db, reach: Reach & { readonly resourceId: string }): Promise<Report | undefined> {
  const { rows } = await sql<Report>`
    select a.*, null as next_stale from (${reports(reach)}) a
    order by object_id = ${reach.resourceId} desc, ${RANK} desc, observed_at desc, object_id, source limit 1`.execute(
    db,
  );
  return rows[0];
}

/**
 * One row for each resource id. The worst fresh report decides, the latest of equal ones. When every report is stale,
 * the health is unknown.
 */
export async function listAggregates(db: Db, reach: Reach, limit: number): Promise<readonly Aggregate[]> {
  const { rows } = await sql<Aggregate>`
    with ranked as (select a.*, ${RANK} as rank from (${numbered(reach)}) a
    ), worst as (
      select distinct on (resource_type, resource_id) * from ranked
      order by resource_type, resource_id, rank desc, observed_at desc, deployment_id
    ), sums as (
      select resource_type, resource_id, count(distinct deployment_id) as deployment_count,
        count(distinct deployment_id) filter (where attention) as attention_count,
        ${TOGETHER}, min(nth) as turn
      from ranked group by resource_type, resource_id
    )
    select s.*, (select ${NEXT_STALE} from ranked) as next_stale, w.name, w.backend, w."controllerPlatform", w.lifecycle, w.message,
      case when w.rank = 0 then 'unknown' else w.health end as health
    from sums s join worst w using (resource_type, resource_id)
    order by s.turn > ${SHARE}, s.attention_count desc, s.turn, s.resource_type, w.name, s.resource_id limit ${limit}`.execute(
    db,
  );
  return rows;
}
