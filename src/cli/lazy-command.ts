import type { Command } from "./kernel/command.ts";

/** A command whose code is loaded when it is used, so that no process loads the code of another one. */
export function lazyCommand(name: string, summary: string, load: () => Promise<Command>): Command {
  return {
    name,
    summary,
    help: async (args) => (await load()).help(args),
    run: async (args, signal) => (await load()).run(args, signal),
  };
}
