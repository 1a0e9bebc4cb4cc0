import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Another process, or another part of this one, has the folder open. */
export class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";

  constructor(folder: string, options: ErrorOptions) {
    super(
      `the data folder ${folder} is in use by another process: stop that one first, choose another folder, or use PostgreSQL, which several processes may share`,
      options,
    );
  }
}

/**
 * Holds the folder until the returned function is called or the process ends, however it ends.
 *
 * The embedded database does not see another process in its files and two would destroy them. Node has no file locks of its
 * own, its SQLite has: the operating system's, so there is nothing stale after a kill, and no process id to mistake.
 *
 * @throws FolderInUseError at once, without waiting.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(join(folder, "lock"), { timeout: 0 });
  try {
    file.exec("begin exclusive");
  } catch (error) {
    file.close();
    throw new FolderInUseError(folder, { cause: error });
  }
  return () => {
    if (file.isOpen) file.close();
  };
}
