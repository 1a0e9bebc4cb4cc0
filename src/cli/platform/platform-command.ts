import { parseArgs } from "node:util";
import { openApi } from "../../contract/openapi/openapi.ts";
import { ROUTES } from "../../contract/table.ts";
import { type Command, UsageError } from "../kernel/command.ts";
import { render } from "../kernel/output.ts";
import { parsed, serviceCommand } from "../services/service-command.ts";
import { administrationCommands } from "./administration-commands.ts";
import { databaseArguments, inWords, SERVER_FLAGS } from "./platform-flags.ts";

const serve = serviceCommand({
  name: "platform",
  summary: "Serves the Management API (the vendor's side), and administers it.",
  about: "Serves the Management API, on an embedded database in a folder or on PostgreSQL. Needs nothing else.",
  flags: SERVER_FLAGS,
  load: async () => (await import("./platform-service.ts")).platformService,
});

const openapi: Command = {
  name: "openapi",
  summary: "Prints the API's OpenAPI 3.1 document.",
  help: async () => "usage: sallyport platform openapi [-o json|yaml]\n\nPrints the API's OpenAPI 3.1 document.\n",
  async run(args) {
    const options = { output: { type: "string", short: "o", default: "json" } } as const;
    const { output } = parsed("platform openapi", () => parseArgs({ args: [...args], options }).values);
    if (output !== "json" && output !== "yaml") throw new UsageError("-o is json or yaml");
    process.stdout.write(await render(openApi(ROUTES), output));
    return 0;
  },
};

const EXPORT_HELP = `usage: sallyport platform export FILE [--data DIR]
       sallyport platform import FILE [--data DIR]

The whole embedded database as one file, and back into an empty folder. No platform may run on the folder meanwhile. The file
holds everything, also the key to sealed values: keep it as you keep the folder. For PostgreSQL use pg_dump.
`;

function dumpCommand(name: "export" | "import", summary: string): Command {
  return {
    name,
    summary,
    help: async () => EXPORT_HELP,
    async run(args) {
      const { location, positionals } = await databaseArguments(`platform ${name}`, args, []);
      const [file, ...more] = positionals;
      if (file === undefined || more.length > 0) throw new UsageError(`usage: sallyport platform ${name} FILE`);
      if (!("pglite" in location) || location.pglite === "memory") {
        throw new UsageError(`${name} is for the embedded database in a folder; for PostgreSQL use pg_dump`);
      }
      const { exportFolder, importFolder } = await import("../../platform/administration/dump.ts");
      const work = name === "export" ? exportFolder : importFolder;
      await inWords(() => work(location.pglite, file));
      return 0;
    },
  };
}

const COMMANDS = [
  ...administrationCommands,
  dumpCommand("export", "Writes the embedded database into one file."),
  dumpCommand("import", "Fills an empty data folder from such a file."),
  openapi,
];

/** `sallyport platform` serves the API; with a further word it runs that command and ends. */
export const platformCommand: Command = {
  name: serve.name,
  summary: serve.summary,
  async help(args) {
    const found = find(args);
    if (found !== undefined) return found.command.help(found.rest);
    const lines = COMMANDS.map(({ name, summary }) => `  sallyport platform ${name.padEnd(17)}  ${summary}`);
    return `${await serve.help([])}\nCommands:\n${lines.join("\n")}\n`;
  },
  async run(args, signal) {
    const [first] = args;
    if (first === undefined || first.startsWith("-")) return serve.run(args, signal);
    const found = find(args);
    if (found !== undefined) return found.command.run(found.rest, signal);
    const known = COMMANDS.map(({ name }) => name).join(", ");
    throw new UsageError(`there is no command ${args.slice(0, 2).join(" ")}; there are ${known}`);
  },
};

function find(args: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } | undefined {
  for (const words of [2, 1]) {
    const command = COMMANDS.find(({ name }) => name === args.slice(0, words).join(" "));
    if (command !== undefined) return { command, rest: args.slice(words) };
  }
  return undefined;
}
