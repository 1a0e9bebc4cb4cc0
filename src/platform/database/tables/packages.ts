import type { SetupFingerprints } from "../../../contract/deployments/stack.ts";
import type { PackageConfig, PackageOutputs, PackageType } from "../../../contract/packages/package-types.ts";
import type { BUILD_PHASES, PackageStatus } from "../../../contract/packages/packages.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Kept } from "./kept.ts";

export interface PackageTables {
  packages: PackageRow;
  package_builders: PackageBuilderRow;
}

/** A builder outside of the platform has asked for packages of the type. */
interface PackageBuilderRow {
  /** Null: of every workspace. */
  workspace_id: string | null;
  type: PackageType;
  /** To the hour. */
  asked_at: Date;
}

export interface PackageRow {
  id: string;
  workspace_id: string;
  project_id: string;
  type: PackageType;
  /** The last part of the version; counted for each project and type. */
  number: number;
  /** As stored. After the last lease has lapsed, every reader shows `failed` even before it is stored. */
  status: PackageStatus;
  source_release_id: string | null;
  setup_fingerprints: SetupFingerprints;
  build_input_hash: string;
  config: PackageConfig;
  outputs: PackageOutputs | null;
  error: Kept<StoredError> | null;
  source_binary_sha256: string | null;
  retries: number;
  locked_at: Date | null;
  /** Kept when the build ends, so that the builder may repeat its last report. */
  locked_by: string | null;
  lease_expires_at: Date | null;
  build_phase: (typeof BUILD_PHASES)[number] | null;
  last_progress_at: Date | null;
  /** The started event of the builder's current phase. */
  event_id: string | null;
  created_at: Date;
  updated_at: Date;
  completed_at: Date | null;
}
