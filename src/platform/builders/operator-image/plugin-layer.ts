import canonicalize from "canonicalize";
import { METADATA_FILE, MODULE_FILE } from "../../../plugins/metadata.ts";
import { MAX_MODULE_BYTES } from "../../../plugins/module-imports.ts";
import { BundleError, bundleFile } from "../../areas/operations/bundles/stored-bundle.ts";
import type { CustomPluginRow } from "../../database/tables/operations.ts";
import { type TarWriter, writeTar } from "../../kernel/tar.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { UnbuildableError } from "../runner.ts";

/** Where the operator looks for plugins in its image. */
const FOLDERS = ["opt/", "opt/sallyport/", "opt/sallyport/plugins/"] as const;
const PLUGINS = FOLDERS[2];
const MAX_LAYER_BYTES = 64 * 1024 ** 2;

/** A plugin as the builder uses it. */
export type BakedPlugin = Pick<CustomPluginRow, "name" | "metadata" | "bundle">;

/**
 * Writes the layer with the plugins, a tar: the metadata with which each was registered, and its module. The same plugins
 * give the same bytes.
 * @param plugins in the order of their names.
 * @throws UnbuildableError that names the plugin and says what is wrong with it.
 */
export async function writePluginLayer(
  path: string,
  plugins: readonly BakedPlugin[],
  store: ObjectStore,
  signal: AbortSignal,
): Promise<void> {
  let left = MAX_LAYER_BYTES;
  const take = (bytes: number): number => {
    left -= bytes;
    if (left < 0) throw new UnbuildableError("the enabled plugins together are larger than 64 MiB: disable some");
    return bytes;
  };
  await writeTar(
    path,
    async (tar) => {
      for (const folder of FOLDERS) tar.folder(folder);
      for (const plugin of plugins) await writePlugin(tar, plugin, { store, take }, signal);
    },
    signal,
  );
}

interface Source {
  readonly store: ObjectStore;
  /** Counts bytes. @throws UnbuildableError */
  take(bytes: number): number;
}

async function writePlugin(
  tar: TarWriter,
  { name, metadata, bundle }: BakedPlugin,
  { store, take }: Source,
  signal: AbortSignal,
): Promise<void> {
  const folder = `${PLUGINS}${name}/`;
  tar.folder(folder);
  const about = Buffer.from(`${canonicalize(metadata) ?? ""}\n`);
  await tar.file({ name: `${folder}${METADATA_FILE}`, size: take(about.length) }, [about]);
  try {
    if (bundle === null) throw new BundleError("was not kept when it was registered");
    const module = await bundleFile(store, bundle, { name: MODULE_FILE, maxBytes: MAX_MODULE_BYTES }, signal);
    await tar.file({ name: `${folder}${MODULE_FILE}`, size: take(module.length) }, [module]);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    const what = `plugin ${name} cannot be baked: its bundle ${error.message}`;
    throw new UnbuildableError(`${what}. Register it again, packed by "sallyport plugin pack", or disable it.`, {
      cause: error,
    });
  }
}
