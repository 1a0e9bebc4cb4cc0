import { join } from "node:path";
import { type ChunkingContext, rolldown } from "rolldown";

/**
 * Writes programs and all that they load as a few files of JavaScript, of which a command loads those that it needs: from
 * several hundred files it would take half a second to start. The same input gives the same bytes, in any folder.
 *
 * @param entries source files, from the root, by the name of the file that starts
 * @returns the paths of all files that went into it
 */
export async function bundled(
  root: string,
  out: string,
  entries: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const bundle = await rolldown({
    cwd: root,
    input: { ...entries },
    platform: "node",
    treeshake: { moduleSideEffects: false },
    preserveEntrySignatures: "allow-extension",
    checks: { eval: false },
  });
  const { output } = await bundle.write({
    dir: out,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: { legal: true },
    codeSplitting: {
      groups: [{ debugName: "together", name: loadedWith(root) }],
      includeDependenciesRecursively: false,
    },
  });
  await bundle.close();
  return output.flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
}

/** What a word of the API loads in any case is in one file: each file costs a third of a millisecond of CPU. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = {
  start: ["src/cli/people.ts"],
  asking: [
    "src/cli/engineer/engineer-commands.ts",
    "src/cli/engineer/area-command.ts",
    "src/cli/engineer/surroundings.ts",
  ],
};

/** @returns the name of the file that holds a module: of the first in {@link TOGETHER} that imports it, at any depth */
function loadedWith(root: string): (id: string, context: ChunkingContext) => string | null {
  const owners = new Map<string, string>();
  return (id, context) => {
    if (owners.size === 0) {
      for (const [name, files] of Object.entries(TOGETHER)) {
        const waiting = files.map((file) => join(root, file));
        const gone = waiting.find((file) => context.getModuleInfo(file) === null);
        if (gone !== undefined) throw new Error(`TOGETHER names ${gone}, which is not part of the bundle`);
        for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
          const imported = context.getModuleInfo(at)?.importedIds ?? [];
          const fresh = imported.filter((each) => !owners.has(each));
          for (const each of fresh) owners.set(each, name);
          waiting.push(...fresh);
        }
      }
    }
    return owners.get(id) ?? null;
  };
}
