import type { PluginOperation } from "../../../contract/operations/builtin-plugins.ts";
import type { PolicyRule, Tier } from "../../../contract/operations/operations.ts";

/** Where a registered plugin's archive lies: under a name of its own, which no other registration has or gets. */
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

/** A built-in plugin that a project has switched; without a row it is as in a new project. */
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
  /** The bundle's own, verbatim: what builds the operator image reads it. */
  metadata: unknown;
  /** Null for a plugin from before archives were kept. */
  bundle: StoredBundle | null;
  enabled: boolean;
  registered_at: Date;
}
