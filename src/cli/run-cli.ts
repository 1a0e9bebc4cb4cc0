import { ConfigError } from "../base/settings.ts";
import { type Command, FriendlyError, UsageError } from "./kernel/command.ts";
import { sayable } from "./kernel/output.ts";
import { Stopped } from "./stop-signals.ts";

export interface Streams {
  out(text: string): void;
  error(text: string): void;
}

/** Finds the command and runs it. @param program what the person typed before it @returns the exit code: 1 failed, 2 wrongly called */
export async function runCli(
  commands: readonly Command[],
  argv: readonly string[],
  streams: Streams,
  signal: AbortSignal,
  program = "sallyport",
): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    streams.out(overview(commands, program));
    return name === undefined ? 2 : 0;
  }
  const command = commands.find((candidate) => candidate.name === (name === "--version" ? "version" : name));
  if (command === undefined) {
    const known = commands.map((each) => each.name).join(", ");
    streams.error(sayable(`${program}: there is no command ${name}; there are ${known}\n`));
    return 2;
  }
  return await runCommand(command, args, `${program} ${name}`, streams, signal);
}

/**
 * Runs one command; prints its error and returns its exit code.
 *
 * @param title what each error line begins with: the words that the person typed
 */
export async function runCommand(
  command: Command,
  args: readonly string[],
  title: string,
  streams: Streams,
  signal: AbortSignal,
): Promise<number> {
  try {
    if (args.includes("--help") || args.includes("-h")) {
      streams.out(await command.help(args.filter((word) => !word.startsWith("-"))));
      return 0;
    }
    return await command.run(args, signal);
  } catch (error) {
    if (error instanceof Stopped) return error.by === "SIGINT" ? 130 : 143;
    if (error instanceof UsageError) {
      streams.error(sayable(`${title}: ${error.message}\n`));
      return 2;
    }
    const isFriendly = error instanceof FriendlyError || error instanceof ConfigError;
    // Only a defect is printed so.
    const words = isFriendly ? error.message : (await import("node:util")).inspect(error);
    streams.error(sayable(`${title}: ${words}\n`));
    return error instanceof FriendlyError ? error.exitCode : 1;
  }
}

function overview(commands: readonly Command[], program: string): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return `usage: ${program} COMMAND [options]

A gate with two doors: a vendor asks for an action in a customer's Kubernetes cluster, the customer decides with kubectl.

${commands.map(({ name, summary }) => `  ${name.padEnd(width)}   ${summary}`).join("\n")}

${program} COMMAND --help says more.
`;
}
