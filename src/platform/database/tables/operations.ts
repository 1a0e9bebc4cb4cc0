import type { PluginOperation } from "../../../contract/operations/builtin-plugins.ts";
import type { PolicyRule, Tier } from "../../../contract/operations/operations.ts";

/** Where the archive of a registered plugin is stored. The key is unique to one registration and never used again. */
export interface StoredBundle {
  readonly key: string;
  readonly sha256: string;
  readonly size: number;
}

export interface OperationTables {
  builtin_plugins: BuiltinPluginRow;
  custom_plugins: CustomPluginRow;
  operation_policies: { project_id: string; rules: PolicyRule[]; updated_at: Date };
}

/** A project's setting for a built-in plugin; without a row the default of new projects applies. */
export interface BuiltinPluginRow {
  project_id: string;
  name: string;
  enabled: boolean;
}

export interface CustomPluginRow {
  project_id: string;
  name: string;
  version: string;
  tier: Tier;
  /** With effective tiers. */
  operations: PluginOperation[];
  /** The bundle's own metadata, unchanged; the build of the operator image reads it. */
  metadata: unknown;
  /** Null for a plugin that was registered before archives were stored. */
  bundle: StoredBundle | null;
  enabled: boolean;
  registered_at: Date;
}
