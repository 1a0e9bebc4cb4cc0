import type { PackageConfig } from "../../../contract/packages/package-types.ts";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import { json } from "../../database/json.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { newId } from "../../kernel/ids.ts";
import { sha256OfJson } from "../releases/record/fingerprint.ts";
import { findChannel } from "../releases/record/store.ts";
import { enabledConfigs } from "./config.ts";
import { abandoned } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "wake">;
/** The name under which the builder of this process sleeps. */
export const BUILDER = "builder";

type Owner = Pick<PackageRow, "workspace_id" | "project_id">;

/** Cancels pending packages and queues one of each enabled type. @returns the number of new ones. */
export async function rebuild(call: Context, owner: Owner): Promise<number> {
  await call.db
    .updateTable("packages")
    .set({ status: "canceled", updated_at: call.now, completed_at: call.now })
    .where("project_id", "=", owner.project_id)
    .where("status", "=", "pending")
    .execute();
  const release = (await findChannel(call.db, owner.project_id, PRODUCTION))?.release;
  const wanted = (await configsOf(call, owner)).filter((config) => isBuildable(config, release));
  for (const config of wanted) await insert(call, owner, config, release);
  return wanted.length;
}

/** Queues packages of a release that reached production, unless the same ones are pending, building or ready. */
export async function packageProduction(
  call: Context,
  { channel, release }: { readonly channel: ReleaseChannelRow; readonly release: ReleaseRow },
): Promise<void> {
  if (channel.name !== PRODUCTION) return;
  for (const config of await configsOf(call, channel)) {
    const newest = await newestLive(call, channel.project_id, config.type);
    if (newest?.build_input_hash !== inputHash(config, release)) await insert(call, channel, config, release);
  }
}

async function configsOf({ db }: Context, { project_id }: Owner): Promise<readonly PackageConfig[]> {
  const project = await db
    .selectFrom("projects")
    .select("packages_config")
    .where("id", "=", project_id)
    .executeTakeFirstOrThrow();
  return enabledConfigs(project.packages_config);
}

/** The operator image needs no release: a cluster may be observed before a release is installed in it. */
function isBuildable({ type }: PackageConfig, release: ReleaseRow | undefined): boolean {
  return release !== undefined || type === "operator-image";
}

/** Hash of everything that the result of a build depends on (§7). */
function inputHash(config: PackageConfig, release: ReleaseRow | undefined): string {
  const sourceReleaseId = release?.id ?? null;
  return sha256OfJson({
    type: config.type,
    config,
    sourceReleaseId,
    setupFingerprints: release?.setup_fingerprints ?? {},
  });
}

function newestLive({ db, now }: Context, projectId: string, type: PackageConfig["type"]) {
  return db
    .selectFrom("packages as k")
    .select("k.build_input_hash")
    .where("k.project_id", "=", projectId)
    .where("k.type", "=", type)
    .where("k.status", "in", ["pending", "building", "ready"])
    .where((eb) => eb.not(abandoned(now)))
    .orderBy("k.number", "desc")
    .executeTakeFirst();
}

async function insert(
  { db, now, wake }: Context,
  owner: Owner,
  config: PackageConfig,
  release: ReleaseRow | undefined,
): Promise<void> {
  wake(BUILDER);
  const last = await db
    .selectFrom("packages")
    .select("number")
    .where("project_id", "=", owner.project_id)
    .where("type", "=", config.type)
    .orderBy("number", "desc")
    .executeTakeFirst();
  await db
    .insertInto("packages")
    .values({
      id: newId("pkg"),
      workspace_id: owner.workspace_id,
      project_id: owner.project_id,
      type: config.type,
      number: last === undefined ? 0 : last.number + 1,
      status: "pending",
      source_release_id: release?.id ?? null,
      setup_fingerprints: json(release?.setup_fingerprints ?? {}),
      build_input_hash: inputHash(config, release),
      config: json(config),
      retries: 0,
      created_at: now,
      updated_at: now,
    })
    .execute();
}
