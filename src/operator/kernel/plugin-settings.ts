import { matching, type SettingsOf } from "../../base/settings.ts";
import { type EnabledOperation, readEnabledPlugins } from "../../plugins/enabled-plugins.ts";

/** What the customer lets plugins of the vendor's own do. */
export interface PluginSettings {
  readonly plugins: readonly EnabledOperation[];
  readonly pluginFolder: string;
}

export const PLUGIN_SETTINGS: SettingsOf<PluginSettings> = {
  plugins: {
    env: "SALLYPORT_PLUGINS",
    default: "{}",
    doc: "Operations of plugins that may run here, as JSON: `{search: {version, operations: {reindex: {tier, rules}}}}`. The image must have the plugin in this version; each operation needs its role. The chart makes all of it from its value `plugins`.",
    parse: enabledPlugins,
  },
  pluginFolder: {
    env: "SALLYPORT_PLUGIN_FOLDER",
    default: "/opt/sallyport/plugins",
    doc: "Folder of the image with a folder for each plugin, which holds `metadata.json` and `plugin.mjs`.",
    parse: matching(/^\/[A-Za-z0-9._/-]{1,255}$/, "the path of a folder"),
  },
};

function enabledPlugins(text: string): readonly EnabledOperation[] {
  const words = "plugins as JSON, each with its version and its operations with tier, scope and rules";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(words, { cause: error });
  }
  const read = readEnabledPlugins(value);
  if (read === undefined) throw new Error(words);
  return read;
}
