import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureCacheEntry } from "../../lab/cluster/cache-entry.ts";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";

const SOURCE = join(import.meta.dirname, "peer");

/**
 * Path of the Go peer: the same work as ours, done with controller-runtime. Built once into the cache folder of the
 * tests (about 2 minutes with empty caches on 2 cores).
 */
export async function findPeer(say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for (const name of ["go.mod", "go.sum", "main.go"]) hash.update(readFileSync(join(SOURCE, name)));
  const folder = join(cacheRoot(process.env), `bench-peer-${hash.digest("hex").slice(0, 12)}`);
  const build = async (into: string): Promise<void> => {
    const startedAt = performance.now();
    const tell = (): void =>
      say(`building the Go peer, ${Math.round((performance.now() - startedAt) / 1000)} s (about 2 minutes)`);
    tell();
    const timer = setInterval(tell, 10_000);
    try {
      const env = { ...process.env, CGO_ENABLED: "0" };
      const args = ["build", "-mod=mod", "-buildvcs=false", "-ldflags", "-s -w", "-o", join(into, "peer"), "."];
      await promisify(execFile)("go", args, { cwd: SOURCE, env, signal });
    } finally {
      clearInterval(timer);
    }
  };
  const onWaiting = (ms: number): void => say(`another process builds the Go peer, ${Math.round(ms / 1000)} s`);
  await ensureCacheEntry({ folder, build, onWaiting }, signal);
  return join(folder, "peer");
}
