import { type ParseArgsConfig, parseArgs } from "node:util";

/** What a person types, and what its `--help` prints. */
export interface Script {
  /** For example `npm run test:again`. */
  readonly name: string;
  readonly help: string;
}

const HELP = { help: { type: "boolean", short: "h" } } as const;

type Options = NonNullable<ParseArgsConfig["options"]>;

/** The script's options and positionals. Ends the process for `--help`, and for what the script does not know. */
export function readOptions<const O extends Options, const P extends boolean = false>(
  script: Script,
  options: O,
  {
    args = process.argv.slice(2),
    allowPositionals,
  }: { readonly args?: readonly string[]; readonly allowPositionals?: P } = {},
): Parsed<O, P> {
  // Also after an option that is wrong: who asks for help gets it.
  if (args.some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(script.help);
    process.exit(0);
  }
  try {
    const config = { args: [...args], options: { ...options, ...HELP }, allowPositionals: allowPositionals ?? false };
    return parseArgs(config) as unknown as Parsed<O, P>;
  } catch (error) {
    // Node adds how an option's name could be meant as something else.
    return refuse(
      script,
      error instanceof Error ? (error.message.split(/[.;] /)[0]?.replace(/\.$/, "") ?? "") : String(error),
    );
  }
}

type Parsed<O extends Options, P extends boolean> = ReturnType<
  typeof parseArgs<{ options: O; allowPositionals: P; strict: true }>
>;

/** Ends the process with one line and exit code 2: it was called wrongly. */
export function refuse({ name }: Script, why: string): never {
  const help = name.startsWith("npm ") ? `${name} -- --help` : `${name} --help`;
  process.stderr.write(`${name}: ${why}. See ${help}\n`);
  process.exit(2);
}
