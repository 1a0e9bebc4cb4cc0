import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Static } from "typebox";
import { BUILD_LEASE_MS, type packageBuilderRoutes } from "../../../contract/packages/package-builder.ts";
import { PACKAGE_TYPES, type PackageOutputs } from "../../../contract/packages/package-types.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { Kept } from "../../database/tables/kept.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid, notFound, PlatformError } from "../../kernel/errors.ts";
import { failedWith } from "../../kernel/events/outbox.ts";
import type { Sweep } from "../../kernel/sweeps/sweep.ts";
import { judged, kept } from "../../kernel/tenancy/stored-error.ts";
import { failUnwanted, noteBuilder, WAITS_FOR_BUILDER } from "./no-builder.ts";
import { outputsFor } from "./outputs.ts";
import { endProgress, tellFinished, tellProgress } from "./progress.ts";
import { holds } from "./state.ts";
import { ABANDONED, abandoned, buildable, updatePackage } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "principal">;
type Body<K extends keyof typeof packageBuilderRoutes> = Static<(typeof packageBuilderRoutes)[K]["body"]>;

/** Error of the step at which a builder fell silent. The package itself continues with the next builder. */
const SILENT = kept({ ...judged(ABANDONED), message: "The builder fell silent.", retryable: true });

interface Order {
  readonly among?: Expression<SqlBool>;
  readonly inTurns?: boolean;
}

/**
 * Leases packages to a builder: pending ones first, and with them what failed only because no builder asked for its type,
 * oldest first; then those whose builder fell silent. Two callers never get the same package.
 * @param among over `k`, `packages`: the packages that a builder of this process can build at all.
 * @param inTurns takes first the packages of the workspace that has had the fewest builds of late, so that one with
 * hundreds of packages lets the others through.
 */
export async function lease(
  call: Context,
  { builderId, types = [...PACKAGE_TYPES], limit = 1 }: Body<"lease">,
  { among, inTurns = false }: Order = {},
) {
  refusePeople(call);
  await abandonLapsed(call.db, call.now);
  if (types.length === 0) return [];
  if (among === undefined) await noteBuilder(call, types);
  const free = await call.db
    .selectFrom("packages as k")
    .selectAll("k")
    .where(buildable(call.principal))
    .where(among ?? sql<SqlBool>`true`)
    .where("k.type", "in", types)
    .where((eb) =>
      eb.or([
        eb("k.status", "=", "pending"),
        WAITS_FOR_BUILDER,
        eb.and([eb("k.status", "=", "building"), eb("k.lease_expires_at", "<=", call.now)]),
      ]),
    )
    .$if(inTurns, (all) => all.orderBy(takenOfLate(call.now)))
    .orderBy((eb) => eb("k.status", "=", "building"))
    .orderBy("k.created_at")
    .orderBy("k.id")
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
  const taken: PackageRow[] = [];
  for (const row of free) taken.push(await take(call, row, builderId));
  return taken;
}

/** How many packages of the workspace and type were taken within an hour. */
function takenOfLate(now: Date): RawBuilder<number> {
  return sql<number>`(
    select count(*) from packages o
    where o.workspace_id = k.workspace_id and o.type = k.type and o.locked_at > ${hourBefore(now)}
  )`;
}

/** Over `k`: its project has had fewer builds of its type than `limit` within an hour. */
export function builtLess(limit: number, now: Date): Expression<SqlBool> {
  return sql<SqlBool>`(
    select count(*) from packages o
    where o.workspace_id = k.workspace_id and o.type = k.type and o.locked_at > ${hourBefore(now)}
      and o.project_id = k.project_id
  ) < ${limit}`;
}

function hourBefore(now: Date): Date {
  return new Date(now.getTime() - 3_600_000);
}

async function take(call: Context, row: PackageRow, builderId: string): Promise<PackageRow> {
  const again = row.status === "building";
  if (again) await endProgress(call, row, failedWith(SILENT));
  const fresh = { ...row, event_id: null };
  const event_id = await tellProgress(call, fresh, { type: "LoadingConfiguration" });
  return updatePackage(call.db, row.id, {
    status: "building",
    retries: again ? row.retries + 1 : row.retries,
    locked_by: builderId,
    locked_at: call.now,
    lease_expires_at: leaseEnd(call.now),
    build_phase: null,
    last_progress_at: null,
    error: null,
    completed_at: null,
    event_id,
    updated_at: call.now,
  });
}

/** @throws LEASE_LOST when another builder has the package, or its build has ended. */
export async function progress(call: Context, id: string, body: Body<"progress">): Promise<PackageRow> {
  const row = await find(call, id);
  if (!holds(row, body.builderId, call.now)) throw new PlatformError("LEASE_LOST");
  const event_id = body.event === undefined ? row.event_id : await tellProgress(call, row, body.event);
  return updatePackage(call.db, id, {
    lease_expires_at: leaseEnd(call.now),
    build_phase: body.buildPhase,
    last_progress_at: call.now,
    event_id,
    updated_at: call.now,
  });
}

/** Ends a build. The same builder may repeat the same result. */
export async function complete(call: Context, id: string, body: Body<"complete">): Promise<PackageRow> {
  const row = await find(call, id);
  const result = resultOf(row, body);
  if (!holds(row, body.builderId, call.now)) {
    if (row.status === body.status && row.locked_by === body.builderId) return row;
    throw new PlatformError("LEASE_LOST");
  }
  if (result.error === null) await tellFinished(call, row);
  else await endProgress(call, row, failedWith(result.error));
  return updatePackage(call.db, id, {
    ...ended(call.now),
    status: body.status,
    outputs: result.outputs === null ? null : json(result.outputs),
    error: result.error === null ? null : json(result.error),
    source_binary_sha256: body.sourceBinarySha256?.toLowerCase() ?? null,
  });
}

type Result =
  | { readonly outputs: PackageOutputs; readonly error: null }
  | { readonly outputs: null; readonly error: Kept<StoredError> };

/** Checks what the schema cannot: ready needs outputs of the package's type, failed needs an error. */
function resultOf(row: PackageRow, { status, outputs, error }: Body<"complete">): Result {
  if (status === "ready") {
    if (outputs === undefined) throw invalid({ path: "body.outputs", message: "is required when status is ready" });
    return { outputs: outputsFor(row.type, outputs), error: null };
  }
  if (error === undefined) throw invalid({ path: "body.error", message: "is required when status is failed" });
  return { outputs: null, error: kept(error) };
}

/** The columns of an ended build. Its last builder stays recorded. */
export function ended(now: Date) {
  return { lease_expires_at: null, build_phase: null, event_id: null, updated_at: now, completed_at: now };
}

async function find({ db, principal }: Context, id: string): Promise<PackageRow> {
  refusePeople({ principal });
  const row = await db
    .selectFrom("packages as k")
    .selectAll("k")
    .where(buildable(principal))
    .where("k.id", "=", id)
    .executeTakeFirst();
  if (row === undefined) throw notFound("package");
  return row;
}

/** Builders are programs: an admin may build only with a key (§20). */
function refusePeople({ principal }: Pick<Call, "principal">): void {
  if (principal.kind === "user") throw new PlatformError("FORBIDDEN", { message: "builders sign in by an API key" });
}

function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + BUILD_LEASE_MS);
}

/** Stores the failure that readers already see, and ends the last builder's step. */
async function abandonLapsed(db: Db, now: Date): Promise<void> {
  const lost = await db.selectFrom("packages as k").selectAll("k").where(abandoned(now)).execute();
  for (const row of lost) {
    await endProgress({ db, now }, row, failedWith(ABANDONED));
    await updatePackage(db, row.id, {
      ...ended(now),
      status: "failed",
      error: json(ABANDONED),
      completed_at: row.lease_expires_at ?? now,
    });
  }
}

export const sweepPackages: Sweep = (db, now) =>
  db.transaction().execute(async (trx) => {
    await abandonLapsed(trx, now);
    await failUnwanted(trx, now);
  });
