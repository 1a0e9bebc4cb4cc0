import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bootstrap } from "../../platform/administration/bootstrap.ts";
import type { DatabaseLocation } from "../../platform/database/open.ts";

interface FirstStart {
  readonly bootstrap: Pick<Bootstrap, "first">;
  readonly database: DatabaseLocation;
  readonly workspace: string;
  /** The address of the user who becomes the first workspace's admin. */
  readonly firstAdmin: string | undefined;
  readonly isTTY: boolean;
}

/**
 * On an empty database: makes the first workspace and its admin's key. On a terminal the key is part of the returned
 * text. Elsewhere it is in a file in the data folder, written before the platform listens, so that a program that waited
 * for the platform finds it. Without terminal and folder it makes nothing: no person would see the key.
 *
 * @returns what to print, given the platform's address; undefined when nothing was made
 */
export async function makeFirstAdmin(start: FirstStart): Promise<((url: string) => string) | undefined> {
  const { database, workspace, isTTY } = start;
  const folder = "pglite" in database && database.pglite !== "memory" ? database.pglite : undefined;
  if (!isTTY && folder === undefined) return undefined;
  const first = await start.bootstrap.first(workspace, start.firstAdmin);
  if (first === undefined) return undefined;
  const lost = `sallyport platform keys create --workspace ${workspace} --role workspace.admin`;
  if (!isTTY && folder !== undefined) {
    const file = join(folder, "first-admin-key");
    await writeFile(file, `${first.key}\n`, { mode: 0o600, flag: "wx" });
    return () =>
      `sallyport platform: the database was empty: made workspace ${workspace}; its admin's key is in ${file}: use it, then remove the file\n`;
  }
  return (url) => `
  This is the first start on an empty database. It made the workspace "${workspace}" and a key for its admin,
  which is shown here and now only:

      ${first.key}

  Sign in with it:  sallyport login --url ${url} --key${
    start.firstAdmin === undefined
      ? ""
      : `
  Or as a user:     sallyport login --url ${url} --workspace ${workspace}   (${start.firstAdmin})`
  }
  Lost it?          Stop the platform if its database is a folder, then ${lost}

`;
}
