import type { ClientOptions } from "../../api-client/options.ts";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/settings.ts";
import { FriendlyError } from "../kernel/command.ts";
import { type Profile, profilesFile, readProfiles } from "./profiles.ts";

export interface SessionFlags {
  readonly profile?: string | undefined;
  readonly workspace?: string | undefined;
}

/** Where to call and as whom. */
export interface Session {
  readonly url: string;
  readonly credential: NonNullable<ClientOptions["credential"]>;
  readonly workspace?: string;
}

/**
 * The environment over the profile. A profile's credential goes only to the profile's own address, so that a stray
 * `SALLYPORT_URL` does not send it to another server.
 *
 * @param signal ends a refresh of the user's tokens.
 */
export async function session(
  env: Environment,
  flags: SessionFlags,
  clock: Clock,
  signal: AbortSignal,
): Promise<Session> {
  const { SALLYPORT_URL: url, SALLYPORT_KEY: key } = env;
  const given = flags.workspace ?? (env.SALLYPORT_WORKSPACE || undefined);
  const named = given === undefined ? {} : { workspace: given };
  if (url && key) return { url, credential: key, ...named };
  const file = profilesFile(env);
  const { name, profile } = await chosen(env, file, flags.profile);
  if (url && url.replace(/\/+$/, "") !== profile.url) {
    throw new FriendlyError("SALLYPORT_URL is not the profile's address: set SALLYPORT_KEY too");
  }
  const place = {
    url: profile.url,
    ...(profile.workspace !== undefined && { workspace: profile.workspace }),
    ...named,
  };
  if (key) return { ...place, credential: key };
  if ("key" in profile) return { ...place, credential: profile.key };
  // Loaded for users alone: what signs in with a browser is half of the program.
  const { userCredential } = await import("./user-credential.ts");
  return { ...place, credential: userCredential({ file, name, profile }, clock, signal) };
}

/** The profile that the flag, the environment or the file names. */
async function chosen(
  env: Environment,
  file: string,
  flag: string | undefined,
): Promise<{ readonly name: string; readonly profile: Profile }> {
  const { current, profiles } = await readProfiles(file);
  const name = flag ?? (env.SALLYPORT_PROFILE || current);
  if (name === undefined)
    throw new FriendlyError("not signed in: sallyport login, or set SALLYPORT_URL and SALLYPORT_KEY");
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return { name, profile };
  const known = Object.keys(profiles).join(", ") || "none";
  throw new FriendlyError(`there is no profile ${name}; there are ${known}`);
}
