import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  MAX_METADATA_BYTES,
  METADATA_FILE,
  MODULE_FILE,
  type PluginMetadata,
  readPluginMetadata,
} from "../../plugins/metadata.ts";

/** A plugin as it lies in the image. */
export interface FoundPlugin {
  readonly metadata: PluginMetadata;
  /** Path of its code, which is alone with the metadata in its folder. */
  readonly module: string;
}

/** Reads `<folder>/<name>`. Why not, in words for the customer, if it is not there or broken. */
export async function readPlugin(folder: string, name: string): Promise<FoundPlugin | string> {
  const module = join(folder, name, MODULE_FILE);
  try {
    const file = join(folder, name, METADATA_FILE);
    if ((await stat(file)).size > MAX_METADATA_BYTES) return `the image's plugin ${name} has too much metadata`;
    const read = readPluginMetadata(JSON.parse(await readFile(file, "utf8")));
    if (!read.ok) {
      const [{ path, message } = { path: "", message: "unknown" }] = read.issues;
      return `the image's plugin ${name} is broken: ${METADATA_FILE}${path} ${message}`;
    }
    if (!(await stat(module)).isFile()) return `the image's plugin ${name} is broken: it has no ${MODULE_FILE}`;
    return { metadata: read.metadata, module };
  } catch (error) {
    if (error instanceof SyntaxError) return `the image's plugin ${name} is broken: ${METADATA_FILE} is no JSON`;
    return `the install values enable plugin ${name}, and the operator's image does not have it`;
  }
}
