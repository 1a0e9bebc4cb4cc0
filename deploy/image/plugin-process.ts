import { join } from "node:path";
import { rolldown } from "rolldown";

/** Their names are known to src/operator/plugin-process/child-command.ts. */
const FILES = {
  "plugin-child": "src/operator/plugin-process/child/plugin-child.ts",
  "plugin-api": "src/plugin-api/index.ts",
} as const;

/**
 * Writes what a plugin's process loads into the folder `plugin` of `lib`, which holds a bundle that starts such processes. Apart from that
 * bundle: the process may read this folder, and nothing else of the package.
 */
export async function bundlePluginProcess(root: string, lib: string): Promise<void> {
  const input = Object.fromEntries(Object.entries(FILES).map(([name, file]) => [name, join(root, file)]));
  const bundle = await rolldown({ input, platform: "node", treeshake: { moduleSideEffects: false } });
  const dir = join(lib, "plugin");
  await bundle.write({ dir, format: "esm", entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" });
  await bundle.close();
}
