import { accessSync, constants, lstatSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { ProgramsError } from "./go-build.ts";

/**
 * `${XDG_CACHE_HOME:-~/.cache}/sallyport`, which exists then. Programs in it run as this user, so it must be theirs alone.
 *
 * @throws ProgramsError when nothing can be kept there, or another user could have put something there.
 */
export function cacheRoot(env: Readonly<Record<string, string | undefined>>): string {
  const named = env.XDG_CACHE_HOME ?? "";
  // The XDG base directory specification says to ignore a relative value.
  const root = join(isAbsolute(named) ? named : join(homedir(), ".cache"), "sallyport");
  try {
    // Without a home it is no absolute path, and would lie wherever the program was started.
    if (!isAbsolute(root)) throw new Error("HOME is empty");
    mkdirSync(root, { recursive: true, mode: 0o700 });
    accessSync(root, constants.W_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new ProgramsError(`cannot write ${root}; set XDG_CACHE_HOME to a folder that can be written (${why})`, {
      cause: error,
    });
  }
  const problem = foreignPart(root);
  if (problem !== undefined) {
    throw new ProgramsError(
      `${problem}, so programs in it may be another user's. Make it your own (chown, chmod go-w), or set XDG_CACHE_HOME to a folder of yours.`,
    );
  }
  return root;
}

function foreignPart(root: string): string | undefined {
  const uid = process.geteuid?.();
  if (uid === undefined) return undefined;
  const folder = lstatSync(root);
  if (!folder.isDirectory()) return `${root} is no directory`;
  if (folder.uid !== uid) return `${root} belongs to another user`;
  if ((folder.mode & 0o022) !== 0) return `${root} can be written to by others`;
  // Who may rename in it may put another folder in place of ours; in one such as /tmp only owners may.
  const around = statSync(dirname(root));
  if (around.uid !== 0 && around.uid !== uid) return `${dirname(root)} belongs to another user`;
  const isShared = (around.mode & 0o022) !== 0 && (around.mode & 0o1000) === 0;
  return isShared ? `${dirname(root)} can be written to by others` : undefined;
}
