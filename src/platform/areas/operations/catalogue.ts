import {
  BUILTIN_PLUGINS,
  DEBUG_PLUGIN,
  DEFAULT_ENABLED_BUILTINS,
  type PluginDefinition,
  type PluginOperation,
} from "../../../contract/builtin-plugins.ts";
import type { Plugin, Tier } from "../../../contract/operations.ts";
import { TIERS } from "../../../contract/operations.ts";
import type { Db } from "../../database.ts";
import { builtinSwitches, customPlugins } from "./store.ts";

/** A plugin as one project has it. */
export interface CataloguePlugin extends PluginDefinition {
  readonly builtin: boolean;
  readonly enabled: boolean;
}

/** Built-in plugins first, then custom ones, each by name. */
export type Catalogue = readonly CataloguePlugin[];

export async function catalogueOf(db: Db, projectId: string): Promise<Catalogue> {
  const switched = new Map((await builtinSwitches(db, projectId)).map(({ name, enabled }) => [name, enabled]));
  const builtins = BUILTIN_PLUGINS.map((plugin) => ({
    ...plugin,
    builtin: true,
    enabled:
      plugin.name === DEBUG_PLUGIN || (switched.get(plugin.name) ?? DEFAULT_ENABLED_BUILTINS.includes(plugin.name)),
  }));
  const custom = (await customPlugins(db, projectId)).map(({ name, version, tier, operations, enabled }) => ({
    ...{ name, version, tier, operations, enabled },
    builtin: false,
  }));
  return [...builtins, ...custom];
}

export interface CatalogueOperation {
  readonly plugin: CataloguePlugin;
  readonly operation: PluginOperation;
}

/** Undefined when the project has no such operation; a disabled plugin's operations are found. */
export function findOperation(catalogue: Catalogue, plugin: string, operation: string): CatalogueOperation | undefined {
  const found = catalogue.find(({ name }) => name === plugin);
  const within = found?.operations.find(({ name }) => name === operation);
  return found && within && { plugin: found, operation: within };
}

export function isBuiltin(name: string): boolean {
  return BUILTIN_PLUGINS.some((plugin) => plugin.name === name);
}

/** `debug` cannot be disabled, so it cannot be switched. */
export function isSwitchableBuiltin(name: string): boolean {
  return isBuiltin(name) && name !== DEBUG_PLUGIN;
}

/** The tier of a plan: the worst of its lines. */
export function highestTier(tiers: readonly Tier[]): Tier {
  return TIERS.findLast((tier) => tiers.includes(tier)) ?? "destructive";
}

/** As the API shows it: params schemas stay inside. */
export function toPlugin({ name, version, tier, builtin, enabled, operations }: CataloguePlugin): Plugin {
  const shown = operations.map(({ name, tier, description }) => ({ name, tier, description }));
  return { name, version, tier, builtin, enabled, operations: shown };
}
