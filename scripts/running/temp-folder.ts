import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Short: the paths of sockets lie below it, and have a bound of 107 bytes. */
const PREFIX = "sp-";

/**
 * Makes a folder in which this process and its children put their temporary files, and removes it when this process
 * exits: what a test that was ended in its midst has left goes too. A run within a run shares the folder.
 */
export function useTempFolder(): void {
  if (basename(tmpdir()).startsWith(PREFIX)) return;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // Programs that root starts as another user, such as PostgreSQL, have folders in it.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  process.once("exit", () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      process.stderr.write(`${folder} is left: ${error instanceof Error ? error.message : error}\n`);
    }
  });
}
