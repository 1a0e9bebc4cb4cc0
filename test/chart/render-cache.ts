import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import type { HelmResult } from "./helm.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Of the run; see rendered-charts.ts. */
    readonly renderedFolder?: string;
  }
}

/**
 * Gives the text that helm rendered from the same chart, values and options earlier in the run, by any worker. A render takes
 * a third of a second of a core, and most tests look at one of a few. Refusals are not kept.
 *
 * @param from all that the text depends on
 */
export async function renderedOnce(from: readonly string[], render: () => Promise<HelmResult>): Promise<HelmResult> {
  const run = inject("renderedFolder");
  if (run === undefined) return render();
  const file = join(run, createHash("sha256").update(JSON.stringify(from)).digest("hex"));
  if (existsSync(file)) return { code: 0, ...JSON.parse(await readFile(file, "utf8")) };
  const result = await render();
  if (result.code !== 0) return result;
  const { stdout, stderr } = result;
  // Two workers may write it at once: a rename shows a whole file.
  const written = `${file}.${randomUUID()}`;
  await writeFile(written, JSON.stringify({ stdout, stderr }));
  await rename(written, file);
  return result;
}

/** Over names and bytes of all files of a chart. */
export async function chartHash(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.sort()) {
    const bytes = await readFile(file);
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex");
}
