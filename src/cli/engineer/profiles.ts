import { chmod, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { UserTokens } from "../../api-client/user-sign-in.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { isRecord } from "../../base/is-record.ts";
import type { Environment } from "../../base/settings.ts";
import { FriendlyError } from "../kernel/command.ts";

interface Place {
  readonly url: string;
  /** For credentials that do not imply one. */
  readonly workspace?: string;
}

export interface KeyProfile extends Place {
  readonly key: string;
}

/** A user who has signed in with a browser. */
export interface UserProfile extends Place {
  readonly tokens: UserTokens;
}

export type Profile = KeyProfile | UserProfile;

export interface Profiles {
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const NONE: Profiles = { current: undefined, profiles: {} };

export function profilesFile(env: Environment): string {
  const named = env.XDG_CONFIG_HOME ?? "";
  // Its specification says to ignore a relative one: keys would lie in the folder in which a command was typed.
  const config = isAbsolute(named) ? named : join(env.HOME || homedir(), ".config");
  return join(config, "sallyport", "profiles.json");
}

export async function readProfiles(file: string): Promise<Profiles> {
  let text: string;
  try {
    text = await readPrivately(file);
  } catch (error) {
    if (error instanceof FriendlyError) throw error;
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return NONE;
    throw new FriendlyError(`${file} cannot be read`, { cause: error });
  }
  const content = parsed(text);
  if (content === undefined) throw new FriendlyError(`${file} is damaged: remove it and sign in again`);
  return content;
}

export async function writeProfiles(file: string, profiles: Profiles): Promise<void> {
  await writePrivately(file, `${JSON.stringify(profiles, undefined, 2)}\n`);
}

/**
 * Reads a file with keys as ssh does: not one that another user may read or has written.
 *
 * @throws FriendlyError for such a file; otherwise as Node does
 */
export async function readPrivately(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { mode, uid } = await handle.stat();
    // Windows has neither.
    const own = process.getuid?.();
    if (own !== undefined && own !== 0 && ![own, 0].includes(uid))
      throw new FriendlyError(`${file} belongs to another user, and is not read: remove it`);
    if (own !== undefined && (mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, "0");
      const hint = `chmod 600 ${file}; if someone else may have read it, end its keys (sallyport api-keys revoke, sallyport logout)`;
      throw new FriendlyError(
        `${file} has keys and is open to other users (mode ${shown}), so it is not read: ${hint}`,
      );
    }
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** Writes the whole file or nothing; other users can never read it, not even for a moment. */
export async function writePrivately(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  await rm(fresh, { force: true });
  await writeFile(fresh, text, { mode: 0o600, flag: "wx" });
  await chmod(fresh, 0o600);
  await rename(fresh, file);
}

/** After this time the lock of a dead process is ignored; a refresh takes a second. */
const LOCK_STALE_MS = 60_000;
const LOCK_POLL_MS = 50;

/**
 * Runs `work` while no other command changes the file. A refresh token works once: without the lock, two commands that
 * use it at the same time would both be signed out.
 */
export async function alone<T>(file: string, clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  while (!(await taken(lock))) {
    const heldSince = await stat(lock).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    const stale = heldSince !== undefined && clock.wallNow().getTime() - heldSince > LOCK_STALE_MS;
    if (stale) await rm(lock, { force: true });
    else await sleep(clock, LOCK_POLL_MS, signal);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function taken(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, "", { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** The text is not quoted in an error: it holds keys. */
function parsed(text: string): Profiles | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(content) || !isRecord(content.profiles)) return undefined;
  const profiles: Record<string, Profile> = {};
  for (const [name, profile] of Object.entries(content.profiles)) {
    const sound = isRecord(profile) ? profileOf(profile) : undefined;
    if (sound === undefined) return undefined;
    profiles[name] = sound;
  }
  return { current: typeof content.current === "string" ? content.current : undefined, profiles };
}

function profileOf({ url, workspace, key, tokens }: Readonly<Record<string, unknown>>): Profile | undefined {
  if (typeof url !== "string") return undefined;
  const place = { url, ...(typeof workspace === "string" && { workspace }) };
  if (typeof key === "string") return { ...place, key };
  if (!isRecord(tokens) || typeof tokens.access !== "string" || typeof tokens.refresh !== "string") return undefined;
  return { ...place, tokens: { access: tokens.access, refresh: tokens.refresh } };
}
