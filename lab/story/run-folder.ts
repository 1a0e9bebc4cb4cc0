import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { FriendlyError } from "../../src/cli/command.ts";

/** In each folder that we made, so that we never empty one that somebody else filled. */
const MARK = "made-by-sallyport-dev";

/**
 * The folder of one run, empty. The world of `npm start` begins anew each time: a database that remembers a cluster
 * which is gone would only mislead.
 *
 * @returns removes the lock; the data stays, to be looked at until the next start.
 * @throws FriendlyError when another run uses it, or when it holds files that are not ours.
 */
export async function openRunFolder(folder: string, isAlive: (pid: number) => boolean): Promise<() => Promise<void>> {
  const mark = join(folder, MARK);
  if (existsSync(folder)) {
    if (!existsSync(mark) && (await readdir(folder)).length > 0) {
      throw new FriendlyError(`${folder} is not empty and not ours: choose another folder with --dir`);
    }
    const owner = Number(await readFile(mark, "utf8").catch(() => "0"));
    if (owner !== process.pid && isAlive(owner)) {
      throw new FriendlyError(
        `another \`npm start\` (process ${owner}) uses ${basename(folder)}: stop it, or choose another folder with --dir`,
      );
    }
    await rm(folder, { recursive: true });
  }
  await mkdir(join(folder, "logs"), { recursive: true, mode: 0o700 });
  await writeFile(mark, String(process.pid));
  return () => writeFile(mark, "0");
}
