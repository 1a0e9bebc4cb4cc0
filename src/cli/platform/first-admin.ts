import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bootstrap } from "../../platform/administration/bootstrap.ts";
import type { DatabaseLocation } from "../../platform/database/open.ts";

/** Where people read: not the log, which is collected and kept. */
export interface Terminal {
  readonly isTTY: boolean;
  write(text: string): void;
}

interface FirstStart {
  readonly bootstrap: Pick<Bootstrap, "first">;
  readonly database: DatabaseLocation;
  readonly workspace: string;
  readonly url: string;
  /** Who is the first workspace's admin as a user. */
  readonly firstAdmin: string | undefined;
}

/**
 * On an empty database: the first workspace and its admin's key, shown once. Where nobody reads a terminal, the key goes
 * into a file in the data folder; where there is no folder either, nothing is made: a key that nobody saw is a risk.
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
