import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ProgramsError, type Recipe, sourceRecipe } from "./go-build.ts";

const NAME = "plugin-layer";
export const PLUGIN_LAYER_SOURCE: string = join(import.meta.dirname, "../../deploy/image", NAME);

/** Neither an environment nor `go env -w` changes the bytes, or has them need a newer CPU. Go reads an empty value as its default. */
const SAME_ON_EACH_MACHINE = {
  ...{ GOENV: "off", GOFLAGS: "", GOEXPERIMENT: "", GOFIPS140: "off", GOWORK: "off", CGO_ENABLED: "0" },
  ...{ GOAMD64: "v1", GOARM64: "v8.0" },
} as const;

/** What Go is told for one that is shipped. A module proxy is then named by the environment alone. */
export async function shippedFor(architecture: "amd64" | "arm64"): Promise<Readonly<Record<string, string>>> {
  const [, toolchain] = /^toolchain (\S+)$/m.exec(await readFile(join(PLUGIN_LAYER_SOURCE, "go.mod"), "utf8")) ?? [];
  if (toolchain === undefined) throw new ProgramsError(`go.mod of ${NAME} names no toolchain`);
  return { GOOS: "linux", GOARCH: architecture, GOTOOLCHAIN: toolchain, ...SAME_ON_EACH_MACHINE };
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
