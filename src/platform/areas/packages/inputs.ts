import type { SetupFingerprints } from "../../../contract/deployments/stack.ts";
import type { PackageConfig } from "../../../contract/packages/package-types.ts";
import { json } from "../../database/json.ts";
import type { CustomPluginRow } from "../../database/tables/operations.ts";
import type { PackageRow } from "../../database/tables/packages.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import { enabledCustomPlugins } from "../operations/store.ts";
import { sha256OfJson } from "../releases/record/fingerprint.ts";

type Context = Pick<Call, "db"> & { readonly config: Pick<CallConfig, "baseImage"> };

/** Everything that the result of a build depends on (§7). */
export interface Inputs {
  readonly config: PackageConfig;
  readonly sourceReleaseId: string | null;
  readonly setupFingerprints: SetupFingerprints;
  /** Of the operator's image only. */
  readonly image?: {
    /** Digest of the image to which the platform adds plugins. */
    readonly base: string | null;
    /** SHA-256 of each plugin's metadata: it may differ from that of the bundle, which `config` names. */
    readonly pluginMetadata: readonly string[];
  };
}

export function inputHash({ config, sourceReleaseId, setupFingerprints, image }: Inputs): string {
  return sha256OfJson({ type: config.type, config, sourceReleaseId, setupFingerprints, ...image });
}

/** With the custom plugins that are enabled now, when it is the operator's image. */
export async function inputsOf(
  { db, config: settings }: Context,
  projectId: string,
  config: PackageConfig,
  release: Pick<ReleaseRow, "id" | "setup_fingerprints"> | undefined,
): Promise<Inputs> {
  const inputs = {
    config,
    sourceReleaseId: release?.id ?? null,
    setupFingerprints: release?.setup_fingerprints ?? {},
  };
  if (config.type !== "operator-image") return inputs;
  return { ...inputs, ...bakedOf(config, await enabledCustomPlugins(db, projectId), settings.baseImage) };
}

function bakedOf(
  config: Extract<PackageConfig, { type: "operator-image" }>,
  rows: readonly CustomPluginRow[],
  base: string | undefined,
): Pick<Inputs, "config" | "image"> {
  const plugins = rows.map(({ name, version, bundle }) => ({ name, version, sha256: bundle?.sha256 ?? null }));
  const pluginMetadata = rows.map(({ metadata }) => sha256OfJson(metadata));
  return { config: { ...config, plugins }, image: { base: base ?? null, pluginMetadata } };
}

/**
 * The plugins to bake, as they are when the build begins. The package then names these: the base image may have changed
 * since it was queued, and plugins of a project that had the package type switched off.
 */
export async function pluginsToBake(
  { db, config: settings }: Context,
  row: PackageRow,
): Promise<readonly CustomPluginRow[]> {
  const { config } = row;
  if (config.type !== "operator-image") throw new Error(`package ${row.id} is no operator's image`);
  const plugins = await enabledCustomPlugins(db, row.project_id);
  const { source_release_id: sourceReleaseId, setup_fingerprints: setupFingerprints } = row;
  const inputs = { sourceReleaseId, setupFingerprints, ...bakedOf(config, plugins, settings.baseImage) };
  const build_input_hash = inputHash(inputs);
  if (build_input_hash !== row.build_input_hash) {
    const set = { build_input_hash, config: json(inputs.config) };
    await db.updateTable("packages").set(set).where("id", "=", row.id).execute();
  }
  return plugins;
}
