import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** Where a shell would find `name`, or undefined. */
export async function findOnPath(
  name: string,
  path: string | undefined = process.env.PATH,
): Promise<string | undefined> {
  for (const folder of (path ?? "").split(delimiter)) {
    if (folder === "") continue;
    const candidate = join(folder, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
