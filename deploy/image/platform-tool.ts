import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { PLUGIN_LAYER_SOURCE, pluginLayerRecipe, shippedFor } from "../../lab/cluster/plugin-layer.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";

const run = promisify(execFile);

/** Files of {@link platformTool}'s folder. */
export const TOOL_FILES = { program: "plugin-layer", terms: "terms", modules: "modules" } as const;
/** Where the platform's image has them. */
export const TOOL_PLACES = { program: "app/plugin-layer", terms: "licenses/plugin-layer" } as const;

/**
 * plugin-layer for the platform's image, built with the toolchain that its go.mod names; the terms of all that is linked into it; and
 * the names of that, as sbom.ts reads them. Kept in the cache.
 *
 * @returns a folder with {@link TOOL_FILES}
 */
export async function platformTool(
  architecture: "amd64" | "arm64",
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const environment = await shippedFor(architecture);
  const recipe = await pluginLayerRecipe(environment);
  const code = createHash("sha256").update(await readFile(import.meta.filename));
  const papers = {
    folderName: `${recipe.folderName}-${code.digest("hex").slice(0, 12)}`,
    title: `${recipe.title}, for linux/${architecture}`,
    async build(into: string, tell: (line: string) => void, each: AbortSignal): Promise<void> {
      await recipe.build(into, tell, each);
      await writePapers(into, environment, architecture, each);
    },
  };
  return ensureRecipe({ ...recipe, ...papers }, { say }, signal);
}

interface Module {
  readonly path: string;
  readonly version: string;
  readonly root: string;
  /** Of its packages that are linked. */
  readonly folders: readonly string[];
}

async function writePapers(
  into: string,
  environment: Readonly<Record<string, string>>,
  architecture: string,
  signal: AbortSignal,
): Promise<void> {
  const go = async (...args: string[]): Promise<string> => {
    // biome-ignore lint/style/noProcessEnv: where Go finds its caches and its proxy.
    const options = { cwd: PLUGIN_LAYER_SOURCE, env: { ...process.env, ...environment }, signal };
    return (await run("go", args, options)).stdout;
  };
  // The standard library's packages have no module.
  const format = "{{.Dir}}\t{{with .Module}}{{.Main}}\t{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}";
  const listed = (await go("list", "-deps", "-f", format, ".")).split("\n").filter(Boolean);
  const [goRoot = "", goVersion = ""] = (await go("env", "GOROOT", "GOVERSION")).trim().split("\n");
  const linked = new Map<string, Module>();
  for (const line of listed) {
    const [folder = "", main, path = "stdlib", version = goVersion.replace(/^go/, ""), root = goRoot] =
      line.split("\t");
    if (main === "true") continue;
    const module = linked.get(path) ?? { path, version, root, folders: [] };
    linked.set(path, { ...module, folders: [...module.folders, folder] });
  }
  const sorted = [...linked.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  const terms = await Promise.all(sorted.map(termsOf));
  const modules = sorted.map(({ path, version }) => `golang:${path} ${version} ${architecture}\n`);
  await writeFile(join(into, TOOL_FILES.terms), terms.join("\n"));
  await writeFile(join(into, TOOL_FILES.modules), modules.join(""));
}

/** Not a package's code, such as `notice.go`. */
const TERMS = /^(licen[cs]e|notice|copying|patents)(?!.*\.go$)/i;

/**
 * The terms of a module, and those that its packages have beside them for code that they took over.
 *
 * @throws Error for a module without: a program without its terms may not be given away
 */
export async function termsOf({ path, version, root, folders }: Module): Promise<string> {
  const holders = new Set([root]);
  for (const folder of folders) for (let at = folder; at.startsWith(join(root, sep)); at = dirname(at)) holders.add(at);
  const found = await Promise.all(
    [...holders].sort().map(async (holder) => {
      const entries = await readdir(holder, { withFileTypes: true });
      const files = entries.filter((each) => each.isFile() && TERMS.test(each.name));
      return files.map(({ name }) => relative(root, join(holder, name))).sort();
    }),
  );
  const files = found.flat();
  if (!files.some((name) => /^(licen[cs]e|copying)/i.test(name)))
    throw new Error(`${path} ${version} has no licence in ${root}`);
  const texts = await Promise.all(
    files.map(async (name) => `== ${path} ${version}: ${name} ==\n\n${await readFile(join(root, name), "utf8")}`),
  );
  return texts.join("\n");
}
