import type { PluginMetadata } from "./metadata.ts";
import type { PluginRule } from "./rules.ts";
import type { Tier } from "./words.ts";

/** One operation in the chart's values: the customer's word on whether it may run, how it is judged, and its rights. */
interface OperationValues {
  readonly enabled: boolean;
  readonly tier: Tier;
  readonly rules: readonly PluginRule[];
}

/** `plugins` of the chart's values: by the plugin's name, then by the operation's. */
export type PluginsValues = Readonly<
  Record<string, { readonly version: string; readonly operations: Readonly<Record<string, OperationValues>> }>
>;

/** Memory in MiB of a plugin's process, code of Node.js included (about 50). */
export const MEMORY_OF_PLUGIN = 160;
/** Memory in MiB that the chart asks for where a plugin is on: for the operator, and for the one process of a plugin that runs beside it. */
export const MEMORY_WITH_PLUGINS = 256 + MEMORY_OF_PLUGIN;

/** The operator's own values where a plugin is on, without which the chart refuses it. */
export const OPERATOR_WITH_PLUGINS = { resources: { limits: { memory: `${MEMORY_WITH_PLUGINS}Mi` } } } as const;

/** The values that let the operations of the plugins run as they ask for it. The customer strikes out what must not. */
export function pluginsValues(plugins: readonly PluginMetadata[]): PluginsValues {
  return Object.fromEntries(
    plugins.map(({ name, version, operations }) => [
      name,
      {
        version,
        operations: Object.fromEntries(
          operations.map(({ name: operation, tier, rules }) => [operation, { enabled: true, tier, rules }]),
        ),
      },
    ]),
  );
}
