import { type Expression, type SqlBool, sql } from "kysely";
import { isRecord } from "../../../base/is-record.ts";
import type { PackageType } from "../../../contract/packages/package-types.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Db } from "../../database/db.ts";
import { json } from "../../database/json.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import type { Principal } from "../../kernel/tenancy/principal.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";

/** How long a builder outside counts as one that makes a type after it last asked for packages of it. */
const BUILDER_COUNTS_MS = 24 * 3_600_000;
/** An ask is written again only when the last one is older: builders ask every few seconds. */
const WRITTEN_AGAIN_MS = 3_600_000;

export const NO_BUILDER_CODE = "PACKAGE_NO_BUILDER";

/** What a package says whose type nobody builds. A builder that asks for the type later takes it all the same. */
export function noBuilder(type: PackageType) {
  const outside = "no builder outside has asked for them within a day";
  return kept<StoredError>({
    code: NO_BUILDER_CODE,
    message: `This platform makes no such ${type} package, and ${outside}.`,
    hint: `Run a builder that leases ${type} packages, and it takes this one; or switch the type off in the project's packagesConfig.`,
    internal: false,
    retryable: true,
  });
}

/** Over `k`: failed for want of a builder, and the newest of its project and type. */
export const WAITS_FOR_BUILDER: Expression<SqlBool> = sql<SqlBool>`(
  k.status = 'failed' and k.error ->> 'code' = ${sql.lit(NO_BUILDER_CODE)} and not exists (
    select from packages newer
    where newer.project_id = k.project_id and newer.type = k.type and newer.number > k.number
  )
)`;

/** Whether a builder of this process makes the package; the builders select by the same rule. */
function isMadeHere(type: PackageType, release: ReleaseRow | undefined, config: CallConfig): boolean {
  if (type === "operator-image") return config.baseImage !== undefined;
  const chart: unknown = release?.stack.kubernetes?.chart;
  return type === "helm" && config.objects !== undefined && isRecord(chart);
}

/** Whether a new package has somebody who makes it. */
export async function hasBuilder(
  { db, now, config }: Pick<Call, "db" | "now" | "config">,
  { workspace_id }: Pick<PackageRow, "workspace_id">,
  { type, release }: { readonly type: PackageType; readonly release: ReleaseRow | undefined },
): Promise<boolean> {
  if (isMadeHere(type, release, config)) return true;
  const asked = await db
    .selectFrom("package_builders")
    .select("type")
    .where("type", "=", type)
    .where((eb) => eb.or([eb("workspace_id", "=", workspace_id), eb("workspace_id", "is", null)]))
    .where("asked_at", ">", dayBefore(now))
    .executeTakeFirst();
  return asked !== undefined;
}

/** Keeps that a builder outside asks for these types: an admin's for its workspace, a system manager's for all. */
export async function noteBuilder(
  { db, now, principal }: { readonly db: Db; readonly now: Date; readonly principal: Principal },
  types: readonly PackageType[],
): Promise<void> {
  const workspace_id = reachOf(principal);
  if (workspace_id === undefined) return;
  const recent = await db
    .selectFrom("package_builders")
    .select("type")
    .where("workspace_id", "is not distinct from", workspace_id)
    .where("asked_at", ">", new Date(now.getTime() - WRITTEN_AGAIN_MS))
    .execute();
  const written = new Set(recent.map(({ type }) => type));
  const values = types.filter((type) => !written.has(type)).map((type) => ({ workspace_id, type, asked_at: now }));
  if (values.length === 0) return;
  await db
    .insertInto("package_builders")
    .values(values)
    .onConflict((at) =>
      at
        .expression(sql`coalesce(workspace_id, ''), type`)
        .doUpdateSet({ asked_at: (eb) => eb.ref("excluded.asked_at") }),
    )
    .execute();
}

/** Null: every workspace. Undefined: none. */
function reachOf(principal: Principal): string | null | undefined {
  if (principal.role === "workspace.admin") return principal.workspaceId;
  return principal.kind === "serviceAccount" && principal.system ? null : undefined;
}

/** Fails what has waited for a day while no builder outside asked for its type. One in this process takes it still. */
export async function failUnwanted(db: Db, now: Date): Promise<void> {
  const rows = await db
    .selectFrom("packages as k")
    .select(["k.id", "k.type"])
    .where("k.status", "=", "pending")
    .where("k.updated_at", "<=", dayBefore(now))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("package_builders as b")
            .select("b.type")
            .whereRef("b.type", "=", "k.type")
            .where((eb) =>
              eb.or([eb("b.workspace_id", "=", eb.ref("k.workspace_id")), eb("b.workspace_id", "is", null)]),
            )
            .where("b.asked_at", ">", dayBefore(now)),
        ),
      ),
    )
    .execute();
  for (const { id, type } of rows) {
    const set = { status: "failed" as const, error: json(noBuilder(type)), updated_at: now, completed_at: now };
    await db.updateTable("packages").set(set).where("id", "=", id).where("status", "=", "pending").execute();
  }
}

function dayBefore(now: Date): Date {
  return new Date(now.getTime() - BUILDER_COUNTS_MS);
}
