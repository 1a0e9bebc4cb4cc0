import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { FriendlyError } from "../../src/cli/kernel/command.ts";

/** Lies in each folder that we made, so that we never empty a folder with other files. */
const MARK = "made-by-sallyport-dev";

/**
 * Makes the empty folder of one run. Each `npm start` begins without data: an old database would know a cluster that no
 * longer exists.
 *
 * @returns a function that releases the folder; the data stays until the next start.
 * @throws FriendlyError when another run uses it, or when it holds files that are not ours.
 */
export async function openRunFolder(
  folder: string,
  isAlive: (pid: number) => boolean,
  remove: (path: string) => Promise<void> = (path) => rm(path, { recursive: true }),
): Promise<() => Promise<void>> {
  const mark = join(folder, MARK);
  if (existsSync(folder)) {
    if (!existsSync(mark) && (await readdir(folder)).length > 0) {
      throw new FriendlyError(`${folder} is not empty and not ours: remove it, or choose another folder with --dir`);
    }
    const owner = Number(await readFile(mark, "utf8").catch(() => "0"));
    if (owner !== process.pid && isAlive(owner)) {
      throw new FriendlyError(
        `another \`npm start\` (process ${owner}) uses ${basename(folder)}: stop it, or choose another folder with --dir`,
      );
    }
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  // The mark is there before any other file and while the others go: a run that is killed here leaves a folder that is ours.
  await writeFile(mark, String(process.pid));
  const others = (await readdir(folder)).filter((name) => name !== MARK);
  for (const name of others) await remove(join(folder, name));
  await mkdir(join(folder, "logs"), { mode: 0o700 });
  return () => writeFile(mark, "0");
}
