import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ProgramsError, type Recipe, sourceRecipe } from "./go-build.ts";

const NAME = "plugin-layer";
export const PLUGIN_LAYER_SOURCE: string = join(import.meta.dirname, "../../deploy/image", NAME);

/** What Go is told for one that is shipped: the same source gives the same bytes on each machine. */
export async function shippedFor(architecture: "amd64" | "arm64"): Promise<Readonly<Record<string, string>>> {
  const [, toolchain] = /^toolchain (\S+)$/m.exec(await readFile(join(PLUGIN_LAYER_SOURCE, "go.mod"), "utf8")) ?? [];
  if (toolchain === undefined) throw new ProgramsError(`go.mod of ${NAME} names no toolchain`);
  return { GOOS: "linux", GOARCH: architecture, GOTOOLCHAIN: toolchain, GOFLAGS: "", CGO_ENABLED: "0" };
}

/** The program with which the platform makes operators' images. @param environment as {@link shippedFor} makes it */
export function pluginLayerRecipe(environment: Readonly<Record<string, string>> = {}): Promise<Recipe> {
  return sourceRecipe({
    name: NAME,
    source: PLUGIN_LAYER_SOURCE,
    files: ["go.mod", "go.sum", "main.go"],
    flags: ["-trimpath"],
    environment,
    linkerFlags: "-s -w",
    title: "plugin-layer (makes operators' images)",
    expectation: "half a minute on 2 cores, once",
  });
}
