import { join } from "node:path";
import { type Recipe, sourceRecipe } from "./go-build.ts";

const NAME = "plugin-layer";

/** The program with which the platform makes operators' images. */
export function pluginLayerRecipe(): Promise<Recipe> {
  return sourceRecipe({
    name: NAME,
    source: join(import.meta.dirname, "../../deploy/image", NAME),
    files: ["go.mod", "go.sum", "main.go"],
    linkerFlags: "-s -w",
    title: "plugin-layer (makes operators' images)",
    expectation: "half a minute on 2 cores, once",
  });
}
