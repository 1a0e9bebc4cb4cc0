import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** vitest's global set-up: a folder for what helm renders in a run, which the workers share; see render-cache.ts. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-rendered-"));
  project.provide("renderedFolder", folder);
  return () => rm(folder, { recursive: true, force: true });
}
