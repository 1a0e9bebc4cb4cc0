import { parseArgs } from "node:util";
import { type Command, FriendlyError, UsageError } from "../command.ts";
import { parsed } from "../service-command.ts";
import { calling, type Surroundings } from "./calling.ts";
import { type Profile, profilesFile, readProfiles, writeProfiles } from "./profiles.ts";

const HELP = `usage: sallyport login --url URL [--key] [--profile NAME] [--workspace NAME]

Checks a key with the platform and keeps it in a profile, in a file that only you can read. The key is asked for on the
terminal or read from standard input, never taken from the command line, where others could see it:

  sallyport login --url https://platform.example.com < key-file

  --url URL           the platform; default: SALLYPORT_URL, else the profile's
  --key               sign in with an API key (the only way at present)
  --profile NAME      default: default; the profile becomes the current one
  --workspace NAME    for credentials that do not imply one
`;

const OPTIONS = {
  url: { type: "string" },
  key: { type: "boolean" },
  profile: { type: "string", default: "default" },
  workspace: { type: "string" },
} as const;

export function loginCommand(surroundings: Surroundings): Command {
  const { env, out } = surroundings;
  return {
    name: "login",
    summary: "Signs in to a platform with a key, which is kept in a profile.",
    help: async () => HELP,
    async run(args, signal) {
      const { values } = parsed("login", () => parseArgs({ args: [...args], options: OPTIONS }));
      const file = profilesFile(env);
      const { profiles } = await readProfiles(file);
      const url = (values.url ?? env.SALLYPORT_URL ?? profiles[values.profile]?.url)?.replace(/\/+$/, "");
      if (!url) throw new UsageError("--url must be given the first time");
      const key = (await readKey(surroundings, signal)).trim();
      if (!/^\S+$/.test(key)) throw new FriendlyError("that is no key");
      const profile: Profile = { url, key, ...(values.workspace !== undefined && { workspace: values.workspace }) };
      const who = await calling(profile, (call) =>
        call("whoami", "get", { params: {}, query: {}, body: undefined }, signal),
      );
      await writeProfiles(file, { current: values.profile, profiles: { ...profiles, [values.profile]: profile } });
      const { workspaceName, role } = who as { readonly workspaceName: string; readonly role: string };
      out(`signed in to ${url} as ${role} of workspace ${workspaceName}; profile ${values.profile} in ${file}\n`);
      return 0;
    },
  };
}

function readKey({ askSecret, readInput }: Surroundings, signal: AbortSignal): Promise<string> {
  return askSecret === undefined ? readInput() : askSecret("Key: ", signal);
}

export function profilesCommand({ env, out }: Surroundings): Command {
  return {
    name: "profiles",
    summary: "Lists the sign-ins, chooses the current one, removes one.",
    help: async () => `usage: sallyport profiles [list | use NAME | remove NAME]

Keys are not shown. Removing a profile forgets the key here; to end it everywhere: sallyport api-keys revoke ID.
`,
    async run([verb = "list", name, ...rest]) {
      const file = profilesFile(env);
      const { current, profiles } = await readProfiles(file);
      if (rest.length > 0 || !["list", "use", "remove"].includes(verb) || (verb === "list") !== (name === undefined)) {
        throw new UsageError("usage: sallyport profiles [list | use NAME | remove NAME]");
      }
      if (name === undefined) {
        const lines = Object.entries(profiles).map(
          ([one, { url }]) => `${one === current ? "*" : " "} ${one}  ${url}\n`,
        );
        out(lines.length === 0 ? "(none)\n" : lines.join(""));
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
