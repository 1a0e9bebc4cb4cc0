import type { Credential } from "../../api-client/options.ts";
import { SignInError, UserSignIn, type UserTokens } from "../../api-client/user-sign-in.ts";
import type { Clock } from "../../base/clock.ts";
import { FriendlyError } from "../kernel/command.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { alone, readProfiles, type UserProfile, writeProfiles } from "./profiles.ts";

/** The client id of the command line at every platform. */
const CLIENT_ID = "sallyport-cli";

export interface StoredUser {
  readonly file: string;
  readonly name: string;
  readonly profile: UserProfile;
}

/** A user's tokens, refreshed when they expire and stored for later commands. */
export function userCredential({ file, name, profile }: StoredUser, clock: Clock, signal: AbortSignal): Credential {
  let tokens = profile.tokens;
  return {
    current: () => tokens.access,
    async refused(access) {
      tokens = await alone(file, clock, signal, async () => {
        const all = await readProfiles(file);
        const stored = all.profiles[name];
        if (stored === undefined || !("tokens" in stored)) return tokens;
        // Another command has refreshed them already.
        if (stored.tokens.access !== access) return stored.tokens;
        const fresh = await refreshed(stored, signal);
        await writeProfiles(file, { ...all, profiles: { ...all.profiles, [name]: { ...stored, tokens: fresh } } });
        return fresh;
      });
      return tokens.access !== access;
    },
  };
}

async function refreshed({ url, tokens }: UserProfile, signal: AbortSignal): Promise<UserTokens> {
  return withSignIn(url, (signIn) => signIn.refresh(tokens, signal));
}

/** @throws FriendlyError instead of SignInError. */
export async function withSignIn<T>(baseUrl: string, work: (signIn: UserSignIn) => Promise<T>): Promise<T> {
  const signIn = new UserSignIn({ baseUrl, clientId: CLIENT_ID });
  try {
    return await work(signIn);
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const { code: exitCode } = error.kind === "unreachable" ? EXIT_CODES.unavailable : EXIT_CODES.credential;
    const hint = error.kind === "over" ? `; sign in again: sallyport login --url ${baseUrl}` : "";
    throw new FriendlyError(`${error.message}${hint}`, { cause: error, exitCode });
  } finally {
    await signIn.close();
  }
}
