import { readPluginMetadata } from "../../../plugins/metadata.ts";
import { type PluginsValues, pluginsValues } from "../../../plugins/values.ts";
import { UnbuildableError } from "../runner.ts";
import type { BakedPlugin } from "./plugin-layer.ts";

/** They stand in the package's outputs, and lists of packages show these. */
const MAX_VALUES_BYTES = 64 * 1024;

/**
 * The chart's values for the plugins of an image, from the metadata that lies in it.
 * @throws UnbuildableError for metadata that was registered before the rules of today.
 */
export function valuesOf(plugins: readonly BakedPlugin[]): PluginsValues {
  const read = plugins.map(({ name, metadata }) => {
    const result = readPluginMetadata(metadata);
    if (result.ok) return result.metadata;
    const [issue] = result.issues;
    throw new UnbuildableError(
      `plugin ${name} cannot be baked: metadata${issue?.path ?? ""} ${issue?.message ?? "is wrong"}. Register it again, or disable it.`,
    );
  });
  const values = pluginsValues(read);
  if (Buffer.byteLength(JSON.stringify(values)) > MAX_VALUES_BYTES) {
    throw new UnbuildableError("the rules of the enabled plugins together are larger than 64 KiB: disable some");
  }
  return values;
}
