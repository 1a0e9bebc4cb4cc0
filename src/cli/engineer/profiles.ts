import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { FriendlyError } from "../command.ts";
import type { Environment } from "../settings.ts";

export interface Profile {
  readonly url: string;
  readonly key: string;
  /** For credentials that do not imply one. */
  readonly workspace?: string;
}

export interface Profiles {
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const NONE: Profiles = { current: undefined, profiles: {} };

export function profilesFile(env: Environment): string {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(config, "sallyport", "profiles.json");
}

export async function readProfiles(file: string): Promise<Profiles> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return NONE;
    throw new FriendlyError(`${file} cannot be read`, { cause: error });
  }
  const content = parsed(text);
  if (content === undefined) throw new FriendlyError(`${file} is damaged: remove it and sign in again`);
  return content;
}

/** Whole or not at all, and never readable by others, not even for a moment. */
export async function writeProfiles(file: string, profiles: Profiles): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  await rm(fresh, { force: true });
  await writeFile(fresh, `${JSON.stringify(profiles, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
  await chmod(fresh, 0o600);
  await rename(fresh, file);
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
    if (!isRecord(profile) || typeof profile.url !== "string" || typeof profile.key !== "string") return undefined;
    const { url, key, workspace } = profile;
    profiles[name] = { url, key, ...(typeof workspace === "string" && { workspace }) };
  }
  return { current: typeof content.current === "string" ? content.current : undefined, profiles };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
