import { type SqlBool, sql } from "kysely";
import { PACKAGE_TYPES } from "../../../contract/packages/package-types.ts";
import type { Package, packageRoutes } from "../../../contract/packages/packages.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import { contains } from "../../database/contains.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { Call } from "../../kernel/call/call.ts";
import { paged, toPage } from "../../kernel/call/page.ts";
import { invalidTransition, notFound } from "../../kernel/errors.ts";
import { failedWith } from "../../kernel/events/outbox.ts";
import { optionalProject, requireProject } from "../../kernel/tenancy/project-ref.ts";
import { kept } from "../../kernel/tenancy/stored-error.ts";
import { ended } from "./build.ts";
import { type Rebuilt, rebuild } from "./enqueue.ts";
import { endProgress } from "./progress.ts";
import { CANCELABLE, statusAt } from "./state.ts";
import { packagesOf, statusIs, toPackage, updatePackage, VERSION } from "./store.ts";
import { buildSleeper } from "./wake.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "wake" | "config">;

const CANCELED = kept<StoredError>({
  code: "PACKAGE_BUILD_FAILED",
  message: "The build was canceled.",
  internal: false,
});

export async function listPackages(
  call: Call<(typeof packageRoutes)["list"]>,
): Promise<{ items: Package[]; nextCursor: string | null }> {
  const { db, principal, query, page, now } = call;
  const project = await optionalProject(db, principal, query.project);
  let found = packagesOf(db, principal);
  if (project !== undefined) found = found.where("k.project_id", "=", project.id);
  if (query.type !== undefined) found = found.where("k.type", "=", query.type);
  if (query.status !== undefined) found = found.where(statusIs(query.status, now));
  const { search } = query;
  if (search !== undefined) {
    const types = PACKAGE_TYPES.filter((type) => type.includes(search.toLowerCase()));
    found = found.where((eb) => eb.or([sql<SqlBool>`k.type = any(${types}::text[])`, contains(VERSION, search)]));
  }
  const rows = await found.$call(paged(page, "k.created_at", "k.id")).execute();
  return toPage(
    page,
    rows,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => toPackage(row, principal, now),
  );
}

/** @throws NOT_FOUND outside the caller's scope. */
export async function getPackage({ db, principal }: Pick<Call, "db" | "principal">, id: string): Promise<PackageRow> {
  const row = await packagesOf(db, principal).where("k.id", "=", id).executeTakeFirst();
  if (row === undefined) throw notFound("package");
  return row;
}

export async function rebuildProject(call: Context, ref: string): Promise<Rebuilt> {
  const project = await requireProject(call.db, call.principal, ref);
  return rebuild(call, { workspace_id: project.workspaceId, project_id: project.id });
}

/** @throws INVALID_STATE_TRANSITION when the build has ended. */
export async function cancelPackage(call: Context, id: string): Promise<PackageRow> {
  const row = await getPackage(call, id);
  const status = statusAt(row, call.now);
  if (!CANCELABLE.includes(status)) throw invalidTransition(status, "canceled", []);
  await endProgress(call, row, failedWith(CANCELED));
  call.wake(buildSleeper(id));
  return updatePackage(call.db, id, { ...ended(call.now), status: "canceled" });
}
