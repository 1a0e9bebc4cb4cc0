import { type Administration, administer } from "../../platform/administration/administration.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { parsedDuration } from "../kernel/duration.ts";
import { formatOf, render, sayable } from "../kernel/output.ts";
import { describeFlags } from "../services/service-command.ts";
import { DATABASE_FLAGS, databaseArguments, inWords, type OwnFlag } from "./platform-flags.ts";

interface Verb {
  /** The words after `sallyport platform`: `keys create`. */
  readonly words: string;
  readonly usage: string;
  readonly about: string;
  readonly flags: readonly (OwnFlag & { readonly about: string })[];
  /** How many words may follow. */
  readonly positionals: 0 | 1;
  run(admin: Administration, call: Call): Promise<unknown>;
}

interface Call {
  readonly word: string;
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Prints for people, apart from the answer that a script reads. */
  say(text: string): void;
}

/** A secret, alone on standard output so that a script can take it; everything about it goes elsewhere. */
class Secret {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const WORKSPACE = { flag: "workspace", value: "NAME", about: "the workspace" };
const SCOPES = [
  { flag: "project", value: "NAME|ID", about: "for project.* roles: the project" },
  { flag: "deployment", value: "ID", about: "for deployment.* roles: the deployment" },
  { flag: "deployment-group", value: "ID", about: "for deployment-group.* roles: the group" },
  { flag: "manager", value: "ID", about: "for manager.runtime: the manager" },
];

const SERVED = [
  { flag: "group", value: "ID", about: "the deployment group, which is the customer, that a private manager serves" },
  { flag: "shared", about: "it serves every deployment group of its workspace; with neither: no customer" },
];

function servedOrder({ group, shared }: Call["values"]) {
  return { group, shared: shared !== undefined };
}

const VERBS: readonly Verb[] = [
  {
    words: "workspaces create",
    usage: "NAME",
    about: "Makes a workspace.",
    flags: [],
    positionals: 1,
    run: (admin, { word }) => admin.createWorkspace(word),
  },
  {
    words: "workspaces list",
    usage: "",
    about: "Lists the workspaces.",
    flags: [],
    positionals: 0,
    run: (admin) => admin.workspaces(),
  },
  {
    words: "keys create",
    usage: "--workspace NAME --role ROLE",
    about: "Makes a key and prints it: the only time that it is shown.",
    flags: [
      WORKSPACE,
      { flag: "role", value: "ROLE", about: "such as workspace.admin or project.developer" },
      ...SCOPES,
      { flag: "description", value: "TEXT", about: "what it is for" },
      { flag: "expires-in", value: "TIME", about: "such as 90d or 12h; default: never" },
    ],
    positionals: 0,
    async run(admin, { values, say }) {
      const ms = values["expires-in"] === undefined ? undefined : parsedDuration("--expires-in", values["expires-in"]);
      const { id, key } = await admin.createKey({
        workspace: need(values, "workspace"),
        role: need(values, "role"),
        project: values.project,
        deployment: values.deployment,
        deploymentGroup: values["deployment-group"],
        manager: values.manager,
        description: values.description,
        expiresAt: ms === undefined ? undefined : new Date(Date.now() + ms),
      });
      say(`key ${id}, shown now and never again:`);
      return new Secret(key);
    },
  },
  {
    words: "keys list",
    usage: "[--workspace NAME]",
    about: "Lists keys, newest first. The keys themselves are not stored, only their hashes.",
    flags: [WORKSPACE],
    positionals: 0,
    run: (admin, { values }) => admin.keys(values.workspace),
  },
  {
    words: "keys revoke",
    usage: "ID",
    about: "Revokes a key for good. A running platform refuses it from the next request on.",
    flags: [],
    positionals: 1,
    async run(admin, { word, say }) {
      say((await admin.revokeKey(word)) ? `revoked ${word}` : `${word} was revoked before`);
      return undefined;
    },
  },
  {
    words: "members add",
    usage: "EMAIL --workspace NAME --role ROLE",
    about: "Makes the user of that address a member, also before the first sign-in, or gives the member another role.",
    flags: [WORKSPACE, { flag: "role", value: "ROLE", about: "workspace.viewer, workspace.member or workspace.admin" }],
    positionals: 1,
    async run(admin, { word, values, say }) {
      const order = { workspace: need(values, "workspace"), email: word, role: need(values, "role") };
      say(`${word} is user ${await admin.addMember(order)}, ${order.role} of ${order.workspace}`);
      return undefined;
    },
  },
  {
    words: "members list",
    usage: "--workspace NAME",
    about: "Lists the members of a workspace.",
    flags: [WORKSPACE],
    positionals: 0,
    run: (admin, { values }) => admin.members(need(values, "workspace")),
  },
  {
    words: "managers create",
    usage: "NAME [--workspace NAME [--group ID | --shared]]",
    about: "Makes a manager's record and prints its runtime key, which its agent signs in with.",
    flags: [
      { ...WORKSPACE, about: "whose private manager it is; without: a system manager, which every workspace may use" },
      ...SERVED,
      { flag: "targets", value: "LIST", about: "platforms that it serves; default: kubernetes,machines" },
    ],
    positionals: 1,
    async run(admin, { word, values, say }) {
      const targets = values.targets?.split(",");
      const { id, keyId, key } = await admin.createManager({
        name: word,
        workspace: values.workspace,
        targets,
        ...servedOrder(values),
      });
      say(`manager ${id}, key ${keyId}; its runtime key, shown now and never again:`);
      return new Secret(key);
    },
  },
  {
    words: "managers serve",
    usage: "ID --group ID | --shared | --none",
    about:
      "Says whom a private manager serves. Its deployments of other groups wait from then on; those that waited for it get it.",
    flags: [...SERVED, { flag: "none", about: "no group: all its deployments wait" }],
    positionals: 1,
    async run(admin, { word, values, say }) {
      const named = ["group", "shared", "none"].filter((flag) => values[flag] !== undefined);
      if (named.length !== 1) throw new UsageError("one of --group ID, --shared and --none says whom it serves");
      await admin.serveManager(word, servedOrder(values));
      say(
        `${word} serves ${values.none === undefined ? (values.group ?? "every group of its workspace") : "no group"}`,
      );
      return undefined;
    },
  },
];

export const administrationCommands: readonly Command[] = VERBS.map(commandOf);

function commandOf(verb: Verb): Command {
  const name = `platform ${verb.words}`;
  return {
    name: verb.words,
    summary: verb.about,
    help: async () => helpOf(verb),
    async run(args) {
      const { location, positionals, values } = await databaseArguments(name, args, verb.flags);
      if (positionals.length !== verb.positionals) throw new UsageError(`usage: sallyport ${name} ${verb.usage}`);
      const format = formatOf(values.output);
      const say = (text: string): void => void process.stderr.write(sayable(`${text}\n`));
      const call = { word: positionals[0] ?? "", values, say };
      const answer = await inWords(() => administer(location, (admin) => verb.run(admin, call)));
      if (answer instanceof Secret) process.stdout.write(`${answer.text}\n`);
      else if (answer !== undefined) process.stdout.write(await render(answer, format));
      return 0;
    },
  };
}

function helpOf({ words, usage, about, flags }: Verb): string {
  const own = flags.map(({ flag, value, about: text }) => `  ${`--${flag} ${value ?? ""}`.padEnd(24)}  ${text}`);
  return `usage: sallyport platform ${words} ${usage} [options]

${about} Works on the database itself: no key is needed, the right to open the database is. A folder must not be open in a
running platform; PostgreSQL may.

${[...own, "  -o table|json|yaml        form of the answer"].join("\n")}

${describeFlags(DATABASE_FLAGS)}
`;
}

function need(values: Call["values"], flag: string): string {
  const value = values[flag];
  if (value === undefined) throw new UsageError(`--${flag} is missing`);
  return value;
}
