import { parseArgs } from "node:util";
import { type Command, FriendlyError, UsageError } from "../kernel/command.ts";
import { textOf } from "../kernel/output.ts";
import { parsed } from "../services/service-command.ts";
import { signInWithBrowser } from "./browser-sign-in.ts";
import { type CallRoute, calling, type Surroundings } from "./calling.ts";
import { type Profile, profilesFile, readProfiles, type UserProfile, writeProfiles } from "./profiles.ts";
import { withSignIn } from "./user-credential.ts";

const HELP = `usage: sallyport login --url URL [--workspace NAME] [--no-browser] [--profile NAME]
       sallyport login --url URL --key [--profile NAME]

Signs in with a browser, as a user. What it gives is kept in a profile, in a file that only you can read, and renews itself;
sallyport logout ends it everywhere. The browser comes back to a port of this machine, so it must run here.

With --key an API key instead, asked for on the terminal or read from standard input, never taken from the command line,
where others could see it:

  sallyport login --url https://platform.example.com --key < key-file

  --url URL           the platform; default: SALLYPORT_URL, else the profile's
  --workspace NAME    where to work; a user who belongs to a single workspace need not name it
  --no-browser        print the address and open nothing
  --key               sign in with an API key
  --profile NAME      default: default; the profile becomes the current one
`;

const OPTIONS = {
  url: { type: "string" },
  key: { type: "boolean", default: false },
  "no-browser": { type: "boolean", default: false },
  profile: { type: "string", default: "default" },
  workspace: { type: "string" },
} as const;

export function loginCommand(surroundings: Surroundings): Command {
  const { env, out } = surroundings;
  return {
    name: "login",
    summary: "Signs in to a platform, with a browser or a key, and keeps that in a profile.",
    help: async () => HELP,
    async run(args, signal) {
      const { values } = parsed("login", () => parseArgs({ args: [...args], options: OPTIONS }));
      const file = profilesFile(env);
      const { profiles } = await readProfiles(file);
      const before = Object.hasOwn(profiles, values.profile) ? profiles[values.profile] : undefined;
      const url = (values.url ?? env.SALLYPORT_URL ?? before?.url)?.replace(/\/+$/, "");
      if (!url) throw new UsageError("--url must be given the first time");
      const workspace = values.workspace ?? (before?.url === url ? before.workspace : undefined);
      const { profile, who } = values.key
        ? await withKey(surroundings, url, values.workspace, signal)
        : await withBrowser(surroundings, url, workspace, !values["no-browser"], signal);
      const { profiles: others } = await readProfiles(file);
      await writeProfiles(file, { current: values.profile, profiles: { ...others, [values.profile]: profile } });
      out(textOf([`signed in to ${url} as ${who}; profile ${values.profile} in ${file}`]));
      return 0;
    },
  };
}

interface SignedIn {
  readonly profile: Profile;
  /** For people: address, role and workspace. */
  readonly who: string;
}

interface Whoami {
  readonly workspaceName: string;
  readonly role: string;
  readonly email?: string;
}

const NOTHING = { params: {}, query: {}, body: undefined };

async function withKey(
  surroundings: Surroundings,
  url: string,
  workspace: string | undefined,
  signal: AbortSignal,
): Promise<SignedIn> {
  const key = (await readKey(surroundings, signal)).trim();
  if (!/^\S+$/.test(key)) throw new FriendlyError("that is no key");
  const named = workspace === undefined ? {} : { workspace };
  const who = await calling({ url, credential: key, ...named }, (call) => whoami(call, signal));
  return { profile: { url, key, ...named }, who };
}

function readKey({ askSecret, readInput }: Surroundings, signal: AbortSignal): Promise<string> {
  return askSecret === undefined ? readInput() : askSecret("Key: ", signal);
}

async function withBrowser(
  { clock, error, openBrowser }: Surroundings,
  url: string,
  workspace: string | undefined,
  opens: boolean,
  signal: AbortSignal,
): Promise<SignedIn> {
  const show = (address: string): void => {
    const opened = opens && openBrowser?.(address) === true;
    error(
      `${opened ? "A browser opens; if not, go" : "Go"} to this address with a browser on this machine:\n\n  ${address}\n\n`,
    );
  };
  const tokens = await signInWithBrowser({ url, clock, show }, signal);
  try {
    const named = workspace ?? (await onlyWorkspace(url, tokens.access, signal));
    const who = await calling({ url, credential: tokens.access, workspace: named }, (call) => whoami(call, signal));
    return { profile: { url, workspace: named, tokens }, who };
  } catch (failure) {
    // The tokens are not stored: revoke them, or they stay valid without a user.
    await withSignIn(url, (signIn) => signIn.revoke(tokens, signal)).catch(() => undefined);
    throw failure;
  }
}

async function whoami(call: CallRoute, signal: AbortSignal): Promise<string> {
  const { email, role, workspaceName } = (await call("whoami", "get", NOTHING, signal)) as Whoami;
  return `${email === undefined ? "" : `${email}, `}${role} of workspace ${workspaceName}`;
}

/** The workspace of a user who belongs to exactly one. */
async function onlyWorkspace(url: string, credential: string, signal: AbortSignal): Promise<string> {
  const answer = await calling({ url, credential }, (call) => call("user", "listMemberships", NOTHING, signal));
  const names = (answer as { readonly items: readonly { readonly name: string }[] }).items.map(({ name }) => name);
  const [only, ...more] = names;
  if (only === undefined) throw new FriendlyError("you belong to no workspace there: ask for an invitation");
  if (more.length > 0)
    throw new FriendlyError(`you belong to several workspaces: add --workspace, one of ${names.join(", ")}`);
  return only;
}

export function logoutCommand({ env, out }: Surroundings): Command {
  return {
    name: "logout",
    summary: "Ends a sign-in, everywhere, and forgets its profile.",
    help: async () => `usage: sallyport logout [--profile NAME]

Revokes what a browser sign-in gave and removes the profile. A key is only forgotten here: to end it everywhere,
sallyport api-keys revoke ID.
`,
    async run(args, signal) {
      const options = { profile: { type: "string" } } as const;
      const { values } = parsed("logout", () => parseArgs({ args: [...args], options }));
      const file = profilesFile(env);
      const { current, profiles } = await readProfiles(file);
      const name = values.profile ?? (env.SALLYPORT_PROFILE || current);
      const profile = name !== undefined && Object.hasOwn(profiles, name) ? profiles[name] : undefined;
      if (name === undefined || profile === undefined) throw new FriendlyError("not signed in");
      if ("tokens" in profile) await revoke(profile, signal);
      const { [name]: _, ...others } = profiles;
      await writeProfiles(file, { current: current === name ? undefined : current, profiles: others });
      out(
        textOf([
          "key" in profile ? `forgot the key of profile ${name}; it still works` : `signed out of ${profile.url}`,
        ]),
      );
      return 0;
    },
  };
}

async function revoke({ url, tokens }: UserProfile, signal: AbortSignal): Promise<void> {
  await withSignIn(url, (signIn) => signIn.revoke(tokens, signal));
}

export function profilesCommand({ env, out }: Surroundings): Command {
  return {
    name: "profiles",
    summary: "Lists the sign-ins, chooses the current one, removes one.",
    help: async () => `usage: sallyport profiles [list | use NAME | remove NAME]

Keys are not shown. Removing a profile forgets the key here; to end it everywhere: sallyport api-keys revoke ID, and for a
browser sign-in sallyport logout.
`,
    async run([verb = "list", name, ...rest]) {
      const file = profilesFile(env);
      const { current, profiles } = await readProfiles(file);
      if (rest.length > 0 || !["list", "use", "remove"].includes(verb) || (verb === "list") !== (name === undefined)) {
        throw new UsageError("usage: sallyport profiles [list | use NAME | remove NAME]");
      }
      if (name === undefined) {
        const lines = Object.entries(profiles).map(([one, { url }]) => `${one === current ? "*" : " "} ${one}  ${url}`);
        out(textOf(lines.length === 0 ? ["(none)"] : lines));
        return 0;
      }
      if (!Object.hasOwn(profiles, name)) throw new FriendlyError(`there is no profile ${name}`);
      if (verb === "use") await writeProfiles(file, { current: name, profiles });
      else {
        const { [name]: _, ...others } = profiles;
        await writeProfiles(file, { current: current === name ? undefined : current, profiles: others });
      }
      return 0;
    },
  };
}
