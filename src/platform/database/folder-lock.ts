import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Another process, or another part of this process, has opened the folder. */
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
 * Locks the folder until the returned function is called or the process ends in any way.
 *
 * Without the lock two processes would open the embedded database and destroy it. Node has no file locks, so this uses
 * SQLite's, which are the operating system's: a killed process leaves no stale lock, and no process id can be confused.
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
