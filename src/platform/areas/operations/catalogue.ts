import {
  BUILTIN_PLUGINS,
  DEFAULT_ENABLED_BUILTINS,
  type JsonSchema,
  LINES_ONLY_PLUGINS,
  type PluginDefinition,
  type PluginOperation,
} from "../../../contract/operations/builtin-plugins.ts";
import type { Plugin, Tier } from "../../../contract/operations/operations.ts";
import { TIERS } from "../../../contract/operations/operations.ts";
import type { Db } from "../../database/db.ts";
import { PlatformError } from "../../kernel/errors.ts";
import { builtinSwitches, customPlugins } from "./store.ts";

/** A plugin with its setting in one project. */
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
      LINES_ONLY_PLUGINS.includes(plugin.name) ||
      (switched.get(plugin.name) ?? DEFAULT_ENABLED_BUILTINS.includes(plugin.name)),
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

/** Undefined when the project has no such operation. Operations of disabled plugins are found. */
export function findOperation(catalogue: Catalogue, plugin: string, operation: string): CatalogueOperation | undefined {
  const found = catalogue.find(({ name }) => name === plugin);
  const within = found?.operations.find(({ name }) => name === operation);
  return found && within && { plugin: found, operation: within };
}

export function isBuiltin(name: string): boolean {
  return BUILTIN_PLUGINS.some((plugin) => plugin.name === name);
}

/** `debug` and `machines` are always enabled, so they cannot be switched. */
export function isSwitchableBuiltin(name: string): boolean {
  return isBuiltin(name) && !LINES_ONLY_PLUGINS.includes(name);
}

/** The tier of a plan: the highest of its lines. */
export function highestTier(tiers: readonly Tier[]): Tier {
  return TIERS.findLast((tier) => tiers.includes(tier)) ?? "destructive";
}

/**
 * Limit for the schemas in one list: a project may have 64 MiB of them, and serialising one large answer blocks the
 * process.
 */
const MAX_SHOWN_SCHEMAS = 1024 * 1024;

/** The plugins for answers. Beyond the limit, operations are listed without their schemas. */
export function toPlugins(catalogue: Catalogue): Plugin[] {
  let left = MAX_SHOWN_SCHEMAS;
  const shownSchema = (schema: JsonSchema | undefined) => {
    if (schema === undefined || left <= 0) return undefined;
    left -= JSON.stringify(schema).length;
    return left >= 0 ? { paramsSchema: schema } : undefined;
  };
  return catalogue.map(({ name, version, tier, builtin, enabled, operations }) => {
    const shown = operations.map(({ name, tier, scope, description, paramsSchema }) => ({
      ...{ name, tier, description },
      ...(scope && { scope }),
      ...shownSchema(paramsSchema),
    }));
    return { name, version, tier, builtin, enabled, operations: shown };
  });
}

export function unknownOperation(names: readonly string[]): PlatformError {
  const unique = [...new Set(names)];
  const shown = unique.slice(0, 8).join(", ");
  return new PlatformError("UNKNOWN_OPERATION", {
    message: `the project has no operation ${shown}${unique.length > 8 ? ", …" : ""}`,
    context: { names: unique },
  });
}

/**
 * Patterns in a policy's rules that match no operation and no plugin of the project: misspelt, or not registered yet.
 */
export function unknownPatterns(catalogue: Catalogue, patterns: readonly string[]): readonly string[] {
  const known = new Set(["*", ...catalogue.flatMap(patternsOf)]);
  return patterns.filter((pattern) => !known.has(pattern));
}

function patternsOf({ name, operations }: CataloguePlugin): readonly string[] {
  return [`${name}/*`, ...operations.map((operation) => `${name}/${operation.name}`)];
}
