import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { PLUGIN_BOUNDS } from "./bounds.ts";

const CHILD = fileURLToPath(import.meta.resolve("./child/plugin-child.ts"));
/** What a plugin imports as `@sallyport/plugin`. */
const API = import.meta.resolve("../../plugin-api/index.ts");
/** What the child's own code imports from outside of its folder. */
const SHARED = [
  import.meta.resolve("./lines.ts"),
  import.meta.resolve("../../base/is-record.ts"),
  import.meta.resolve("../../crds/redact.ts"),
  import.meta.resolve("../../plugins/module-imports.ts"),
  API,
].map((url) => fileURLToPath(url));

/** Both of them where this code is part of a bundle, and the files above are not there (deploy/image/plugin-process.ts). */
const BUNDLED_CHILD = fileURLToPath(new URL("./plugin/plugin-child.js", import.meta.url));
const BUNDLED_API = new URL("./plugin/plugin-api.js", import.meta.url).href;

interface ChildFiles {
  readonly child: string;
  /** As a file URL. */
  readonly api: string;
  /** Beside the plugin's own folder. */
  readonly readable: readonly string[];
}

/** The program that loads a plugin, and what it may read. */
export function childFiles(): ChildFiles {
  return existsSync(CHILD)
    ? { child: CHILD, api: API, readable: [`${dirname(CHILD)}/`, ...SHARED] }
    : { child: BUNDLED_CHILD, api: BUNDLED_API, readable: [`${dirname(BUNDLED_CHILD)}/`] };
}

/**
 * How Node.js is started for a plugin. Its permission model then refuses files but these, processes, workers, addons, WASI and
 * the inspector. It knows nothing of the network, of signals to other processes and their priority, of names and addresses of the
 * machine, and of the database module, which opens files past it (seen with Node.js 24.21): the module is switched off here,
 * `lockdown.ts` keeps the rest away from the plugin.
 */
export function childCommand(folder: string): readonly string[] {
  const { child, readable } = childFiles();
  const read = [...readable, `${folder}/`];
  return [
    "--permission",
    ...read.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${PLUGIN_BOUNDS.heapMiB}`,
    "--max-semi-space-size=8",
    // Before anything else runs: freeze.ts goes on from there.
    "--frozen-intrinsics",
    "--no-experimental-sqlite",
    "--no-experimental-websocket",
    "--no-experimental-global-navigator",
    "--no-warnings",
    // With this signal any process of the same user opens a debugger.
    "--disable-sigusr1",
    child,
  ];
}
