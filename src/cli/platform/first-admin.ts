import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bootstrap } from "../../platform/administration/bootstrap.ts";
import type { DatabaseLocation } from "../../platform/database/open.ts";

/** The terminal of the person who starts the platform. Never the log, which is collected and kept. */
export interface Terminal {
  readonly isTTY: boolean;
  write(text: string): void;
}

interface FirstStart {
  readonly bootstrap: Pick<Bootstrap, "first">;
  readonly database: DatabaseLocation;
  readonly workspace: string;
  readonly url: string;
  /** The address of the user who becomes the first workspace's admin. */
  readonly firstAdmin: string | undefined;
}

/**
 * On an empty database: makes the first workspace and its admin's key, and shows the key once. Without a terminal it
 * writes the key into a file in the data folder. Without terminal and folder it makes nothing: no person would see the
 * key.
 */
export async function welcomeFirstAdmin(start: FirstStart, terminal: Terminal): Promise<void> {
  const { database, workspace, url } = start;
  const folder = "pglite" in database && database.pglite !== "memory" ? database.pglite : undefined;
  if (!terminal.isTTY && folder === undefined) return;
  const first = await start.bootstrap.first(workspace, start.firstAdmin);
  if (first === undefined) return;
  const lost = `sallyport platform keys create --workspace ${workspace} --role workspace.admin`;
  if (!terminal.isTTY && folder !== undefined) {
    const file = join(folder, "first-admin-key");
    await writeFile(file, `${first.key}\n`, { mode: 0o600, flag: "wx" });
    terminal.write(
      `sallyport platform: the database was empty: made workspace ${workspace}; its admin's key is in ${file}: use it, then remove the file\n`,
    );
    return;
  }
  terminal.write(`
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

`);
}
