import type { PackageConfig } from "../../../contract/packages/package-types.ts";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import { json } from "../../database/json.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import { failedWith } from "../../kernel/events/outbox.ts";
import { newId } from "../../kernel/ids.ts";
import { findChannel } from "../releases/record/store.ts";
import { ended } from "./build.ts";
import { enabledConfigs } from "./config.ts";
import { type Inputs, inputHash, inputsOf } from "./inputs.ts";
import { hasBuilder, noBuilder, WAITS_FOR_BUILDER } from "./no-builder.ts";
import { endProgress, SUPERSEDED } from "./progress.ts";
import { abandoned, updatePackage } from "./store.ts";
import { BUILDER, buildSleeper } from "./wake.ts";

type Context = Pick<Call, "db" | "now" | "wake" | "config">;

type Owner = Pick<PackageRow, "workspace_id" | "project_id">;

/** What a rebuild has queued, and why that is less than it could be. */
export interface Rebuilt {
  readonly packagesCreated: number;
  readonly reason?: string;
}

/** Cancels pending packages and queues one of each enabled type. */
export async function rebuild(call: Context, owner: Owner): Promise<Rebuilt> {
  await chooseDefaults(call, owner);
  await call.db
    .updateTable("packages")
    .set({ status: "canceled", updated_at: call.now, completed_at: call.now })
    .where("project_id", "=", owner.project_id)
    .where("status", "=", "pending")
    .execute();
  const release = (await findChannel(call.db, owner.project_id, PRODUCTION))?.release;
  const enabled = await configsOf(call, owner);
  const wanted = enabled.filter((config) => isBuildable(config, release));
  for (const config of wanted) {
    await insert(call, owner, await inputsOf(call, owner.project_id, config, release), release);
  }
  const reason = reasonOf(enabled, wanted);
  return { packagesCreated: wanted.length, ...(reason !== undefined && { reason }) };
}

/**
 * A project that was made with a name alone has chosen no packages, and would wait for them for ever. The first rebuild
 * switches on what a Kubernetes customer installs; a choice, also that of none, stays.
 */
async function chooseDefaults({ db }: Context, { project_id }: Owner): Promise<void> {
  const project = await db
    .selectFrom("projects")
    .select(["name", "packages_config"])
    .where("id", "=", project_id)
    .executeTakeFirstOrThrow();
  if (project.packages_config !== null) return;
  const { name } = project;
  const chosen = {
    helm: { enabled: true, chartName: name, description: "" },
    operatorImage: { enabled: true, name, displayName: name },
  };
  await db
    .updateTable("projects")
    .set({ packages_config: json(chosen) })
    .where("id", "=", project_id)
    .execute();
}

function reasonOf(enabled: readonly PackageConfig[], wanted: readonly PackageConfig[]): string | undefined {
  if (enabled.length === 0) return "the project's packagesConfig has no package switched on";
  const types = enabled.filter((each) => !wanted.includes(each)).map(({ type }) => type);
  if (types.length === 0) return undefined;
  return `not built without a release in production: ${types.join(", ")}`;
}

/** Queues packages of a release that reached production, unless the same ones are pending, building or ready. */
export async function packageProduction(
  call: Context,
  { channel, release }: { readonly channel: ReleaseChannelRow; readonly release: ReleaseRow },
): Promise<void> {
  if (channel.name !== PRODUCTION) return;
  for (const config of await configsOf(call, channel)) {
    await insertUnlessThere(call, channel, await inputsOf(call, channel.project_id, config, release), release);
  }
}

/**
 * Queues the operator's image after a change of the project's custom plugins, unless it is the same. Builds of an image
 * that is not wanted any more end, so that at most one waits.
 */
export async function rebakeImage(call: Context, projectId: string): Promise<void> {
  const owner = await call.db
    .selectFrom("projects")
    .select(["id as project_id", "workspace_id"])
    .where("id", "=", projectId)
    .executeTakeFirstOrThrow();
  const config = (await configsOf(call, owner)).find(({ type }) => type === "operator-image");
  if (config === undefined) return;
  const release = (await findChannel(call.db, projectId, PRODUCTION))?.release;
  const inputs = await inputsOf(call, projectId, config, release);
  await cancelOthers(call, projectId, inputs);
  await insertUnlessThere(call, owner, inputs, release);
}

async function cancelOthers(call: Context, projectId: string, inputs: Inputs): Promise<void> {
  const others = await call.db
    .selectFrom("packages")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("type", "=", inputs.config.type)
    .where("status", "in", ["pending", "building"])
    .where("build_input_hash", "<>", inputHash(inputs))
    .execute();
  for (const row of others) {
    await endProgress(call, row, failedWith(SUPERSEDED));
    await updatePackage(call.db, row.id, { ...ended(call.now), status: "canceled" });
    call.wake(buildSleeper(row.id));
  }
}

async function insertUnlessThere(
  call: Context,
  owner: Owner,
  inputs: Inputs,
  release: ReleaseRow | undefined,
): Promise<void> {
  const newest = await newestLive(call, owner.project_id, inputs.config.type);
  if (newest?.build_input_hash !== inputHash(inputs)) await insert(call, owner, inputs, release);
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

function newestLive({ db, now }: Context, projectId: string, type: PackageConfig["type"]) {
  return db
    .selectFrom("packages as k")
    .select("k.build_input_hash")
    .where("k.project_id", "=", projectId)
    .where("k.type", "=", type)
    .where((eb) => eb.or([eb("k.status", "in", ["pending", "building", "ready"]), WAITS_FOR_BUILDER]))
    .where((eb) => eb.not(abandoned(now)))
    .orderBy("k.number", "desc")
    .executeTakeFirst();
}

/** Queues it. Where nobody builds its type it has failed at once. */
async function insert(call: Context, owner: Owner, inputs: Inputs, release: ReleaseRow | undefined): Promise<void> {
  const { db, now, wake } = call;
  const { config } = inputs;
  const isBuilt = await hasBuilder(call, owner, { type: config.type, release });
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
      ...(isBuilt
        ? { status: "pending" }
        : { status: "failed", error: json(noBuilder(config.type)), completed_at: now }),
      source_release_id: inputs.sourceReleaseId,
      setup_fingerprints: json(inputs.setupFingerprints),
      build_input_hash: inputHash(inputs),
      config: json(config),
      retries: 0,
      created_at: now,
      updated_at: now,
    })
    .execute();
}
