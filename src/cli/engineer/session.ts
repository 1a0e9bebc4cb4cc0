import { FriendlyError } from "../command.ts";
import type { Environment } from "../settings.ts";
import { type Profile, profilesFile, readProfiles } from "./profiles.ts";

export interface SessionFlags {
  readonly profile?: string | undefined;
  readonly workspace?: string | undefined;
}

/**
 * Where to call and as whom: the environment over the profile. A profile's key goes only to the profile's own address,
 * so that a stray `SALLYPORT_URL` does not hand it to somebody else.
 */
export async function session(env: Environment, flags: SessionFlags): Promise<Profile> {
  const { SALLYPORT_URL: url, SALLYPORT_KEY: key } = env;
  const workspace = flags.workspace ?? (env.SALLYPORT_WORKSPACE || undefined);
  if (url && key) return { url, key, ...(workspace !== undefined && { workspace }) };
  const profile = await chosen(env, flags.profile);
  if (url && url.replace(/\/+$/, "") !== profile.url) {
    throw new FriendlyError("SALLYPORT_URL is not the profile's address: set SALLYPORT_KEY too");
  }
  return { ...profile, ...(key && { key }), ...(workspace !== undefined && { workspace }) };
}

async function chosen(env: Environment, flag: string | undefined): Promise<Profile> {
  const { current, profiles } = await readProfiles(profilesFile(env));
  const name = flag ?? (env.SALLYPORT_PROFILE || current);
  if (name === undefined)
    throw new FriendlyError("not signed in: sallyport login, or set SALLYPORT_URL and SALLYPORT_KEY");
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(profiles).join(", ") || "none";
  throw new FriendlyError(`there is no profile ${name}; there are ${known}`);
}
