import type { Selectable } from "kysely";
import type { BodyOf } from "../../../contract/wire/route.ts";
import {
  ACQUISITION_SOURCES,
  PROFILE_SETUP_VERSION,
  type UserProfile,
  type userRoutes,
} from "../../../contract/workspaces/user.ts";
import type { Db } from "../../database/db.ts";
import type { UserRow } from "../../database/tables/identity.ts";
import type { Call } from "../../kernel/call/call.ts";
import { invalid } from "../../kernel/errors.ts";

type Context = Pick<Call, "db" | "now">;

export async function getProfile(db: Db, userId: string): Promise<UserProfile> {
  return toProfile(await db.selectFrom("users").selectAll().where("id", "=", userId).executeTakeFirstOrThrow());
}

export async function patchProfile(db: Db, userId: string, name: string | undefined): Promise<UserProfile> {
  if (name !== undefined) await db.updateTable("users").set({ name }).where("id", "=", userId).execute();
  return getProfile(db, userId);
}

/**
 * Stores the latest answers and keeps the time of the first.
 * @throws VALIDATION_ERROR for `other` without an explanation.
 */
export async function setupProfile(
  { db, now }: Context,
  userId: string,
  answers: BodyOf<(typeof userRoutes)["setupProfile"]>,
): Promise<UserProfile> {
  const { name, company, acquisitionSource, acquisitionSourceDetail, useCases } = answers;
  if (acquisitionSource === "other" && acquisitionSourceDetail === undefined) {
    throw invalid({ path: "body.acquisitionSourceDetail", message: "is required when acquisitionSource is other" });
  }
  const row = await db
    .updateTable("users")
    .set((eb) => ({
      name,
      company,
      acquisition_source: acquisitionSource,
      acquisition_source_detail: acquisitionSourceDetail ?? null,
      use_cases: useCases ?? null,
      profile_setup_completed_at: eb.fn.coalesce("profile_setup_completed_at", eb.val(now)),
      profile_setup_version: PROFILE_SETUP_VERSION,
    }))
    .where("id", "=", userId)
    .returningAll()
    .executeTakeFirstOrThrow();
  return toProfile(row);
}

function toProfile(row: Selectable<UserRow>): UserProfile {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    image: row.image,
    gitHostUsername: row.git_host_username,
    cliConnected: row.cli_connected,
    company: row.company,
    acquisitionSource: ACQUISITION_SOURCES.find((source) => source === row.acquisition_source) ?? null,
    acquisitionSourceDetail: row.acquisition_source_detail,
    useCases: row.use_cases,
    profileSetupCompletedAt: row.profile_setup_completed_at?.toISOString() ?? null,
    profileSetupVersion: row.profile_setup_version,
  };
}
